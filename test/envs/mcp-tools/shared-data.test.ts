/** Do the published baselines come out on the data that they were published for? Only where these data are at hand. */

import { createReadStream, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { baselinesOf } from "../../../envs/mcp-tools/baselines/baselines.ts";
import { checkTask } from "../../../envs/mcp-tools/check.ts";
import { buildGraph } from "../../../envs/mcp-tools/graph/graph.ts";
import { readGraph } from "../../../envs/mcp-tools/graph/read.ts";
import { splitTrajectories } from "../../../envs/mcp-tools/graph/split.ts";
import { statisticsOf } from "../../../envs/mcp-tools/graph/statistics.ts";
import { importTrajectories } from "../../../envs/mcp-tools/import/import.ts";
import { looksFailed } from "../../../envs/mcp-tools/status.ts";
import { loadTasks, type McpTask } from "../../../envs/mcp-tools/task.ts";
import { chainOf, trajectory } from "../../../envs/mcp-tools/trajectory.ts";
import { taskFiles } from "../context.ts";

const folder = process.env.TRAILGYM_SHARED_DATA ?? path.resolve(import.meta.dirname, "../../../../shared/data");
const missing = existsSync(path.join(folder, "traject_seq.jsonl"))
  ? false
  : `no data in ${folder}: set TRAILGYM_SHARED_DATA`;

async function read(file: string) {
  const text = await readFile(path.join(folder, file), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => trajectory.parse(JSON.parse(line)));
}

describe.skipIf(missing)(`the shared data${missing ? ` (${missing})` : ""}`, () => {
  it.each([
    ["traject_seq.jsonl", "query", { toolAccuracy: 0.494, edgeCoverage: 0.997, positional: 0.909, exact: 0.777 }],
    ["traject_seq.jsonl", "chain", { toolAccuracy: 0.379, edgeCoverage: 0.729, positional: 0.383, exact: 0 }],
    ["bfcl_multiturn.jsonl", "task", { toolAccuracy: 0.431, edgeCoverage: 0.862, positional: 0.319, exact: 0.05 }],
  ] as const)("%s, split by %s, has the published baselines within 0.02", async (file, by, published) => {
    const { train, test } = splitTrajectories(await read(file), { by, seed: 42 });
    const { bigram, neighbour } = baselinesOf(train, test);
    const measured = { ...bigram, positional: neighbour.positional, exact: neighbour.exact };
    for (const [name, value] of Object.entries(published)) {
      const difference = Math.abs(measured[name as keyof typeof published] - value);
      expect(difference, `${name} is ${measured[name as keyof typeof published]}, published ${value}`).toBeLessThan(
        0.02,
      );
    }
    // A rollout along the likeliest edges gets nowhere: the first step needs the task.
    expect(bigram.greedy.positional).toBeLessThan(0.05);
  });

  it("makes graphs with the published counts", async () => {
    const published = {
      "traject_seq.jsonl": { trajectories: 938, calls: 5635, tools: 275, patterns: 506, edges: 576 },
      "bfcl_multiturn.jsonl": { trajectories: 200, calls: 1142, tools: 81, edges: 303 },
    };
    for (const [file, { edges, ...counts }] of Object.entries(published)) {
      const statistics = statisticsOf(buildGraph(await read(file)));
      expect(statistics).toMatchObject(counts);
      // Their edges include those from START.
      expect(statistics.edges + statistics.starts).toBe(edges);
    }
  });

  it("has a graph of Toolathlon with the published entropy", async () => {
    const graph = readGraph(JSON.parse(await readFile(path.join(folder, "toolathlon_graph.json"), "utf8")));
    const { tools, edges, transitions, entropy, bigramTop1, perplexity } = statisticsOf(graph);
    expect([tools, edges, transitions]).toEqual([506, 5212, 313_708]);
    expect(entropy).toBeCloseTo(2.654, 3);
    expect(bigramTop1).toBeCloseTo(0.2946, 4);
    expect(perplexity).toBeCloseTo(14.2, 1);
  });

  it("has about as many outputs that look like errors as was published", async () => {
    const failures = (await read("traject_seq.jsonl")).map(({ reference }) =>
      reference.map(({ output }) => looksFailed(output)),
    );
    const flat = failures.flat();
    expect(Math.abs(flat.filter(Boolean).length / flat.length - 0.154)).toBeLessThan(0.02);
    expect(Math.abs(failures.filter((steps) => !steps.includes(true)).length - 394)).toBeLessThan(15);
  });

  it.each([
    ["traject_seq.jsonl", "traject_tools.json", { tasks: 938, chains: 199, tools: 678, failed: 0, problems: 0 }],
    ["bfcl_multiturn.jsonl", "bfcl_tools.json", { tasks: 200, tools: 128, failed: 0, problems: 0 }],
    // Two of its rows hold no call, and 26 of the others did not solve their task.
    ["livemcp.jsonl", "livemcp_tools.json", { tasks: 67, tools: 527, failed: 26, problems: 2 }],
  ])(
    "%s becomes a dataset that loads, and whose references fit their tools",
    async (file, tools, counts) => {
      const written: Record<string, string> = {};
      const open = (name: string) => ({ name, chunks: () => createReadStream(path.join(folder, name)) });
      const write = (to: string, text: string) => void (written[to] = (written[to] ?? "") + text);
      const result = await importTrajectories("trajectories", [open(file)], { name: "x", tools: [open(tools)] }, write);
      expect({ ...result, problems: result.problems.length }).toMatchObject(counts);
      const source = await loadTasks([taskFiles(written)]);
      const tasks = source.list(undefined, undefined, 10_000).tasks.map(({ id }) => source.get(id) as McpTask);
      expect(tasks).toHaveLength(counts.tasks);
      expect(tasks.flatMap((task) => checkTask(task).map((problem) => `${task.id}: ${problem}`))).toEqual([]);
      expect(
        tasks.filter(({ tools: shown }) => shown.some(({ name }) => !/^[A-Za-z0-9_.-]{1,64}$/.test(name))),
      ).toEqual([]);
      const chains = (split: string) => new Set(tasks.filter((task) => task.split === split).map(chainOf));
      expect([...chains("train")].filter((chain) => chains("test").has(chain))).toEqual([]);
    },
    120_000,
  );

  it("loses to the strict filter what only counts as a success", async () => {
    const open = (name: string) => ({ name, chunks: () => createReadStream(path.join(folder, name)) });
    const files = [open("traject_seq.jsonl")];
    const { tasks, apiErrors } = await importTrajectories(
      "trajectories",
      files,
      { name: "x", strict: true },
      () => undefined,
    );
    expect(tasks + apiErrors).toBe(938);
    // 394 have no output that looks like an error; gateways' own words take some more.
    expect(tasks).toBeLessThan(394);
    expect(tasks).toBeGreaterThan(150);
  });
});
