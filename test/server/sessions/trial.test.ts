import { defineEnv } from "trailgym/env";
import { expect, test } from "vitest";
import { z } from "zod";
import { verifies } from "../../e2e/verifies.ts";
import { trouble } from "../../resources/envs.ts";
import { until } from "../../resources/events.ts";
import { add, begin, step, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named } from "../../resources/wire.ts";

async function played() {
  const env = trouble();
  const server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  return { env, server, wire, session, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

verifies("deadline/stops-the-work", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const before = await visible(wire, session);
  const error = await wire.fails("env/step", { session, seq: 1, action: { do: "wait" }, timeoutMs: 20 });
  expect(error).toMatchObject({ ...named("DEADLINE", { timeoutMs: 20 }), retryable: true });
  expect(env.signals[0]?.aborted).toBe(true);
  expect(env.held).toBe(0);
  expect(await visible(wire, session)).toEqual(before);
  expect(await step(wire, session, add(), { seq: 1 })).toMatchObject({ index: 1, observation: { count: 1 } });
});

verifies("deadline/ignored-signal", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const before = await visible(wire, session);
  const hang = { session, seq: 1, action: { do: "hang" }, timeoutMs: 20 };
  expect(await wire.fails("env/step", hang)).toMatchObject(named("DEADLINE"));
  // The next step works although the late one still hangs, and stays right when that one ends at last.
  expect(await step(wire, session, add(), { seq: 1 })).toMatchObject({ index: 1, observation: { count: 1 } });
  env.release();
  await until(() => env.held === 0);
  expect(await visible(wire, session)).toMatchObject({ seq: 2, index: 1, observation: { count: 1 } });
  expect(await visible(wire, session)).not.toEqual(before);
});

test("a trial that fails after its deadline harms nobody", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const hang = { session, action: { do: "hang" }, timeoutMs: 20 };
  expect(await wire.fails("env/step", hang)).toMatchObject(named("DEADLINE"));
  env.fail();
  await until(() => env.held === 0);
  expect(await step(wire, session, add())).toMatchObject({ index: 1 });
});

test("a synchronous trial that overruns is DEADLINE when it returns, and its value is thrown away", async () => {
  await using given = await played();
  const { wire, session } = given;
  const before = await visible(wire, session);
  const spin = { session, seq: 1, action: { do: "spin", ms: 30 }, timeoutMs: 10 };
  expect(await wire.fails("env/step", spin)).toMatchObject(named("DEADLINE", { timeoutMs: 10 }));
  expect(await visible(wire, session)).toEqual(before);
  expect(await step(wire, session, add(), { seq: 1 })).toMatchObject({ index: 1 });
});

test("the session's own deadline holds where the call names none", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1", { stepTimeoutMs: 15 });
  expect(await wire.fails("env/step", { session, action: { do: "wait" } })).toMatchObject(
    named("DEADLINE", { timeoutMs: 15 }),
  );
});

verifies("cancel/untouched", async () => {
  await using given = await played();
  const { env, wire, session } = given;
  const before = await visible(wire, session);
  for (const action of [{ do: "wait" }, { do: "hang" }]) {
    const id = wire.nextId();
    const reply = wire.request("env/step", { session, seq: 1, action }, id);
    await env.entered();
    wire.notify("$/cancel", { id });
    expect((await reply).error).toMatchObject({ code: 1402, data: { name: "CANCELLED", retryable: true } });
    expect(await visible(wire, session)).toEqual(before);
    env.release();
    await until(() => env.held === 0);
  }
  expect(env.signals[0]?.aborted).toBe(true);
  expect(await step(wire, session, add(), { seq: 1 })).toMatchObject({ index: 1 });
});

test("a trial that one of its two callers cancels goes on for the other, and both get what it committed", async () => {
  await using given = await played();
  const { env, server, wire, session } = given;
  const elsewhere = await server.wire();
  const params = { session, seq: 1, action: { do: "wait" } };
  const id = wire.nextId();
  const first = wire.request("env/step", params, id);
  await env.entered();
  const joined = elsewhere.request("env/step", params);
  await elsewhere.call("env/observe", { session });
  wire.notify("$/cancel", { id });
  await wire.call("env/observe", { session });
  expect(env.signals[0]?.aborted).toBe(false);
  env.release();
  expect((await joined).result).toMatchObject({ index: 1 });
  expect((await first).result).toMatchObject({ index: 1 });
});

test("closing a session ends its trial: the caller gets CANCELLED and the work its signal", async () => {
  await using given = await played();
  const { env, server, wire, session } = given;
  const running = wire.fails("env/step", { session, action: { do: "wait" } });
  await env.entered();
  const elsewhere = await server.wire();
  await elsewhere.call("env/close", { session });
  expect(await running).toMatchObject(named("CANCELLED"));
  expect(env.signals[0]?.aborted).toBe(true);
});

verifies("fault/named", async () => {
  await using given = await played();
  const { wire, session } = given;
  const before = await visible(wire, session);
  const error = await wire.fails("env/step", { session, seq: 1, action: { do: "throw", message: "no such key" } });
  expect(error).toMatchObject({ ...named("ENV_FAULT"), code: 1501, retryable: false });
  expect(error.message).toContain("no such key");
  expect(await wire.fails("env/reset", { session, options: { fail: true } })).toMatchObject(named("ENV_FAULT"));
  expect(await visible(wire, session)).toEqual(before);
});

test("an environment that needs what nobody lends is SANDBOX_UNAVAILABLE and says what", async () => {
  const needy = defineEnv({
    id: "needy-v1",
    summary: "Needs Python.",
    state: z.null(),
    action: z.null(),
    observation: z.null(),
    options: z.object({ undeclared: z.boolean().default(false) }),
    needs: ["interpreter:python"],
    reset(ctx, { undeclared }) {
      ctx.interpreter(undeclared ? "javascript" : "python");
      return { state: null, observation: null };
    },
    step: () => ({ state: null, observation: null }),
  });
  await using server = await serverResource({ envs: [needy] });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "needy-v1" });
  expect(await wire.fails("env/reset", { session })).toMatchObject(
    named("SANDBOX_UNAVAILABLE", { need: "interpreter:python" }),
  );
  // What an environment did not declare it does not get: that is its own fault.
  const undeclared = { session, options: { undeclared: true } };
  expect(await wire.fails("env/reset", undeclared)).toMatchObject(named("ENV_FAULT"));
});
