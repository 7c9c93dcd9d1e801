/** Graphs, baselines, imports and generated tasks of tool calls, as a user makes them. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeModel, says } from "../../server/models/fake.ts";
import { type Folder, tempFolder, trailgym } from "./command.ts";

const book = "fixtures/mcp-tools/toolbook.json";
let folder: Folder;

const line = (id: string, tools: string, more: object = {}) =>
  JSON.stringify({
    id,
    task: `Please do ${id}.`,
    reference: [...tools].map((tool) => ({ tool, arguments: { n: 1 }, output: "fine" })),
    ...more,
  });

beforeAll(async () => {
  folder = await tempFolder();
  const rows = [line("one", "ab"), line("two", "abc"), "not json", line("three", "abc", { split: "test" })];
  await writeFile(folder.join("mine.jsonl"), rows.join("\n"));
});
afterAll(() => folder[Symbol.asyncDispose]());

describe("trailgym graph", () => {
  it("shows a person what there is, and which lines are none", async () => {
    const { code, stdout, stderr } = await trailgym(["graph", folder.join("mine.jsonl")]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^3 trajectories of 2 to 3 steps \(mean 2\.67\), 8 calls/);
    expect(stderr).toMatch(/mine\.jsonl:3: not JSON/);
  });

  it("writes JSON that it reads again, and DOT", async () => {
    const out = folder.join("graph.json");
    expect((await trailgym(["graph", folder.join("mine.jsonl"), "--format", "json", "--out", out])).code).toBe(0);
    const graph = JSON.parse(await readFile(out, "utf8")) as { tools: unknown[]; statistics: unknown };
    expect(graph.tools).toMatchObject([
      { name: "a", calls: 3, first: 3, invocations: [{ keys: ["n"], arguments: [{ value: { n: 1 }, count: 3 }] }] },
      { name: "b" },
      { name: "c", last: 2 },
    ]);
    expect(graph.statistics).toMatchObject({ edges: 2, transitions: 5, bigramTop1: 1 });
    const { stdout } = await trailgym(["graph", out, "--format", "dot", "--min-count", "3"]);
    expect(stdout.match(/->.*;/g)).toEqual(['-> t0 [label="3", weight=3];', '-> t1 [label="3", weight=3];']);
  });

  it("takes a dataset folder", async () => {
    const { stdout } = await trailgym(["graph", "fixtures/mcp-tools", "--format", "json"]);
    const { trajectories, tools } = JSON.parse(stdout) as { trajectories: number; tools: { description: string }[] };
    expect(trajectories).toBe(64);
    expect(tools.every(({ description }) => description !== "")).toBe(true);
  });

  it("says when there is nothing", async () => {
    const none = await trailgym(["graph", "package.json"]);
    expect([none.code, none.stdout]).toEqual([1, ""]);
    expect(none.stderr).toMatch(/no trajectory in package\.json; `trailgym import` reads other formats/);
    expect((await trailgym(["graph", folder.join("gone.jsonl")])).code).toBe(2);
  });
});

describe("trailgym baselines", () => {
  it("prints what can be worked by hand", async () => {
    const { code, stdout } = await trailgym(["baselines", folder.join("mine.jsonl"), "--split", "given", "--json"]);
    expect(code).toBe(0);
    // One is copied, as both requests are equally near: a b of a b c. The bigram goes a, b, and then STOP was first.
    expect(JSON.parse(stdout)).toMatchObject({
      split: "given",
      train: 2,
      test: 1,
      neighbour: { positional: 2 / 3, strict: 2 / 3, exact: 0 },
      bigram: { toolAccuracy: 2 / 3, edgeCoverage: 1, greedy: { positional: 2 / 3 } },
    });
  });

  it("prints a table for a person, and warns of a split that leaks", async () => {
    const rows = Array.from({ length: 20 }, (_, i) =>
      line(`${i % 5}`, "abcde".slice(0, (i % 5) + 1)).replace("}", `,"note":${i}}`),
    );
    await writeFile(folder.join("leaky.jsonl"), rows.join("\n"));
    const { stdout, stderr } = await trailgym(["baselines", folder.join("leaky.jsonl"), "--split", "task"]);
    expect(stdout).toMatch(/^16 tasks for training, 4 for testing, split by task, seed 42\n/);
    expect(stdout).toMatch(/nearest training request .* 1\.000\n/);
    expect(stderr).toMatch(/100\.0 % of the test tasks are solved by copying: a split by task leaks here/);
  });

  it("says when there is nothing to test", async () => {
    await writeFile(folder.join("single.jsonl"), line("one", "ab"));
    const { code, stderr } = await trailgym(["baselines", folder.join("single.jsonl")]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/0 tasks for training and 1 for testing: there must be some of both; give more tasks/);
    const given = await trailgym(["baselines", folder.join("single.jsonl"), "--split", "given"]);
    expect(given.stderr).toMatch(/1 tasks for training and 0 for testing: .*choose --split chain/);
  });
});

describe("trailgym import", () => {
  it("makes a dataset of chat messages that check-env has nothing against", async () => {
    const call = { id: "1", type: "function", function: { name: "find", arguments: '{"q":"x"}' } };
    const messages = [
      { role: "user", content: "Find x." },
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "1", content: "found" },
    ];
    await writeFile(folder.join("log.jsonl"), `${JSON.stringify({ messages })}\n{"messages":[]}\n`);
    const out = folder.join("chats");
    const { code, stdout, stderr } = await trailgym([
      "import",
      "openai-messages",
      folder.join("log.jsonl"),
      "--out",
      out,
      "--split",
      "mine",
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^imported 1 tasks with 1 different solutions over 1 tools into /);
    expect(stderr).toMatch(/log\.jsonl:2: no tool is called\n1 rows were left out/);
    expect((await readdir(out)).toSorted()).toEqual(["dataset.json", "tasks.jsonl", "tools.json"]);
    const checked = await trailgym(["check-env", "--tasks", out, "--no-builtin-tasks"]);
    expect(checked.stdout).toMatch(/mcp-tools-v1 .*: ok/);
    expect(checked.code).toBe(0);
  });

  it("lists every format, and says in JSON what it did", async () => {
    const { stdout } = await trailgym(["import", "--help"]);
    for (const name of [
      "traject-bench",
      "bfcl",
      "livemcp",
      "atif",
      "openai-messages",
      "trajectories",
      "toolathlon-graph",
      "codegym",
    ]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
    }
    const run = await trailgym([
      "import",
      "trajectories",
      folder.join("mine.jsonl"),
      "--out",
      folder.join("own"),
      "--json",
    ]);
    expect(JSON.parse(run.stdout)).toMatchObject({ tasks: 3, tools: 3, chains: 2, problems: [{ line: 3 }] });
  });

  it("leaves no folder behind when nothing was imported", async () => {
    const out = folder.join("empty");
    const { code, stdout, stderr } = await trailgym(["import", "atif", folder.join("mine.jsonl"), "--out", out]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/no task was imported/);
    expect(await readdir(folder.path)).not.toContain("empty");
  });

  it("writes into no folder that holds something", async () => {
    const { code, stderr } = await trailgym(["import", "atif", folder.join("mine.jsonl"), "--out", folder.path]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/is not empty/);
  });

  it("makes tasks of a graph", async () => {
    const graph = {
      tools: [
        { name: "web-find", description: "Finds.", calls: 3, invocations: [{ keys: ["q"], count: 3 }] },
        { name: "web-open", description: "Opens.", calls: 3, invocations: [{ keys: ["url"], count: 3 }] },
      ],
      edges: [
        [0, 1, 3],
        [1, 0, 2],
        [0, 0, 1],
      ],
    };
    await writeFile(folder.join("released.json"), JSON.stringify(graph));
    const out = folder.join("walks");
    const args = [
      "import",
      "toolathlon-graph",
      folder.join("released.json"),
      "--out",
      out,
      "--tasks",
      "6",
      "--min-steps",
      "2",
      "--max-steps",
      "5",
    ];
    const { code, stdout } = await trailgym(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^made 6 tasks \(\d train, \d test\) over 2 tools/);
  });
});

describe("trailgym generate mcp-tools", () => {
  it("makes the same dataset for the same seed, served and checked like any other", async () => {
    const make = (name: string) =>
      trailgym([
        "generate",
        "mcp-tools",
        "--toolbook",
        book,
        "--out",
        folder.join(name),
        "--tasks",
        "12",
        "--max-steps",
        "6",
        "--seed",
        "5",
        "--name",
        "same",
      ]);
    const { code, stdout, stderr } = await make("first");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^made 12 tasks \(9 train, 3 test\) over 42 tools/);
    expect(stderr).toMatch(/copying the nearest request matches 0\.\d+ of the test/);
    await make("second");
    const tasks = (name: string) => readFile(folder.join(name, "tasks.jsonl"), "utf8");
    expect(await tasks("second")).toBe(await tasks("first"));
    const checked = await trailgym(["check-env", "--tasks", folder.join("first"), "--no-builtin-tasks"]);
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/mcp-tools-v1 .*: ok/)]);
  });

  it("takes the tools out of a dataset or of trajectories", async () => {
    const out = folder.join("from-dataset");
    const { code } = await trailgym([
      "generate",
      "mcp-tools",
      "--graph",
      "fixtures/mcp-tools",
      "--out",
      out,
      "--tasks",
      "5",
      "--json",
    ]);
    expect(code).toBe(0);
    expect(await readFile(`${out}/tasks.jsonl`, "utf8")).toMatch(
      /"tool":"(ferry|desk|greenhouse|catalogue|archive|workshop)-/,
    );
  });

  it("says what is missing, and leaves nothing behind", async () => {
    const out = folder.join("nothing");
    const neither = await trailgym(["generate", "mcp-tools", "--out", out]);
    expect([neither.code, neither.stderr]).toEqual([2, expect.stringMatching(/--toolbook FILE or --graph/)]);
    const few = await trailgym([
      "generate",
      "mcp-tools",
      "--graph",
      folder.join("mine.jsonl"),
      "--out",
      out,
      "--tasks",
      "50",
    ]);
    expect([few.code, few.stderr]).toEqual([1, expect.stringMatching(/only \d+ of 50 tasks: the graph has too few/)]);
    const broken = await trailgym(["generate", "mcp-tools", "--toolbook", "package.json", "--out", out]);
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringMatching(/package\.json: tools: /)]);
    expect(await readdir(folder.path)).not.toContain("nothing");
  });
});

describe("a model for simulated tools", () => {
  const play = async (args: string[], env: Record<string, string> = {}) => {
    const actions = folder.join("actions.jsonl");
    await writeFile(actions, '{"tool":"catalogue-search_titles","arguments":{"query":"tea"}}\n');
    return trailgym(
      ["play", "mcp-tools-v1", "--task", "quayside/1", "--seed", "1", "--actions", actions, "--json", ...args],
      { env },
    );
  };

  it("is asked where it is configured, its key is told to it alone, and its replies are kept", async () => {
    await using fake = await fakeModel(says("from the model"));
    const cache = folder.join("replies.jsonl");
    const key = "sk-cli-77aa";
    const model = ["--model", "small", "--model-cache", cache];
    const first = await play([...model, "--model-url", fake.url], { TRAILGYM_MODEL_KEY: key });
    expect(first.code).toBe(0);
    expect(first.stdout).toContain("from the model");
    expect(first.stdout).toContain('"source":"model"');
    expect(fake.asked[0]?.headers.authorization).toBe(`Bearer ${key}`);
    for (const text of [first.stdout, first.stderr, await readFile(cache, "utf8")]) expect(text).not.toContain(key);
    const again = await play(model);
    expect(again.stdout).toContain('"source":"cache"');
    expect(fake.asked).toHaveLength(1);
  });

  it("needs a name, and an address that is one", async () => {
    const unnamed = await play(["--model-url", "http://localhost:1/v1"]);
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringMatching(/--model-url needs --model NAME/)]);
    const nowhere = await play(["--model-url", "localhost:1", "--model", "x"]);
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringMatching(/is not an http address/)]);
  });
});
