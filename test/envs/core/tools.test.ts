import { defineToolEnv, toolbox } from "trailgym/env";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { play } from "../context.ts";

/** Add up to a target exactly; above it the episode is lost. */
const counter = defineToolEnv({
  id: "counter-v1",
  summary: "Reach the target exactly.",
  state: z.object({ sum: z.int(), target: z.int() }),
  options: z.object({ target: z.int().default(3) }),
  maxCalls: 5,
  tools: {
    Add: {
      description: "Adds n.",
      parameters: { n: z.int().min(1).describe("how much"), note: z.string().optional() },
      run(_ctx, state, { n }) {
        const sum = state.sum + n;
        const end = { reward: sum === state.target ? 1 : 0, terminated: sum >= state.target };
        return { content: { sum }, state: { ...state, sum }, ...end };
      },
    },
    Look: { description: "Shows the sum.", parameters: {}, run: (_ctx, { sum }) => `the sum is ${sum}` },
  },
  reset: (_ctx, { target }) => ({ state: { sum: 0, target }, content: `Reach ${target}.` }),
  reference: (_ctx, { target }) => [{ tool: "Add", arguments: { n: target } }],
});

/** One tool, named by the task. */
const perTask = defineToolEnv<number, object, string>({
  id: "per-task-v1",
  summary: "The tools come with the task.",
  state: z.int(),
  options: z.object({}),
  maxCalls: (ctx) => ctx.task.length,
  reset: () => ({ state: 0, content: "" }),
  toolbox: (ctx) => {
    const inputSchema = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };
    const entry = { spec: { name: ctx.task, description: "", inputSchema }, tool: "canonical" };
    return toolbox([entry], (name) => (name === "alias" ? ctx.task : undefined));
  },
  call: (_ctx, calls, { tool, arguments: args }) => ({ state: calls + 1, content: [tool, args.to] }),
});

describe("a tool environment", () => {
  it("lists its tools as specs with JSON Schemas", () => {
    expect(counter.tools?.map(({ name }) => name)).toEqual(["Add", "Look"]);
    expect(counter.tools?.[0]?.inputSchema).toMatchObject({
      type: "object",
      properties: { n: { type: "integer", minimum: 1, description: "how much" } },
      required: ["n"],
      additionalProperties: false,
    });
  });

  it("runs a call, and keeps the reward, the end and any JSON content", async () => {
    const player = await play(counter);
    expect(player.observation).toEqual({ content: "Reach 3.", isError: false });
    await player.step({ tool: "Add", arguments: { n: 1 } });
    expect(player.observation).toEqual({ content: { sum: 1 }, isError: false });
    const last = await player.step({ tool: "Add", arguments: { n: 2 } });
    expect(last).toMatchObject({ reward: 1, terminated: true, truncated: false });
  });

  it("ends truncated when the call budget is used, refused calls included", async () => {
    const player = await play(counter, {}, { target: 100 });
    for (let i = 0; i < 4; i++) expect(await player.step("nonsense")).toMatchObject({ truncated: false, reward: 0 });
    expect(await player.step({ tool: "Look" })).toMatchObject({ terminated: false, truncated: true, reward: 0 });
    expect(await player.step({ tool: "Add", arguments: { n: 100 } })).toMatchObject({ truncated: true, reward: 0 });
  });

  it("terminates, and is not truncated, when the last call of the budget reaches the end", async () => {
    const player = await play(counter);
    for (let i = 0; i < 4; i++) await player.step({ tool: "Look" });
    expect(await player.step({ tool: "Add", arguments: { n: 3 } })).toMatchObject({
      terminated: true,
      truncated: false,
    });
  });

  it("wins nothing after the end", async () => {
    const player = await play(counter);
    await player.step({ tool: "Add", arguments: { n: 4 } });
    expect(await player.step({ tool: "Add", arguments: { n: 3 } })).toMatchObject({ terminated: true });
    expect(player.episodeReturn).toBe(0);
  });

  const refused: [what: string, action: unknown, told: RegExp][] = [
    ["text without a call", "I will add one.", /could not be read.*not valid JSON/],
    ["a number", "5", /a call is a JSON object/],
    ["no tool", "{}", /"tool"/],
    ["two calls in a list", '[{"name":"Look"},{"name":"Look"}]', /one call per step/],
    ["an empty list", [], /one call per step/],
    ["two marked calls", "<tool_call>{}</tool_call><tool_call>{}</tool_call>", /more than one call/],
    ["JSON nested too deep", `{"tool":"Look","arguments":${"[".repeat(70)}${"]".repeat(70)}}`, /nested deeper/],
    ["JSON nested beyond any stack", "[".repeat(200_000), /could not be read/],
    ["arguments that are a list", '{"tool":"Look","arguments":[]}', /"arguments" is an object/],
    ["an unknown tool", { tool: "Sub" }, /no tool "Sub".*Add, Look/],
    ["a name of Object.prototype", { tool: "constructor" }, /no tool "constructor"/],
    ["a missing argument", { tool: "Add" }, /"n" is missing/],
    ["an unexpected argument", { tool: "Look", arguments: { x: 1 } }, /x/],
    ["a badly typed argument", { tool: "Add", arguments: { n: "1" } }, /"n".*string/],
  ];
  it.each(refused)("tells the policy about %s and leaves the state as it was", async (_what, action, told) => {
    const player = await play(counter);
    const before = player.state as { state: unknown };
    const { reward, terminated } = await player.step(action);
    expect(player.observation).toEqual({ content: expect.stringMatching(told) as string, isError: true });
    expect({ reward, terminated }).toEqual({ reward: 0, terminated: false });
    expect(player.state).toEqual({ ...before, calls: 1 });
  });

  const spellings: [what: string, action: unknown][] = [
    ["{tool, arguments}", { tool: "Add", arguments: { n: 2 } }],
    ["{name, parameters}", { name: "Add", parameters: { n: 2 } }],
    ["{name, arguments}", { name: "Add", arguments: { n: 2 } }],
    ["OpenAI's", { id: "1", type: "function", function: { name: "Add", arguments: '{"n": 2}' } }],
    ["a list of one", [{ name: "Add", parameters: { n: 2 } }]],
    ["text", '  {"tool": "Add", "arguments": {"n": 2}}\n'],
    ["text with a list of one", '[{"name":"Add","parameters":{"n":2}}]'],
    ["CodeGym's markers", 'Now: <|FunctionCallBegin|>[{"name":"Add","parameters":{"n":2}}]<|FunctionCallEnd|> ok'],
    ["an open marker", '<|FunctionCallBegin|>[{"name":"Add","parameters":{"n":2}}]'],
    ["Hermes' markers", '<think>hm</think><tool_call>{"name":"Add","arguments":{"n":2}}</tool_call>'],
    ["a fence", 'So:\n```json\n{"tool":"Add","arguments":{"n":2}}\n```\nThat is it.'],
    ["a bare fence", '```\n{"tool":"Add","arguments":{"n":2}}\n```'],
  ];
  it.each(spellings)("reads a call written as %s", async (_what, action) => {
    const player = await play(counter);
    await player.step(action);
    expect(player.observation).toEqual({ content: { sum: 2 }, isError: false });
  });
});

it("a list of a million things that are no calls is one observation, at once", async () => {
  const player = await play(counter);
  await player.step(new Array<number>(1e6).fill(1));
  expect(player.observation).toMatchObject({ content: expect.stringContaining("a list of 1000000") as string });
}, 5000);

describe("a tool environment with tools per task", () => {
  it("gives the tools in reset's reply and the budget from the task", async () => {
    const player = await play(perTask, { task: "go" });
    expect(perTask.tools).toBeUndefined();
    expect(player.tools.map(({ name }) => name)).toEqual(["go"]);
    await player.step({ tool: "go", arguments: { to: "x" } });
    expect(player.observation).toEqual({ content: ["canonical", "x"], isError: false });
    expect(await player.step({ tool: "alias", arguments: { to: "y" } })).toMatchObject({ truncated: true });
    expect(player.observation).toEqual({ content: ["canonical", "y"], isError: false });
  });

  it("checks arguments by the JSON Schema", async () => {
    const player = await play(perTask, { task: "walk" });
    await player.step({ tool: "walk", arguments: { to: 5 } });
    expect(player.observation).toMatchObject({ content: expect.stringContaining('"to" must be a string') as string });
    await player.step({ tool: "walk" });
    expect(player.observation).toMatchObject({ content: expect.stringContaining('"to" is missing') as string });
  });

  it("refuses two tools of one name", () => {
    const spec = { name: "a", description: "", inputSchema: {} };
    expect(() => toolbox([{ spec }, { spec }])).toThrow("two tools have one name: a");
  });
});
