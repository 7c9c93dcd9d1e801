import { readFile } from "node:fs/promises";
import { rng } from "trailgym/env";
import { describe, expect, it } from "vitest";
import { baselinesOf } from "../../../envs/mcp-tools/baselines/baselines.ts";
import { headText, taskText, toolsText } from "../../../envs/mcp-tools/dataset.ts";
import { chooseArguments, Said } from "../../../envs/mcp-tools/generate/arguments.ts";
import { type Executor, simulatedExecutor } from "../../../envs/mcp-tools/generate/executor.ts";
import { generateTasks } from "../../../envs/mcp-tools/generate/generate.ts";
import { fillTemplate } from "../../../envs/mcp-tools/generate/outputs.ts";
import { clauseFor } from "../../../envs/mcp-tools/generate/phrases.ts";
import { difficulties, requestFor } from "../../../envs/mcp-tools/generate/request.ts";
import { toolbookFile, toolbookFromGraph, toolbookOf } from "../../../envs/mcp-tools/generate/toolbook.ts";
import { buildGraph } from "../../../envs/mcp-tools/graph/graph.ts";
import { splitTrajectories } from "../../../envs/mcp-tools/graph/split.ts";
import { checkOf } from "../../../envs/mcp-tools/schema/schema.ts";
import { loadTasks } from "../../../envs/mcp-tools/task.ts";
import { toolsOf, trajectory } from "../../../envs/mcp-tools/trajectory.ts";
import { taskFiles } from "../context.ts";

const fixtures = new URL("../../../fixtures/mcp-tools/", import.meta.url);
const text = (file: string) => readFile(new URL(file, fixtures), "utf8");
const harbour = toolbookOf(toolbookFile.parse(JSON.parse(await text("toolbook.json"))));
const executor = simulatedExecutor(harbour);
const steps = { min: 3, max: 20 };
const made = await generateTasks(harbour, executor, { seed: 3, tasks: 400, steps });
const tasks = made.map((line) => trajectory.parse(line));

describe("generated tasks", () => {
  it("are the same for the same seed and others for another", async () => {
    const few = { tasks: 12, steps };
    const again = await generateTasks(harbour, executor, { ...few, seed: 5 });
    expect(await generateTasks(harbour, executor, { ...few, seed: 5 })).toEqual(again);
    expect((await generateTasks(harbour, executor, { ...few, seed: 6 })).map(({ task }) => task)).not.toEqual(
      again.map(({ task }) => task),
    );
  });

  it("have as many steps as was asked for, of every length", () => {
    const lengths = new Set(tasks.map(({ reference }) => reference.length));
    expect([...lengths].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 18 }, (_, i) => i + 3));
  });

  it("walk along the graph's edges, from its first tools", () => {
    for (const one of tasks) {
      const walked = toolsOf(one);
      expect(harbour.starts.has(walked[0] ?? "")).toBe(true);
      for (const [i, tool] of walked.slice(1).entries())
        expect(harbour.edges.get(walked[i] ?? "")?.has(tool)).toBe(true);
    }
  });

  it("call no tool with arguments that do not fit, and none twice with the same", () => {
    for (const { id, reference } of tasks) {
      const calls = reference.map(({ tool, arguments: args }) => JSON.stringify([tool, args]));
      expect(new Set(calls).size, id).toBe(calls.length);
      for (const { tool, arguments: args } of reference) {
        expect(checkOf(harbour.tools.get(tool)?.inputSchema ?? {})(args), `${id} ${tool}`).toBeUndefined();
      }
    }
  });

  it("use no id before an output has said it", () => {
    for (const { id, reference } of tasks) {
      let said = "";
      for (const { arguments: args, output } of reference) {
        for (const [key, value] of Object.entries(args))
          if (key.endsWith("_id")) expect(said, id).toContain(String(value));
        said += String(output);
      }
    }
  });

  it("are split by chain, and a nearest neighbour does not solve the split", () => {
    const { train, test } = splitTrajectories(tasks, { by: "given" });
    expect(test.length / tasks.length).toBeCloseTo(0.25, 1);
    const chains = new Set(train.map(({ chain }) => chain));
    expect(test.filter(({ chain }) => chains.has(chain))).toEqual([]);
    const sequences = new Set(train.map((one) => toolsOf(one).join()));
    expect(test.filter((one) => sequences.has(toolsOf(one).join()))).toEqual([]);
    const { neighbour, bigram, retrieval } = baselinesOf(train, test, { tools: [...harbour.tools.values()] });
    expect(Math.max(neighbour.positional, bigram.greedy.positional, retrieval.ranked.positional)).toBeLessThan(0.3);
    expect(neighbour.exact).toBe(0);
    expect(bigram.toolAccuracy).toBeLessThan(0.6);
    expect(bigram.edgeCoverage).toBeGreaterThan(0.9);
  });

  it("say the same workflow in other words, each with the chain of the first", async () => {
    const lines = await generateTasks(harbour, executor, { seed: 1, tasks: 40, steps, perChain: 4 });
    const chains = Map.groupBy(lines, ({ chain }) => chain);
    expect(chains.size).toBeLessThan(20);
    for (const group of chains.values()) {
      expect(new Set(group.map((line) => JSON.stringify(toolsOf(trajectory.parse(line))))).size).toBe(1);
      expect(new Set(group.map(({ task }) => task)).size).toBe(group.length);
      expect(new Set(group.map(({ split }) => split)).size).toBe(1);
    }
  });

  it("show other tools beside those needed, in an order that tells nothing", () => {
    for (const { tools, reference } of tasks) {
      const names = tools as string[];
      expect(names).toEqual(names.toSorted());
      expect(names.length).toBe(new Set(reference.map(({ tool }) => tool)).size + 8);
    }
  });

  it("name something that is not to be done, where they are not easy", () => {
    const polite = /No need to report back\.|cannot do this myself\./g;
    const refusal = /no need to |not have to |do not |myself\.|somebody else |decided not to /gi;
    for (const { task, difficulty } of tasks) {
      const count = task.replace(polite, "").match(refusal)?.length ?? 0;
      expect(count, task).toBe({ easy: 0, medium: 1, hard: 2 }[difficulty as "easy" | "medium" | "hard"]);
    }
  });

  it("are refused where the graph has not enough of them", async () => {
    const small = toolbookOf(
      toolbookFile.parse({ tools: [{ name: "a" }, { name: "b" }], starts: { a: 1 }, edges: { a: { b: 1 }, b: {} } }),
    );
    await expect(
      generateTasks(small, simulatedExecutor(small), { seed: 0, tasks: 5, steps: { min: 2, max: 2 } }),
    ).rejects.toThrow("only 1 of 5 tasks: the graph has too few different walks of 2 to 2 steps");
  });

  it("are of whoever runs the calls: failed ones are walked around, and every execution is ended", async () => {
    let [open, begun] = [0, 0];
    const strict: Executor = {
      async begin(seed) {
        const inner = await executor.begin(seed);
        open++;
        begun++;
        return {
          async call(tool, args) {
            if (tool.startsWith("desk-")) return { output: "the desk is closed", isError: true };
            return { ...(await inner.call(tool, args)), output: { said: tool } };
          },
          async [Symbol.asyncDispose]() {
            open--;
            await inner[Symbol.asyncDispose]();
          },
        };
      },
    };
    const lines = await generateTasks(harbour, strict, { seed: 2, tasks: 25, steps: { min: 2, max: 3 } });
    expect(
      lines.flatMap(({ reference }) => reference.map(({ tool }) => tool)).filter((tool) => tool.startsWith("desk-")),
    ).toEqual([]);
    expect(lines[0]?.reference[0]?.output).toEqual({ said: lines[0]?.reference[0]?.tool });
    expect(begun).toBeGreaterThan(25);
    expect(open).toBe(0);
  });
});

describe("a graph alone", () => {
  const graph = buildGraph(tasks);

  it("is enough: arguments are those that were recorded, words come from names and descriptions", async () => {
    const book = toolbookFromGraph(graph);
    const lines = await generateTasks(book, simulatedExecutor(book), { seed: 1, tasks: 30, steps: { min: 3, max: 6 } });
    const recorded = new Set(
      tasks.flatMap(({ reference }) => reference.flatMap(({ arguments: args }) => Object.values(args).map(String))),
    );
    const values = lines.flatMap(({ reference }) =>
      reference.flatMap(({ arguments: args }) => Object.values(args ?? {})),
    );
    expect(values.filter((value) => !recorded.has(String(value)))).toEqual([]);
    expect(new Set(lines.map(({ task }) => task)).size).toBe(30);
  });

  it("has tools under names that model APIs take", () => {
    const odd = buildGraph([
      trajectory.parse({
        id: "x",
        task: "x",
        reference: [{ tool: "Weather: get now!" }, { tool: "STOP" }, { tool: "y".repeat(200) }],
      }),
    ]);
    const names = [...toolbookFromGraph(odd).tools.values()];
    expect(
      names.map(({ name }) => name).filter((name) => !/^[A-Za-z0-9_.-]{1,64}$/.test(name) || name === "STOP"),
    ).toEqual([]);
    expect(names.map(({ title }) => title)).toContain("Weather: get now!");
  });
});

describe("the parts of a generator", () => {
  const tool = toolbookFile.parse({
    tools: [
      {
        name: "post-send",
        inputSchema: {
          type: "object",
          properties: { parcel_id: { type: "string" }, to: { type: "string" }, weeks: { type: "integer" } },
          required: ["parcel_id", "to"],
        },
        phrases: ["send it to {to}[ within {weeks} weeks]"],
        values: { to: ["Oslo"], weeks: [3] },
      },
      { name: "post-find", output: { parcels: [{ parcel_id: "#p" }] } },
    ],
    starts: { "post-find": 1 },
    edges: {},
  });
  const book = toolbookOf(tool);
  const send = tool.tools[0] as (typeof tool.tools)[number];

  it("wait with a call until an output has said what it needs", () => {
    const said = new Said();
    expect(chooseArguments(send, book, said, rng(1))).toBeUndefined();
    said.hear({ arguments: {}, carried: new Map() }, '{"parcels":[{"parcel_id":"p-1"},{"parcel_id":"p-2"}]}', 4);
    const chosen = chooseArguments(send, book, said, rng(1));
    expect(chosen?.arguments).toMatchObject({ parcel_id: "p-1", to: "Oslo" });
    expect(chosen?.carried).toEqual(new Map([["parcel_id", 4]]));
  });

  it("leave out a bracket whose argument is not there", () => {
    const clause = (args: Record<string, unknown>) => clauseFor(send, { arguments: args, carried: new Map() }, rng(0));
    expect(clause({ parcel_id: "p", to: "Oslo" })).toBe("send it to Oslo");
    expect(clause({ parcel_id: "p", to: "Oslo", weeks: 3 })).toBe("send it to Oslo within 3 weeks");
  });

  it("make an imperative of a description", () => {
    const bare = { ...send, phrases: [], name: "x-frob", description: "Searches the whole archive." };
    const clauses = Array.from({ length: 20 }, (_, i) =>
      clauseFor(bare, { arguments: {}, carried: new Map() }, rng(i)),
    );
    expect(new Set(clauses)).toEqual(new Set(["search the whole archive", "use the frob tool"]));
  });

  it("fill a template so that what is said of an id is said of it again", () => {
    const call = { tool: "t", arguments: { id: "i-7", n: 2 }, seed: 1 };
    const template = {
      id: "=id",
      none: "=absent",
      name: "@id A|B|C|D|E|F|G|H",
      size: "@id 10..99",
      new: "#k",
      list: { $repeat: [2, 2], each: { of: "=n" } },
      plain: "text",
    };
    const one = fillTemplate(template, call) as Record<string, unknown>;
    expect(one).toMatchObject({ id: "i-7", list: [{ of: 2 }, { of: 2 }], plain: "text" });
    expect(one).not.toHaveProperty("none");
    expect(one.new).toMatch(/^k-[0-9a-f]{5}$/);
    const other = fillTemplate(
      { id: "=id", size: "@id 10..99", name: "@id A|B|C|D|E|F|G|H", new: "#k" },
      { ...call, tool: "u", seed: 2 },
    );
    expect(other).toMatchObject({ name: one.name, size: one.size });
    expect((other as { new: string }).new).not.toBe(one.new);
  });

  it("ask for every step, in order, in an easy request", () => {
    const clauses = ["find it", "open it", "close it"];
    for (let seed = 0; seed < 50; seed++) {
      const request = requestFor(
        clauses.map((clause) => ({ clause, goesWithoutSaying: true })),
        "easy",
        rng(seed),
      ).toLowerCase();
      const places = clauses.map((clause) => request.indexOf(clause));
      expect(
        places.every((place, i) => place >= 0 && place > (places[i - 1] ?? -1)),
        request,
      ).toBe(true);
    }
  });

  it("leave out what goes without saying, the more of it the harder a request is", () => {
    const said = (level: (typeof difficulties)[number]) => {
      const requests = Array.from({ length: 400 }, (_, seed) =>
        requestFor(
          ["find it", "open it", "close it"].map((clause, i) => ({ clause, goesWithoutSaying: i === 1 })),
          level,
          rng(seed),
        ),
      );
      return requests.filter((request) => /open it/i.test(request)).length / 400;
    };
    const [easy, medium, hard] = difficulties.map(said);
    expect(easy).toBe(1);
    expect(medium).toBeCloseTo(0.65, 1);
    expect(hard).toBeCloseTo(0.35, 1);
  });

  it("refuse a book that names tools it does not have, or one twice", () => {
    const file = (more: object) => toolbookFile.parse({ tools: [{ name: "a" }], starts: {}, edges: {}, ...more });
    expect(() => toolbookOf(file({ edges: { a: { b: 1 } } }))).toThrow('no tool "b"');
    expect(() => toolbookOf(file({ tools: [{ name: "a" }, { name: "a" }] }))).toThrow("one name");
  });
});

describe("the dataset that comes with the package", () => {
  it("is what its toolbook makes with seed 7", async () => {
    const lines = await generateTasks(harbour, executor, {
      seed: 7,
      tasks: 64,
      steps: { min: 3, max: 15 },
      name: "quayside",
    });
    expect(lines.map(taskText).join("")).toBe(await text("tasks.jsonl"));
    expect(toolsText(harbour.tools.values())).toBe(await text("tools.json"));
    const { name, description } = JSON.parse(await text("dataset.json")) as { name: string; description: string };
    expect(headText({ name, description })).toBe(await text("dataset.json"));
  });

  it("has at least 40 tasks of 3 to 15 steps that use at least 25 tools", async () => {
    const names = ["dataset.json", "tools.json", "tasks.jsonl"];
    const files = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await text(name)] as const)));
    const source = await loadTasks([taskFiles(files)]);
    const all = source.list(undefined, undefined, 1000).tasks.map(({ id }) => source.get(id));
    const lengths = all.map((task) => task?.reference.length ?? 0);
    expect(all.length).toBeGreaterThanOrEqual(40);
    expect([Math.min(...lengths), Math.max(...lengths)]).toEqual([3, 15]);
    const used = new Set(all.flatMap((task) => task?.reference.map(({ tool }) => tool)));
    expect(used.size).toBeGreaterThanOrEqual(25);
    expect(source.splits()).toEqual(["train", "test"]);
  });
});
