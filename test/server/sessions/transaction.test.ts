import { expect, test } from "vitest";
import { NdArray } from "trailgym/protocol";
import { defineEnv } from "trailgym/env";
import { z } from "zod";
import { verifies } from "../../e2e/verifies.ts";
import { corridor, quiz, trouble } from "../../resources/envs.ts";
import { add, begin, step, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named } from "../../resources/wire.ts";

async function played() {
  const env = trouble();
  const server = await serverResource({ envs: [env.env], config: { maxMessageBytes: 5000 } });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  return { env, server, wire, session, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const nan = { $type: "float", value: "NaN" };
const good = { state: { count: 1, bytes: { $type: "bytes", base64: "AQ==" } }, observation: { count: 1 } };

test.each([
  ["nothing at all", null],
  ["a number", 7],
  ["no state", { observation: { count: 1 } }],
  ["a state out of its schema", { ...good, state: { count: "one" } }],
  ["an observation out of its schema", { ...good, observation: { count: 0.5 } }],
  ["no observation", { state: good.state }],
  ["a reward that is NaN", { ...good, reward: nan }],
  ["a reward that is infinite", { ...good, reward: { $type: "float", value: "-Infinity" } }],
  ["a reward that is text", { ...good, reward: "1" }],
  ["a reward that is null", { ...good, reward: null }],
  ["info that is a list", { ...good, info: [1] }],
  ["info that is text", { ...good, info: "fine" }],
])("an environment that returns %s is at fault, and nothing is committed", async (_what, outcome) => {
  await using given = await played();
  const { wire, session } = given;
  const before = await visible(wire, session);
  const error = await wire.fails("env/step", { session, seq: 1, action: { do: "return", outcome } });
  expect(error).toMatchObject(named("ENV_FAULT"));
  expect(error.message).toContain("trouble-v1");
  expect(await visible(wire, session)).toEqual(before);
  expect(await step(wire, session, add(), { seq: 1 })).toMatchObject({ index: 1 });
});

test("the outcome that those are variations of is committed", async () => {
  await using given = await played();
  const { wire, session } = given;
  expect(await step(wire, session, { do: "return", outcome: good })).toMatchObject({ index: 1, reward: 0, info: {} });
});

verifies("reward/finite", async () => {
  await using given = await played();
  const { wire, session } = given;
  for (const reward of [nan, { $type: "float", value: "Infinity" }]) {
    const error = await wire.fails("env/step", { session, seq: 1, action: { do: "reward", reward } });
    expect(error).toMatchObject(named("ENV_FAULT"));
  }
  // −0 is a finite reward, and JSON has no tag to spare for it.
  const zero = await step(wire, session, { do: "reward", reward: { $type: "float", value: "-0" } }, { seq: 1 });
  expect(zero.reward).toBe(0);
});

verifies("trial/invisible", async () => {
  await using given = await played();
  const { wire, session } = given;
  const before = await visible(wire, session);
  for (const action of [{ do: "mutate" }, { do: "scribble" }, { do: "throw" }]) {
    expect(await wire.fails("env/step", { session, seq: 1, action })).toMatchObject(named("ENV_FAULT"));
    expect(await visible(wire, session)).toEqual(before);
  }
  // The digest is of the bytes too: what was scribbled on was a copy.
  const { snapshot } = await wire.call("env/snapshot", { session });
  const after = await wire.call("env/restore", { session, seq: 1, snapshot });
  expect(after.stateDigest).toBe(before.stateDigest);
  const twin = await begin(wire, "trouble-v1");
  const [mine, other] = [await step(wire, session, add()), await step(wire, twin, add())];
  expect(mine.stateDigest).toBe(other.stateDigest);
});

test("a plain state cannot be written to, however deep, nor can info that an environment has handed out", async () => {
  const note = { seen: [0] };
  const careless = defineEnv({
    id: "careless-v1",
    summary: "Writes to the state it was lent or to what it handed out before, and fails; or shows its state.",
    state: z.object({ list: z.array(z.object({ n: z.int() })) }),
    action: z.object({ write: z.enum(["lent", "own", "nothing"]) }),
    observation: z.object({ n: z.int() }),
    options: z.object({}),
    reset: () => ({ state: { list: [{ n: 1 }] }, observation: { n: 1 }, info: note }),
    step(_ctx, state, { write }) {
      const [first] = state.list as [{ n: number }];
      if (write === "nothing") return { state, observation: { n: first.n } };
      if (write === "lent") first.n = 9;
      else note.seen[0] = 9;
      throw new Error("and fails");
    },
  });
  await using server = await serverResource({ envs: [careless] });
  const wire = await server.wire();
  const session = await begin(wire, "careless-v1");
  const before = await visible(wire, session);
  for (const write of ["lent", "own"]) {
    expect(await wire.fails("env/step", { session, action: { write } })).toMatchObject(named("ENV_FAULT"));
    expect(await visible(wire, session)).toEqual(before);
  }
  const { observation, stateDigest } = await step(wire, session, { write: "nothing" });
  expect({ observation, stateDigest }).toEqual({ observation: { n: 1 }, stateDigest: before.stateDigest });
});

test("an array that an environment writes to in place is a copy of the committed one", async () => {
  const grid = defineEnv({
    id: "grid-v1",
    summary: "Fills an array in place, and fails when asked.",
    state: z.object({ cells: z.instanceof(NdArray), bytes: z.instanceof(Uint8Array) }),
    action: z.object({ fail: z.boolean() }),
    observation: z.object({ cells: z.instanceof(NdArray) }),
    options: z.object({}),
    reset() {
      const cells = new NdArray("int32", [2], Int32Array.of(1, 2));
      return { state: { cells, bytes: Uint8Array.of(7) }, observation: { cells } };
    },
    step(_ctx, state, { fail }) {
      (state.cells.data as Int32Array)[0]! += 1;
      state.bytes[0]! += 1;
      if (fail) throw new Error("asked to");
      return { state, observation: { cells: state.cells } };
    },
  });
  await using server = await serverResource({ envs: [grid] });
  const wire = await server.wire();
  const session = await begin(wire, "grid-v1");
  const before = await visible(wire, session);
  for (let i = 0; i < 3; i++) await wire.fails("env/step", { session, action: { fail: true } });
  expect(await visible(wire, session)).toEqual(before);
  const { snapshot } = await wire.call("env/snapshot", { session });
  const once = await step(wire, session, { fail: false });
  const cells = Buffer.from(Int32Array.of(2, 2).buffer).toString("base64");
  expect(once.observation).toEqual({ cells: { $type: "ndarray", dtype: "int32", shape: [2], base64: cells } });
  // The snapshot names the value of before, not the array that the step has written to.
  expect(await wire.call("env/restore", { session, snapshot })).toMatchObject({ stateDigest: before.stateDigest });
  expect(await step(wire, session, { fail: false })).toMatchObject({ stateDigest: once.stateDigest });
});

verifies("action/invalid", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const before = await visible(wire, session);
  const error = await wire.fails("env/step", { session, seq: 1, action: { do: "spin", ms: "soon" } });
  expect(error).toMatchObject({ ...named("INVALID_ACTION"), code: 1202 });
  expect(error.data.issues).toEqual([expect.objectContaining({ path: "ms" })]);
  expect(env.runs).toBe(0);
  expect(await visible(wire, session)).toEqual(before);
});

test("a misspelt key of an action is named, never ignored", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1");
  const error = await wire.fails("env/step", { session, action: { stop: false, stopp: true } });
  expect(error).toMatchObject(named("INVALID_ACTION"));
  expect(error.message).toContain("stopp");
});

verifies("message/reply-too-large", async () => {
  await using given = await played();
  const { wire, session } = given;
  const before = await visible(wire, session);
  const error = await wire.fails("env/step", { session, seq: 1, action: { do: "swell", length: 6000 } });
  expect(error).toMatchObject({ ...named("MESSAGE_TOO_LARGE", { limit: 5000 }), code: 1303 });
  expect(await visible(wire, session)).toEqual(before);
  expect(await step(wire, session, { do: "swell", length: 4000 }, { seq: 1 })).toMatchObject({ index: 1 });
});

verifies("episode/truncated", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1");
  await step(wire, session, { stop: false });
  expect(await step(wire, session, { stop: false })).toMatchObject({ terminated: false, truncated: false });
  expect(await step(wire, session, { stop: false })).toMatchObject({ terminated: false, truncated: true, index: 3 });
  expect(await wire.fails("env/step", { session, action: { stop: false } })).toMatchObject(named("RESET_NEEDED"));
  expect(await visible(wire, session)).toMatchObject({ status: "truncated", episodeReturn: 3 });
});

test("an episode that its task ends at the last allowed step is terminated, not truncated", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1");
  await step(wire, session, { stop: false });
  await step(wire, session, { stop: false });
  expect(await step(wire, session, { stop: true })).toMatchObject({ terminated: true, truncated: false });
  expect(await visible(wire, session)).toMatchObject({ status: "terminated" });
});

test("a step before reset is RESET_NEEDED, and so are snapshot and fork", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "corridor-v1" });
  expect(await wire.fails("env/step", { session, action: { stop: false } })).toMatchObject(named("RESET_NEEDED"));
  expect(await wire.fails("env/snapshot", { session })).toMatchObject(named("RESET_NEEDED"));
  expect(await wire.fails("env/fork", { session, count: 1 })).toMatchObject(named("RESET_NEEDED"));
  expect(await visible(wire, session)).toEqual(
    expect.objectContaining({ status: "new", observation: null, index: 0, seq: 0, episodeReturn: 0 }),
  );
});

test("options are strict at make and at reset, and those of reset win key by key", async () => {
  await using given = await played();
  const { wire } = given;
  const misspelt = await wire.fails("env/make", { env: "trouble-v1", options: { form: 3 } });
  expect(misspelt).toMatchObject(named("INVALID_PARAMS"));
  expect(misspelt.message).toContain("form");
  const { session } = await wire.call("env/make", { env: "trouble-v1", options: { from: 3 } });
  expect(await wire.fails("env/reset", { session, options: { from: "3" } })).toMatchObject(
    named("INVALID_PARAMS", { issues: [expect.objectContaining({ path: "options.from" })] }),
  );
  expect(await wire.call("env/reset", { session })).toMatchObject({ observation: { count: 3 } });
  expect(await wire.call("env/reset", { session, options: { from: 5 } })).toMatchObject({ observation: { count: 5 } });
  // The options of one reset are not those of the next.
  expect(await wire.call("env/reset", { session })).toMatchObject({ observation: { count: 3 } });
});

verifies("tasks/seed-chooses", async () => {
  await using server = await serverResource({ envs: [quiz] });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "quiz-v1" });
  const chosen = new Set<unknown>();
  for (let seed = 0; seed < 20; seed++) {
    const first = await wire.call("env/reset", { session, seed });
    const again = await wire.call("env/reset", { session, seed });
    expect(again).toMatchObject({ task: first.task, seed });
    expect(first.task).toMatch(/^train-/);
    expect(first.tools?.[0]?.name).toBe(`answer_${first.task}`);
    chosen.add(first.task);
    expect((await wire.call("env/reset", { session, seed, split: "test" })).task).toMatch(/^test-/);
  }
  expect(chosen.size).toBeGreaterThan(5);
  expect(await wire.call("env/reset", { session, seed: 1, task: "test-3" })).toMatchObject({ task: "test-3" });
});

test("an unknown task or split is UNKNOWN_TASK with near names, and a seed is told when none was given", async () => {
  await using server = await serverResource({ envs: [quiz, corridor] });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "quiz-v1" });
  expect(await wire.fails("env/reset", { session, task: "tset-3" })).toMatchObject(
    named("UNKNOWN_TASK", { suggestions: expect.arrayContaining(["test-3"]) as string[] }),
  );
  expect(await wire.fails("env/reset", { session, split: "tests" })).toMatchObject(
    named("UNKNOWN_TASK", { suggestions: ["test"] }),
  );
  const { seed, task } = await wire.call("env/reset", { session });
  expect(await wire.call("env/reset", { session, seed })).toMatchObject({ seed, task });
  const plain = await wire.call("env/make", { env: "corridor-v1" });
  expect(await wire.fails("env/reset", { session: plain.session, task: "a" })).toMatchObject(named("UNKNOWN_TASK"));
  expect(await wire.call("env/reset", { session: plain.session })).toMatchObject({ task: null });
});

verifies("tasks/no-answers", async () => {
  await using server = await serverResource({ envs: [quiz] });
  const wire = await server.wire();
  const all = await wire.call("env/tasks", { env: "quiz-v1", limit: 20 });
  expect(all).toMatchObject({ total: 55 });
  const pages = [all.tasks];
  for (let cursor = all.nextCursor; cursor !== undefined;) {
    const page = await wire.call("env/tasks", { env: "quiz-v1", limit: 20, cursor });
    pages.push(page.tasks);
    cursor = page.nextCursor;
  }
  const tasks = pages.flat();
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(55);
  for (const task of tasks) expect(Object.keys(task)).toEqual(["id", "question"]);
  expect((await wire.call("env/tasks", { env: "quiz-v1", split: "test" })).total).toBe(5);
  expect(await wire.fails("env/tasks", { env: "quiz-v1", split: "tes" })).toMatchObject(named("UNKNOWN_TASK"));
});

test("a state beyond every reason is the environment's fault, and nothing is committed", async () => {
  const env = defineEnv({
    id: "hoarder-v1",
    summary: "Its state doubles without end.",
    state: z.object({ text: z.string() }),
    action: z.object({ length: z.int() }),
    observation: z.null(),
    options: z.object({}),
    reset: () => ({ state: { text: "" }, observation: null }),
    step: (_ctx, _state, { length }) => ({ state: { text: "x".repeat(length) }, observation: null }),
  });
  await using server = await serverResource({ envs: [env] });
  const wire = await server.wire();
  const session = await begin(wire, "hoarder-v1");
  const error = await wire.fails("env/step", { session, action: { length: 64 * 2 ** 20 } });
  expect(error).toMatchObject(named("ENV_FAULT"));
  expect(error.message).toContain("67108864 are allowed");
  expect(await step(wire, session, { length: 2 ** 20 })).toMatchObject({ index: 1 });
});
