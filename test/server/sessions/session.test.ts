import { expect, test } from "vitest";
import { verifies } from "../../e2e/verifies.ts";
import { trouble } from "../../resources/envs.ts";
import { add, begin, step, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named, resultText } from "../../resources/wire.ts";

async function played() {
  const env = trouble();
  const server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  return { env, server, wire, session, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test("the next seq executes, and each reset, step and restore counts one", async () => {
  await using given = await played();
  const { wire, session } = given;
  expect((await visible(wire, session)).seq).toBe(1);
  await step(wire, session, add(), { seq: 1 });
  const { snapshot } = await wire.call("env/snapshot", { session });
  await wire.call("env/restore", { session, seq: 2, snapshot });
  await wire.call("env/reset", { session, seq: 3 });
  expect((await visible(wire, session)).seq).toBe(4);
});

verifies("seq/retry-same-bytes", async () => {
  await using given = await played();
  const { env, server, wire, session } = given;
  const params = { session, seq: 1, action: add(2) };
  const first = await wire.request("env/step", params);
  await step(wire, session, add(), { seq: 2 });
  const elsewhere = await server.wire();
  expect(resultText(await wire.request("env/step", params))).toBe(resultText(first));
  expect(resultText(await elsewhere.request("env/step", params))).toBe(resultText(first));
  expect(env.runs).toBe(2);
  expect(await visible(wire, session)).toMatchObject({ observation: { count: 3 }, seq: 3 });
});

test("a retried reset without a seed gets the seed that was drawn the first time", async () => {
  await using given = await played();
  const { wire, session } = given;
  const first = await wire.request("env/reset", { session, seq: 1 });
  expect(resultText(await wire.request("env/reset", { session, seq: 1 }))).toBe(resultText(first));
});

test("the order of keys and the deadline are not part of what makes a retry", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const first = await wire.request("env/step", { session, seq: 1, action: { do: "add", n: 2 }, timeoutMs: 1000 });
  const again = await wire.request("env/step", { timeoutMs: 9, action: { n: 2, do: "add" }, seq: 1, session });
  expect(resultText(again)).toBe(resultText(first));
  expect(env.runs).toBe(1);
});

verifies("seq/conflict", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  await step(wire, session, add(2), { seq: 1 });
  const before = await visible(wire, session);
  expect(await wire.fails("env/step", { session, seq: 1, action: add(3) })).toMatchObject(
    named("SEQ_CONFLICT", { expected: 2 }),
  );
  expect(await wire.fails("env/reset", { session, seq: 1 })).toMatchObject(named("SEQ_CONFLICT"));
  expect(await visible(wire, session)).toEqual(before);
  expect(env.runs).toBe(1);
});

test("a retry whose reply is no longer kept is SEQ_CONFLICT, never a second execution", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { keptReplies: 2 } });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  for (let seq = 1; seq <= 3; seq++) await step(wire, session, add(seq), { seq });
  expect(await wire.fails("env/step", { session, seq: 1, action: add(1) })).toMatchObject(named("SEQ_CONFLICT"));
  expect(await step(wire, session, add(2), { seq: 2 })).toMatchObject({ index: 2 });
  expect(env.runs).toBe(3);
});

verifies("seq/join-running", async () => {
  await using given = await played();
  const { env, server, wire, session } = given;
  const elsewhere = await server.wire();
  const params = { session, seq: 1, action: { do: "wait" } };
  const first = wire.request("env/step", params);
  await env.entered();
  const joined = elsewhere.request("env/step", { ...params, timeoutMs: 5 });
  const here = wire.request("env/step", params);
  await elsewhere.call("env/observe", { session });
  env.release();
  expect(resultText(await joined)).toBe(resultText(await first));
  expect(resultText(await here)).toBe(resultText(await first));
  expect(env.runs).toBe(1);
});

test("a running seq with another call is SEQ_CONFLICT; a committed one is answered meanwhile", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const committed = await wire.request("env/step", { session, seq: 1, action: add() });
  const running = step(wire, session, { do: "wait" }, { seq: 2 });
  await env.entered();
  expect(await wire.fails("env/step", { session, seq: 2, action: add(5) })).toMatchObject(
    named("SEQ_CONFLICT", { expected: 2 }),
  );
  const retried = await wire.request("env/step", { session, seq: 1, action: add() });
  expect(resultText(retried)).toBe(resultText(committed));
  env.release();
  expect(await running).toMatchObject({ index: 2 });
});

verifies("seq/busy", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const running = step(wire, session, { do: "wait" }, { seq: 1 });
  await env.entered();
  const busy = named("SESSION_BUSY", { expected: 1 });
  expect(await wire.fails("env/step", { session, action: add() })).toMatchObject({ ...busy, retryable: true });
  expect(await wire.fails("env/step", { session, seq: 2, action: add() })).toMatchObject(busy);
  expect(await wire.fails("env/reset", { session })).toMatchObject(busy);
  env.release();
  await running;
  expect(env.runs).toBe(1);
  // Nothing was queued behind the trial.
  expect(await visible(wire, session)).toMatchObject({ seq: 2, observation: { count: 1 } });
});

verifies("seq/gap", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  expect(await wire.fails("env/step", { session, seq: 2, action: add() })).toMatchObject(
    named("SEQ_GAP", { expected: 1 }),
  );
  const running = step(wire, session, { do: "wait" }, { seq: 1 });
  await env.entered();
  expect(await wire.fails("env/step", { session, seq: 3, action: add() })).toMatchObject(named("SEQ_GAP"));
  env.release();
  await running;
  expect(env.runs).toBe(1);
});

test("without seq the server counts, and equal calls are different calls", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  await step(wire, session, add());
  await step(wire, session, add());
  expect(env.runs).toBe(2);
  expect(await visible(wire, session)).toMatchObject({ seq: 3, observation: { count: 2 } });
});

verifies("seq/failure-consumes-nothing", async () => {
  await using given = await played();
  const { wire, session } = given;
  const before = await visible(wire, session);
  for (const action of [{ do: "throw" }, { do: "unheard of" }, { do: "return", outcome: 5 }]) {
    await wire.fails("env/step", { session, seq: 1, action });
    expect(await visible(wire, session)).toEqual(before);
  }
  expect(await step(wire, session, add(), { seq: 1 })).toMatchObject({ index: 1, observation: { count: 1 } });
});

test("a call whose session is closed in the same batch is CANCELLED or finds it closed, and commits nothing", async () => {
  await using given = await played();
  const { wire, session } = given;
  const { snapshot } = await wire.call("env/snapshot", { session });
  const replies = await wire.batch([
    ["env/restore", { session, snapshot }],
    ["env/close", { session }],
    ["env/step", { session, action: add() }],
  ]);
  const [restored, , after] = replies.map(({ error }) => error?.data?.name);
  expect(["CANCELLED", "UNKNOWN_SESSION"]).toContain(restored);
  expect(after).toBe("UNKNOWN_SESSION");
  const other = await begin(wire, "trouble-v1");
  const [stepped, closed] = await wire.batch([
    ["env/step", { session: other, action: add() }],
    ["env/close", { session: other }],
  ]);
  expect(closed?.result).toEqual({ closed: true });
  expect(["CANCELLED", undefined]).toContain(stepped?.error?.data?.name);
});
