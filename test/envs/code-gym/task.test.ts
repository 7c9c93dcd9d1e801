import { describe, expect, it } from "vitest";
import { loadTasks } from "../../../envs/code-gym/task.ts";
import { taskFiles } from "../context.ts";
import { dataset } from "./dataset.ts";

const programs = { "programs/a.js": "const program = {};", "programs/b.py": "" };
const task = { id: "a/0", program: "programs/a.js", question: "?", payload: { answer: 42 } };

describe("a dataset folder", () => {
  it("gives tasks by split, train first, and publishes nothing of the payload", async () => {
    const tasks = await loadTasks([
      dataset(programs, { ...task, id: "t", split: "test", family: "graphs", referenceCalls: 9 }, "", {
        ...task,
        class: "AEnv",
        names: { Done: "Submit" },
      }),
    ]);
    expect(tasks.splits()).toEqual(["train", "test"]);
    expect(tasks.families?.()).toEqual(["graphs"]);
    expect(tasks.list(undefined, undefined, 10).tasks).toEqual([
      { id: "a/0", question: "?", language: "javascript", maxCalls: 256 },
      { id: "t", question: "?", language: "javascript", maxCalls: 256, family: "graphs" },
    ]);
    expect(tasks.get("t")?.payload).toEqual({ answer: 42 });
  });

  it("shares a program among its tasks and reads it once, when first needed", async () => {
    let reads = 0;
    const files = dataset(programs, task, { ...task, id: "a/1" });
    const counted = { ...files, read: (path: string) => ((reads += Number(path.endsWith(".js"))), files.read(path)) };
    const tasks = await loadTasks([counted]);
    const [first, second] = [tasks.get("a/0"), tasks.get("a/1")];
    expect(first?.program).toBe(second?.program);
    expect(reads).toBe(0);
    await first?.program.source();
    await second?.program.source();
    expect(reads).toBe(1);
  });

  it.each([
    ["{", /memory\/tasks\.jsonl:2: not a JSON object: .* at column 2$/],
    [
      '{"id": "b", "program": x, "question": "?"}',
      /tasks\.jsonl:2: not a JSON object: Unexpected token 'x' at column 24$/,
    ],
    ['{"id": "b"', /tasks\.jsonl:2: not a JSON object: .* at column 11$/],
    ['{"id": tru, "b": [1, 2, 3, 4, 5]}', /tasks\.jsonl:2: .*column 11$/],
    ["[]", /tasks\.jsonl:2: not a JSON object$/],
    [{ ...task, id: "b", program: "programs/none.js" }, /memory\/tasks\.jsonl:2: no such program file/],
    [{ ...task, id: "b", program: "../b.py" }, /tasks\.jsonl:2: program: a program is programs/],
    [{ ...task, id: "b", payload: undefined }, /tasks\.jsonl:2: a task has either payload or literal/],
    [{ ...task, id: "b", payload: undefined, literal: "{}" }, /tasks\.jsonl:2: a literal is for Python programs/],
    [{ ...task, id: "b", surprise: 1 }, /tasks\.jsonl:2: .*surprise/],
    [task, /memory\/tasks\.jsonl:2: two tasks have the id "a\/0", the other is at memory\/tasks\.jsonl:1/],
  ])("with a bad line %j is refused, naming file and line", async (line, message) => {
    await expect(loadTasks([dataset(programs, task, line)])).rejects.toThrow(message);
  });

  it("without a task is refused by name", async () => {
    await expect(loadTasks([dataset(programs, "", " ")])).rejects.toThrow(/^memory\/tasks\.jsonl: it is empty/);
  });

  it("of another environment, or without its files, is refused by name", async () => {
    const head = (text: string) => loadTasks([taskFiles({ "dataset.json": text }, "mine")]);
    await expect(head('{"env":"mcp-tools-v1","name":"x"}')).rejects.toThrow(/mine\/dataset\.json: env/);
    await expect(head('{"env":"code-gym-v1","name":"x"}')).rejects.toThrow(/mine\/tasks\.jsonl: no such file/);
    await expect(loadTasks([taskFiles({}, "mine")])).rejects.toThrow(/mine\/dataset\.json: no such file/);
  });
});
