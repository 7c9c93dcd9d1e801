import { checkEnv } from "trailgym/env";
import { describe, expect, it } from "vitest";
import env from "../../../envs/mcp-tools/mcp-tools.env.ts";
import { context } from "../context.ts";
import { call, files, start, task } from "./small.ts";

const reference = [
  call("shop-find_tea", { kind: "green" }),
  call("shop-buy", { tea_id: "t-1" }),
  call("desk-tell", { text: "bought" }),
];

describe("an episode", () => {
  it("begins with the request and the task's tools, STOP last", async () => {
    const player = await start("tea");
    expect(player.observation).toMatchObject({ isError: false });
    expect((player.observation as { content: string }).content).toMatch(/^Find a green tea, buy it and tell Ada\.\n/);
    expect(player.tools.map(({ name }) => name)).toEqual([
      "shop-find_tea",
      "shop-buy",
      "desk-tell",
      "desk-calc_sum",
      "STOP",
    ]);
  });

  it("replays the recording along the reference and pays for each step and the outcome", async () => {
    const player = await start("tea");
    const outcomes = [];
    for (const action of [...reference, "STOP"]) outcomes.push(await player.do(action));
    expect(outcomes.map(({ content }) => content)).toEqual([
      '{"teas":[{"tea_id":"t-1"}]}',
      "bought",
      "told",
      "The episode has ended.",
    ]);
    expect(outcomes.map(({ reward }) => reward)).toEqual([1, 1, 1, 17]);
    expect(outcomes.slice(0, 3).map(({ info }) => [info.status, info.source])).toEqual(
      Array(3).fill(["ok", "reference"]),
    );
    expect(outcomes[3]?.info).toMatchObject({
      match: { positional: 1, prefix: 1, strict: 1, lcsF1: 1, edit: 1, exact: true, inclusion: 1 },
      success: true,
      steps: 3,
      referenceSteps: 3,
      statuses: { ok: 3 },
      sources: { reference: 3 },
    });
  });

  it("reports a strict match beside the paper's: extra calls cost the one and not the other", async () => {
    const player = await start("tea");
    for (const action of reference) await player.do(action);
    const extra = await player.do(call("desk-tell", { text: "again" }));
    expect(extra.reward).toBeCloseTo(-0.3 + 0.5, 12);
    const { reward, info } = await player.do("STOP");
    expect(reward).toBe(17);
    expect(info.match).toMatchObject({ positional: 1, prefix: 1, strict: 0.75, exact: false });
  });

  it("pays for coming back after a wrong step, and takes a call in the usual spellings", async () => {
    const player = await start("tea");
    expect((await player.do(call("desk-tell", { text: "hello" }))).reward).toBeCloseTo(-0.3 + 0.5, 12);
    const back = await player.do('<tool_call>{"name":"shop-buy","arguments":{"tea_id":"t-1"}}</tool_call>');
    expect(back).toMatchObject({ reward: 1.5, content: "bought" });
    const { reward, info } = await player.do('{"tool":"STOP"}');
    expect(info.match).toMatchObject({ positional: 1 / 3, prefix: 1 / 2, strict: 1 / 3 });
    // From .3 on the outcome is 3; the opening does not match.
    expect([reward, info.success]).toEqual([3, false]);
  });

  it("is truncated after `horizon` calls, and still has its outcome", async () => {
    const player = await start("long", { horizon: 2 });
    await player.do(call("desk-tell", { text: "a" }));
    const outcome = await player.step(call("desk-tell", { text: "b" }));
    // Positional match 2/4, and not the first 3 tools.
    expect(outcome).toMatchObject({ truncated: true, reward: 1 + 6, info: { match: { positional: 0.5, prefix: 1 } } });
    const after = await player.step(call("desk-tell", { text: "c" }));
    expect(after).toMatchObject({ truncated: true, observation: { isError: true } });
    expect(after.reward ?? 0).toBe(0);
  });

  it("has no outcome at the horizon where the options say so", async () => {
    const player = await start("long", { horizon: 2, outcome: { onTruncation: false } });
    for (const text of ["a", "b"]) await player.do(call("desk-tell", { text }));
    expect(player.episodeReturn).toBe(2);
  });

  it("discounts with γ^t, the outcome with its last call", async () => {
    const player = await start("tea", { gamma: 0.9 });
    for (const action of [...reference, "STOP"]) await player.do(action);
    expect(player.episodeReturn).toBeCloseTo(1 + 0.9 + 0.81 + 0.81 * 17, 12);
  });

  it("pays for STOP what the options say", async () => {
    const options = { stop: { correct: 2, wrong: -1 } };
    const early = await start("tea", options);
    await early.do(reference[0]);
    expect((await early.do("STOP")).reward).toBe(-1 + 3);
    const right = await start("tea", options);
    for (const action of reference) await right.do(action);
    expect((await right.do("STOP")).reward).toBe(2 + 17);
  });

  it("is worth less where the reference itself failed, and is then no success", async () => {
    const player = await start("failing");
    const first = await player.do(call("shop-buy", { tea_id: "t-0" }));
    expect(first).toMatchObject({ reward: 0, isError: true, info: { status: "tool_error" } });
    await player.do(call("shop-buy", { tea_id: "t-00" }));
    const { reward, info } = await player.do("STOP");
    expect(reward).toBeCloseTo(15 * 0.7 + 2, 12);
    expect(info.success).toBe(false);
  });

  it("can be told to judge outputs by their text alone, as the authors' code does", async () => {
    const declared = await start("failing");
    expect((await declared.do(call("shop-buy", { tea_id: "t-0" }))).reward).toBe(0.5 - 0.5);
    const byText = await start("failing", { exec: { judge: "text" } });
    // "sold out" holds no pattern, "no error was found" does.
    expect((await byText.do(call("shop-buy", { tea_id: "t-0" }))).reward).toBe(1);
    expect((await byText.do(call("shop-buy", { tea_id: "t-00" }))).reward).toBe(0);
  });

  it("gives the reference's actions to a trainer that asks for them", async () => {
    const reset = await env.reset(context({ task: task("tea") }), env.options.parse({ oracle: true }));
    expect(reset.info).toEqual({ referenceSteps: 3, reference: [...reference, "STOP"] });
    const plain = await env.reset(context({ task: task("tea") }), env.options.parse({}));
    expect(plain.info).toEqual({ referenceSteps: 3 });
  });
});

describe("a call that cannot be made", () => {
  it("of no tool gets what a server would say", async () => {
    const player = await start("tea");
    const { content, isError, info, reward } = await player.do(call("shop-steal", { tea_id: "t-1" }));
    expect([content, isError]).toEqual(["MCP error -32602: Tool shop-steal not found", true]);
    expect(info).toMatchObject({ status: "unknown_tool", source: "none", correct: false });
    // Of the right category, and an error.
    expect(reward).toBeCloseTo(0.15 - 0.5, 12);
  });

  it.each([
    [{ kind: 5 }, '"kind" must be string'],
    [{}, "the arguments must have required property 'kind'"],
    [{ kind: "green", most: 0 }, '"most" must be >= 1'],
    [{ kind: "green", colour: "x" }, 'the arguments must NOT have additional properties ("colour")'],
  ])("with the arguments %j gets the schema's error", async (args, problem) => {
    const player = await start("tea");
    const { content, info, reward } = await player.do(call("shop-find_tea", args));
    expect(content).toBe(`MCP error -32602: Invalid arguments for tool shop-find_tea: ${problem}`);
    expect(info).toMatchObject({ status: "schema_error", source: "none", correct: true });
    expect(reward).toBe(0.5 - 0.5);
  });

  it("and cannot even be read is a schema error and a step", async () => {
    const player = await start("tea");
    const { content, info, reward } = await player.do("I would like to stop here");
    expect(content).toMatch(/^MCP error -32602: The call could not be read: .* Its form is \{"tool"/);
    expect(info).toMatchObject({ status: "schema_error", correct: false, intent: -0.3, exec: -0.5 });
    expect(reward).toBeCloseTo(-0.3 - 0.5, 12);
    expect((await player.do("STOP")).info).toMatchObject({ steps: 1, statuses: { schema_error: 1 } });
  });
});

describe("whether a call is the recorded one", () => {
  const others = [call("desk-tell", { text: "bought it" }), call("desk-tell", {})];

  it.each([
    ["arguments", [false, false]],
    ["keys", [true, false]],
    ["tool", [true, true]],
  ])("is decided by its %s", async (replay, wanted) => {
    const same = await Promise.all(
      others.map(async (action) => {
        const player = await start("tea", { replay });
        for (const before of reference.slice(0, 2)) await player.do(before);
        return (await player.do(action)).info.source === "reference";
      }),
    );
    expect(same).toEqual(wanted);
  });

  it("does not depend on the order of its arguments", async () => {
    const player = await start("other");
    await player.do(call("shop-buy", { tea_id: "t-9" }));
    expect((await player.do(call("desk-calc_sum", { b: 2, a: 1 }))).info.source).toBe("reference");
  });
});

it("has no finding in any task of the small dataset, under options of every kind", async () => {
  const report = await checkEnv(env, { files: [files()], tasks: 9, episodes: 3 });
  // One tool of the long task's set has no way to be called wrongly, which is fine: nothing else is said.
  expect(report.findings).toEqual([]);
  expect(report.episodes).toBe(4 * 3 * 4);
});

it.each([
  {},
  { horizon: 1 },
  { horizon: 2, gamma: 0.5 },
  { stop: { correct: 3 } },
  { exec: { judge: "text" } },
  { outcome: { onTruncation: false }, horizon: 3 },
])("promises of the reference what playing it earns, with %j", async (options) => {
  for (const id of ["tea", "other", "failing", "long"]) {
    const player = await start(id, options);
    const promise = await env.reference?.(context({ task: task(id) }), player.state as never);
    const { actions, episodeReturn } = promise as { actions: unknown[]; episodeReturn: number };
    let ended = false;
    for (const action of actions) {
      expect(ended).toBe(false);
      const { terminated, truncated } = await player.step(action);
      ended = (terminated ?? false) || (truncated ?? false);
    }
    expect([id, ended, player.episodeReturn.toFixed(9)]).toEqual([id, true, episodeReturn.toFixed(9)]);
  }
});
