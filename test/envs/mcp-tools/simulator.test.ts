import { type Model, type ModelRequest, ModelUnavailable } from "trailgym/env";
import { describe, expect, it } from "vitest";
import { promptOf, readReply } from "../../../envs/mcp-tools/simulator/prompt.ts";
import { templateOutput, verbOf } from "../../../envs/mcp-tools/simulator/template.ts";
import { toolEntry } from "../../../envs/mcp-tools/trajectory.ts";
import { call, start } from "./small.ts";

/** A model that answers from a list, and remembers what it was asked. */
function model(...replies: (string | { text: string; cached: boolean } | Error)[]): Model & { asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    id: "test-model",
    asked,
    complete(request) {
      asked.push(request);
      const reply = replies[asked.length - 1] ?? "";
      if (reply instanceof Error) return Promise.reject(reply);
      return Promise.resolve(typeof reply === "string" ? { text: reply, cached: false } : reply);
    },
  };
}

describe("a call that is not the reference's", () => {
  it("is answered by the model where there is one, from its cache where it has been asked before", async () => {
    const lent = model('Output: {"teas":[]}', { text: "```json\n[]\n```\n<<END>>", cached: true });
    const player = await start("tea", {}, { model: lent });
    const first = await player.do(call("shop-find_tea", { kind: "black" }));
    expect(first).toMatchObject({ content: '{"teas":[]}', isError: false, info: { source: "model", complete: false } });
    const second = await player.do(call("shop-find_tea", { kind: "red" }));
    expect(second).toMatchObject({ content: "[]", info: { source: "cache", complete: true, status: "ok" } });
    expect((await player.do("STOP")).info.sources).toEqual({ model: 1, cache: 1 });
  });

  it("asks with the request, the tool, the arguments and the calls before it", async () => {
    const lent = model("one", "two");
    const player = await start("tea", { simulator: { temperature: 0, maxTokens: 50 } }, { model: lent });
    await player.do(call("desk-tell", { text: "hello" }));
    await player.do(call("shop-find_tea", { kind: "white" }));
    expect(lent.asked[1]).toMatchObject({ temperature: 0, maxTokens: 50 });
    const [system, user] = lent.asked[1]?.messages ?? [];
    expect(system?.role).toBe("system");
    for (const part of [
      "Request: Find a green tea",
      "- desk-tell returned: one",
      "Tool: shop-find_tea",
      "- kind: white",
    ]) {
      expect(user?.content).toContain(part);
    }
  });

  it("does not ask the model for what was recorded, nor for what no server would run", async () => {
    const lent = model();
    const player = await start("tea", {}, { model: lent });
    await player.do(call("shop-find_tea", { kind: "green" }));
    await player.do(call("shop-buy", {}));
    await player.do(call("shop-sell", {}));
    expect(lent.asked).toEqual([]);
  });

  it("has failed where the model's text looks like it", async () => {
    const player = await start("tea", {}, { model: model("Permission denied for this account") });
    const { isError, info, reward } = await player.do(call("shop-find_tea", { kind: "black" }));
    expect([isError, info.status, reward]).toEqual([true, "tool_error", 0]);
  });

  it.each([
    [new ModelUnavailable("timeout", "too late"), "timeout"],
    [new ModelUnavailable("budget", "spent"), "budget"],
    ["", "empty"],
    ["<<END>>", "empty"],
  ])("falls to the pool when the model says %s, and says why", async (reply, modelFailure) => {
    const player = await start("tea", {}, { model: model(reply) });
    await player.do(call("shop-find_tea", { kind: "green" }));
    const { content, info } = await player.do(call("shop-buy", { tea_id: "t-7" }));
    expect(content).toBe("bought nine");
    expect(info).toMatchObject({ source: "pool", pooledBy: "pattern", modelFailure });
  });

  it("fails as a step where the options want that of a model that fails", async () => {
    const unavailable = new ModelUnavailable("timeout", "too late");
    const player = await start("tea", { simulator: { onModelFailure: "fail" } }, { model: model(unavailable) });
    await expect(player.do(call("shop-buy", { tea_id: "t-7" }))).rejects.toBe(unavailable);
    // A fault of our own is never taken for a model that did not answer.
    const broken = await start("tea", {}, { model: model(new Error("a bug")) });
    await expect(broken.do(call("shop-buy", { tea_id: "t-7" }))).rejects.toThrow("a bug");
  });

  it("ends with its step, whatever the model is doing", async () => {
    const abort = new AbortController();
    const lent: Model = {
      id: "slow",
      complete: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new ModelUnavailable("timeout", "gave up")));
          abort.abort(new Error("deadline"));
        }),
    };
    const player = await start("tea", {}, { model: lent, signal: abort.signal });
    await expect(player.do(call("shop-buy", { tea_id: "t-7" }))).rejects.toThrow("deadline");
  });

  it("gets without a model what another task recorded: for these argument names, else for this tool", async () => {
    const player = await start("tea");
    await player.do(call("shop-find_tea", { kind: "green" }));
    const same = await player.do(call("shop-buy", { tea_id: "t-5" }));
    expect(same).toMatchObject({ content: "bought nine", info: { source: "pool", pooledBy: "pattern", status: "ok" } });
    const near = await player.do(call("desk-calc_sum", { a: 4 }));
    expect(near).toMatchObject({ content: "3", info: { source: "pool", pooledBy: "tool" } });
  });

  it("out of its turn gets its own recording", async () => {
    const player = await start("tea");
    const { content, info } = await player.do(call("desk-tell", { text: "bought" }));
    expect(content).toBe("told");
    expect(info).toMatchObject({ source: "pool", pooledBy: "call", correct: false });
  });

  it("never gets another call's output of its own task, nor one that failed", async () => {
    const player = await start("long");
    const { content, info } = await player.do(call("desk-tell", { text: "e" }));
    expect(info.source).toBe("pool");
    expect(content).toBe("told");
    const failing = await start("other");
    const bought = await failing.do(call("shop-buy", { tea_id: "t-4" }));
    expect(bought.content).toBe("bought");
  });

  it("gets a template where nobody has recorded anything, the same one every time", async () => {
    const contents = [];
    for (let again = 0; again < 2; again++) {
      const player = await start("tea", { simulator: { sources: ["template"] } });
      const { content, info } = await player.do(call("shop-find_tea", { kind: "black" }));
      expect(info).toMatchObject({ source: "template", status: "ok" });
      contents.push(content);
    }
    expect(contents[0]).toBe(contents[1]);
    expect(JSON.parse(contents[0] as string)).toMatchObject({ query: { kind: "black" } });
  });

  it("is refused where the options leave nobody to answer it", async () => {
    const player = await start("tea", { simulator: { sources: [] } });
    const { isError, info } = await player.do(call("shop-find_tea", { kind: "black" }));
    expect([isError, info.source, info.status]).toEqual([true, "none", "tool_error"]);
  });
});

describe("a model's reply", () => {
  it.each([
    ["plain", "plain", false],
    ["  Tool output:  text \n", "text", false],
    ["Simulated Output: a\nb", "a\nb", false],
    ["done\n<<END>>", "done", true],
    ["done <<END>>", "done <<END>>", false],
    ["<<END>>\ndone", "<<END>>\ndone", false],
    ["```\n{}\n```", "{}", false],
    ['Result: ```json\n{"a":1}\n```\n<<END>>\n', '{"a":1}', true],
    ["x".repeat(30), `${"x".repeat(20)}…`, false],
  ])("%j is read as %j, complete: %j", (reply, output, complete) => {
    expect(readReply(reply, 20)).toEqual({ output, complete });
  });

  it("depends on no more of a situation than is shown", () => {
    const tool = toolEntry.parse({ name: "t", description: "d".repeat(900) });
    const long = promptOf({
      tool,
      arguments: { a: "v".repeat(900) },
      task: "r".repeat(900),
      history: [{ tool: "t", output: "o".repeat(150) }],
    });
    expect(long.map(({ content }) => content.length).reduce((a, b) => a + b)).toBeLessThan(2_000);
  });
});

describe("a template", () => {
  it.each([
    ["library-search_titles", "search"],
    ["createInvoice", "create"],
    ["fs.read_file", "get"],
    ["desk-delete-note", "delete"],
    ["mean_value_calc", "calc"],
    ["notes-update", "update"],
    ["mail-send", "send"],
    ["frobnicate", "do"],
  ])("for %s is that of the verb %s", (name, verb) => expect(verbOf(name)).toBe(verb));

  it("fits the tool's output schema, with the arguments where they have a place", () => {
    const outputSchema = {
      type: "object",
      properties: { city: { type: "string" }, degrees: { type: "number", minimum: -5, maximum: 40 } },
      required: ["city", "degrees"],
    };
    const tool = toolEntry.parse({ name: "weather-get", outputSchema });
    const output = templateOutput(tool, { city: "Oslo", hour: 3 }, "key") as { city: string; degrees: number };
    expect(output.city).toBe("Oslo");
    expect(output.degrees >= -5 && output.degrees <= 40).toBe(true);
    expect(Object.keys(output).toSorted()).toEqual(["city", "degrees"]);
    expect(templateOutput(tool, { city: "Oslo", hour: 3 }, "key")).toEqual(output);
    expect(templateOutput(tool, { city: "Oslo", hour: 3 }, "another key")).not.toEqual(output);
  });

  it("does without an output schema that nothing fits", () => {
    const tool = toolEntry.parse({ name: "weather-get", outputSchema: { allOf: [false] } });
    expect(templateOutput(tool, { city: "Oslo" }, "key")).toMatchObject({ city: "Oslo", status: "active" });
  });
});
