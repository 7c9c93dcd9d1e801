import { describe, expect, it } from "vitest";
import { DatasetError, type DatasetProblem } from "../../../envs/mcp-tools/problems.ts";
import { loadTasks } from "../../../envs/mcp-tools/task.ts";
import { taskFiles } from "../context.ts";
import { files, jsonl, lines, tools } from "./small.ts";

async function problemsOf(...datasets: Parameters<typeof loadTasks>[0]): Promise<readonly DatasetProblem[]> {
  const error: unknown = await loadTasks(datasets).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DatasetError);
  return (error as DatasetError).problems;
}

const task = (more: object) => jsonl([{ id: "x", task: "Do it.", reference: [{ tool: "shop-buy" }], ...more }]);

describe("a dataset", () => {
  it("is read with its splits, train first, and shows requests but no solutions", async () => {
    const source = await loadTasks([files()]);
    expect(source.splits()).toEqual(["train", "test"]);
    const { tasks, total } = source.list(undefined, undefined, 10);
    expect(total).toBe(4);
    expect(tasks[0]).toEqual({ id: "tea", task: "Find a green tea, buy it and tell Ada.", tools: 4 });
    expect(JSON.stringify(tasks)).not.toContain("reference");
  });

  it("shows what is told of a task's kind", async () => {
    const source = await loadTasks([
      files({ "tasks.jsonl": task({ family: "shop", difficulty: "hard", source: "s" }) }),
    ]);
    expect(source.families?.()).toEqual(["shop"]);
    expect(source.list(undefined, undefined, 1).tasks[0]).toMatchObject({ family: "shop", difficulty: "hard" });
  });

  it("may have its tools in its tasks alone", async () => {
    const inline = task({ tools: [{ name: "shop-buy", description: "Buys." }, tools[0]] });
    const own = taskFiles({ "dataset.json": '{"env":"mcp-tools-v1","name":"x"}', "tasks.jsonl": inline });
    const found = (await loadTasks([own])).get("x");
    expect(found?.tools.map(({ name }) => name)).toEqual(["shop-buy", "shop-find_tea"]);
    expect(found?.tools[0]?.inputSchema).toEqual({ type: "object" });
  });

  it("gives a task the tools that it lists, in its order", async () => {
    const source = await loadTasks([files({ "tasks.jsonl": task({ tools: ["shop-buy", "desk-tell"] }) })]);
    expect(source.get("x")?.tools.map(({ name }) => name)).toEqual(["shop-buy", "desk-tell"]);
  });
});

describe("what is wrong with a dataset is said in lines, each of its kind", () => {
  it.each<[string, string, RegExp, Record<string, string>]>([
    ["file", "small/tasks.jsonl", /no such file/, { "tasks.jsonl": undefined as unknown as string }],
    ["line", "small/dataset.json", /env/, { "dataset.json": '{"env":"chess-v1","name":"x"}' }],
    ["line", "small/dataset.json", /not JSON/, { "dataset.json": "{" }],
    ["line", "small/tasks.jsonl:2", /not JSON/, { "tasks.jsonl": `${task({})}{"id":` }],
    ["line", "small/tasks.jsonl:1", /not a JSON object/, { "tasks.jsonl": "7" }],
    ["line", "small/tasks.jsonl:1", /reference/, { "tasks.jsonl": task({ reference: [] }) }],
    ["line", "small/tasks.jsonl:1", /reference\.0\.tool/, { "tasks.jsonl": task({ reference: [{ tol: "x" }] }) }],
    ["line", "small/tasks.jsonl:1", /"anser"/, { "tasks.jsonl": task({ anser: 5 }) }],
    ["line", "small/tools.json", /not JSON/, { "tools.json": "[" }],
    [
      "line",
      "small/tools.json",
      /tool 1: name/,
      { "tools.json": '[{"description":"x"}]', "tasks.jsonl": task({ tools: [{ name: "shop-buy" }] }) },
    ],
    ["empty", "small/tasks.jsonl", /at least one task/, { "tasks.jsonl": "\n\n" }],
    [
      "duplicate_task",
      "small/tasks.jsonl:2",
      /the other is at small\/tasks\.jsonl:1/,
      { "tasks.jsonl": task({}) + task({}) },
    ],
    [
      "duplicate_tool",
      "small/tools.json",
      /two tools are called "shop-buy"/,
      { "tools.json": JSON.stringify([...tools, tools[1]]) },
    ],
    [
      "duplicate_tool",
      "small/tasks.jsonl:1",
      /two tools are called "shop-buy"/,
      { "tasks.jsonl": task({ tools: ["shop-buy", "shop-buy"] }) },
    ],
    [
      "duplicate_tool",
      "small/tasks.jsonl:1",
      /two tools are called "shop-buy"/,
      { "tasks.jsonl": task({ tools: ["shop-buy", { name: "shop-buy" }] }) },
    ],
    ["reserved_tool", "small/tools.json", /STOP/, { "tools.json": JSON.stringify([...tools, { name: "STOP" }]) }],
    [
      "unknown_tool",
      "small/tasks.jsonl:1",
      /does not describe "shop-sell"/,
      { "tasks.jsonl": task({ tools: ["shop-buy", "shop-sell"] }) },
    ],
    [
      "unknown_tool",
      "small/tasks.jsonl:1",
      /the reference calls "shop-buy"/,
      { "tasks.jsonl": task({ tools: ["desk-tell"] }) },
    ],
    [
      "bad_schema",
      "small/tools.json",
      /inputSchema of "bad".*type/,
      {
        "tools.json": JSON.stringify([
          ...tools,
          { name: "bad", inputSchema: { type: "object", properties: { a: { type: "int" } } } },
        ]),
      },
    ],
    [
      "unresolvable_ref",
      "small/tasks.jsonl:1",
      /leads nowhere/,
      {
        "tasks.jsonl": task({
          tools: ["shop-buy", { name: "bad", inputSchema: { type: "object", properties: { a: { $ref: "#/x" } } } }],
        }),
      },
    ],
    [
      "cyclic_ref",
      "small/tools.json",
      /leads back to itself/,
      {
        "tools.json": JSON.stringify([
          ...tools,
          { name: "bad", inputSchema: { type: "object", properties: { a: { $ref: "#/properties/a" } } } },
        ]),
      },
    ],
    [
      "unsafe_pattern",
      "small/tools.json",
      /for ever/,
      {
        "tools.json": JSON.stringify([
          ...tools,
          { name: "bad", inputSchema: { type: "object", properties: { a: { pattern: "(a+)+" } } } },
        ]),
      },
    ],
  ])("%s at %s: %s", async (kind, at, message, broken) => {
    const problems = await problemsOf(files(broken));
    expect(problems.map((problem) => [problem.kind, problem.at])).toEqual([[kind, at]]);
    expect(problems[0]?.message).toMatch(message);
  });

  it("all of it, over all datasets, ten lines of it in the message", async () => {
    const bad = files({ "tasks.jsonl": '{"id":"a"}\n'.repeat(12) });
    const again = { ...files(), name: "again" };
    const problems = await problemsOf(bad, files(), again);
    expect(problems).toHaveLength(12 + lines.length);
    const { message } = new DatasetError(problems);
    expect(message.split("\n")).toHaveLength(11);
    expect(message).toMatch(/^small\/tasks\.jsonl:1: /);
    expect(message).toMatch(/… and 6 more$/);
  });
});
