/** What happens to calls for which there is no room: who waits, in which order, how long, and who is refused. */

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { TokenEntry } from "trailgym/server";
import { verifies } from "../e2e/verifies.ts";
import { countdown, trouble } from "../resources/envs.ts";
import { until } from "../resources/events.ts";
import { begin, step, visible } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { named, type Wire } from "../resources/wire.ts";

const wait = { do: "wait" };

function tokenOf(principal: string, limits: Partial<TokenEntry> = {}): TokenEntry {
  return { sha256: createHash("sha256").update(principal).digest("hex"), principal, role: "trainer", ...limits };
}

/** Places that a call was told. */
function placesOf(wire: Wire): number[] {
  return wire.notifications.flatMap(({ params }) =>
    typeof params["position"] === "number" ? [params["position"]] : [],
  );
}

verifies("admission/turns", async () => {
  const env = trouble();
  const tokens = [tokenOf("many"), tokenOf("few")];
  await using server = await serverResource({ envs: [env.env], config: { tokens, maxTrials: 1 } });
  const [many, few] = [await server.wire({ token: "many" }), await server.wire({ token: "few" })];
  const order: string[] = [];
  const run = async (wire: Wire, name: string, session: string) => {
    await step(wire, session, wait);
    order.push(name);
  };
  const sessions = await Promise.all(Array.from({ length: 5 }, () => begin(many, "trouble-v1")));
  const other = await begin(few, "trouble-v1");
  const runs = sessions.map((session) => run(many, "many", session));
  await until(() => placesOf(many).length >= 4);
  expect(placesOf(many).slice(0, 4)).toEqual([1, 2, 3, 4]);
  runs.push(run(few, "few", other));
  await until(() => placesOf(few).length > 0);
  // Behind the first of the other principal's calls, not behind all of them.
  expect(placesOf(few)[0]).toBe(2);
  for (let done = 0; done < 6; done++) {
    await env.entered();
    expect(env.held).toBe(1);
    env.release();
    await until(() => order.length > done);
  }
  await Promise.all(runs);
  expect(order.indexOf("few")).toBeLessThanOrEqual(2);
});

verifies("admission/deadline-and-cancel", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxTrials: 1 } });
  const wire = await server.wire();
  const [running, late, cancelled, closed] = (await Promise.all(
    Array.from({ length: 4 }, () => begin(wire, "trouble-v1")),
  )) as [string, string, string, string];
  const first = step(wire, running, wait);
  await env.entered();
  const before = env.runs;
  const error = await wire.fails("env/step", { session: late, action: wait, timeoutMs: 30 });
  expect(error).toMatchObject(named("DEADLINE", { timeoutMs: 30 }));
  const id = wire.nextId();
  const reply = wire.request("env/step", { session: cancelled, action: wait }, id);
  wire.notify("$/cancel", { id });
  expect((await reply).error?.data).toMatchObject({ name: "CANCELLED" });
  const closing = wire.fails("env/step", { session: closed, action: wait });
  await wire.call("env/close", { session: closed });
  expect(await closing).toMatchObject(named("CANCELLED"));
  expect(env.runs).toBe(before);
  env.release();
  await first;
  // Their places went to nobody else, and their sessions go on.
  for (const session of [late, cancelled]) {
    expect(await step(wire, session, { do: "add" })).toMatchObject({ index: 1 });
  }
});

test("a step that waited has what is left of its time", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxTrials: 1 } });
  const wire = await server.wire();
  const [running, waiting] = [await begin(wire, "trouble-v1"), await begin(wire, "trouble-v1")];
  const first = step(wire, running, wait);
  await env.entered();
  const started = performance.now();
  const second = wire.fails("env/step", { session: waiting, action: wait, timeoutMs: 400 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  env.release();
  await first;
  await env.entered();
  expect(await second).toMatchObject(named("DEADLINE"));
  expect(performance.now() - started).toBeLessThan(580);
});

verifies("admission/quota", async () => {
  const env = trouble();
  const tokens = [tokenOf("bounded", { maxTrials: 2 }), tokenOf("free")];
  await using server = await serverResource({ envs: [env.env], config: { tokens } });
  const [bounded, free] = [await server.wire({ token: "bounded" }), await server.wire({ token: "free" })];
  const sessions = await Promise.all([1, 2, 3].map(() => begin(bounded, "trouble-v1")));
  const others = await Promise.all([1, 2, 3].map(() => begin(free, "trouble-v1")));
  const runs = sessions.map((session) => step(bounded, session, wait));
  await until(() => placesOf(bounded).length > 0);
  runs.push(...others.map((session) => step(free, session, wait)));
  await env.entered(5);
  expect(env.held).toBe(5);
  env.release();
  await until(() => env.runs === 6);
  await env.entered();
  env.release();
  await Promise.all(runs);
});

test("a queue that is full refuses, and the call consumes nothing", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxTrials: 1, maxQueue: 1 } });
  const wire = await server.wire();
  const sessions = await Promise.all([1, 2, 3].map(() => begin(wire, "trouble-v1").catch(() => "")));
  // With room for one trial and one that waits, resets of three at once may be refused as well.
  const [a, b, c] = await Promise.all(sessions.map(async (session) => session || (await begin(wire, "trouble-v1"))));
  const first = step(wire, a as string, wait);
  await env.entered();
  const second = step(wire, b as string, wait);
  await until(() => placesOf(wire).length > 0);
  const refused = await wire.fails("env/step", { session: c as string, action: { do: "add" }, seq: 1 });
  expect(refused).toMatchObject({ ...named("CAPACITY", { position: 2 }), retryable: true });
  env.release();
  await first;
  await env.entered();
  env.release();
  await second;
  expect(await step(wire, c as string, { do: "add" }, { seq: 1 })).toMatchObject({ index: 1 });
});

verifies("admission/sessions-wait", async () => {
  await using server = await serverResource({ envs: [countdown], config: { maxSessions: 1 } });
  const [holder, next, gone] = [await server.wire(), await server.wire(), await server.wire()];
  const session = await begin(holder, "countdown-v1");
  gone.request("env/make", { env: "countdown-v1" }).catch(() => undefined);
  await until(() => placesOf(gone).length > 0);
  const made = next.call("env/make", { env: "countdown-v1" });
  await until(() => placesOf(next).length > 0);
  expect([placesOf(gone)[0], placesOf(next)[0]]).toEqual([1, 2]);
  // Nobody would hold the session that a dead peer gets.
  await gone.drop();
  await until(() => server.server.sockets === 2);
  await holder.call("env/close", { session });
  expect(await made).toHaveProperty("session");
  expect(server.server.sessions).toBe(1);
});

test("env/make waits no longer than it is let, and not at all when it says so", async () => {
  await using server = await serverResource({ envs: [countdown], config: { maxSessions: 1, queueMs: 50 } });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  const full = named("CAPACITY", { retryAfterMs: 1000 });
  expect(await wire.fails("env/make", { env: "countdown-v1", wait: false })).toMatchObject(full);
  expect(placesOf(wire)).toEqual([]);
  expect(await wire.fails("env/make", { env: "countdown-v1" })).toMatchObject(full);
  expect(placesOf(wire)[0]).toBe(1);
  const id = wire.nextId();
  const cancelled = wire.request("env/make", { env: "countdown-v1" }, id);
  wire.notify("$/cancel", { id });
  expect((await cancelled).error?.data).toMatchObject({ name: "CANCELLED" });
  await wire.call("env/close", { session });
  expect(await wire.call("env/make", { env: "countdown-v1", wait: false })).toHaveProperty("session");
});

test("who has all the sessions that are allowed to it is told at once: nobody else can make room", async () => {
  const tokens = [tokenOf("one", { maxSessions: 1 })];
  await using server = await serverResource({ envs: [countdown], config: { tokens } });
  const wire = await server.wire({ token: "one" });
  await begin(wire, "countdown-v1");
  expect(await wire.fails("env/make", { env: "countdown-v1" })).toMatchObject(named("QUOTA", { limit: 1 }));
});

test("who waits for a session when the server stops is told so", async () => {
  await using server = await serverResource({ envs: [countdown], config: { maxSessions: 1 } });
  const wire = await server.wire();
  await begin(wire, "countdown-v1");
  const waiting = wire.fails("env/make", { env: "countdown-v1" });
  await until(() => placesOf(wire).length > 0);
  await server.server.close();
  expect(await waiting).toMatchObject(named("SHUTTING_DOWN"));
});

verifies("admission/bytes", async () => {
  const env = trouble();
  const tokens = [tokenOf("small", { maxInFlightBytes: 3000 }), tokenOf("large"), tokenOf("other")];
  const config = { tokens, maxInFlightBytes: 20_000 };
  await using server = await serverResource({ envs: [env.env], config });
  const wires = await Promise.all(["small", "large", "other"].map((token) => server.wire({ token })));
  const [small, large, other] = wires as [Wire, Wire, Wire];
  const big = (length: number) => ({ do: "throw", message: "x".repeat(length) });
  const [own, more] = [await begin(small, "trouble-v1"), await begin(small, "trouble-v1")];
  const theirs = await Promise.all([1, 2, 3].map(() => begin(large, "trouble-v1")));

  const first = step(small, own, wait);
  await env.entered();
  const refused = await small.fails("env/step", { session: more, action: big(4000) });
  expect(refused).toMatchObject({ ...named("QUOTA", { limit: 3000, retryAfterMs: 200 }), retryable: true });
  expect(await step(small, more, { do: "add" })).toMatchObject({ index: 1 });

  const long = { session: theirs[0] as string, action: wait, extras: { note: "x".repeat(15_000) } };
  const running = large.call("env/step", long);
  await env.entered(2);
  const batch = await large.batch([
    ["env/step", { session: theirs[1], action: big(5000) }],
    ["env/observe", { session: theirs[2] }],
  ]);
  expect(batch.map(({ error }) => error?.data?.name)).toEqual(["CAPACITY", "CAPACITY"]);
  // Who has nothing under way gets in: no principal can take all the room.
  expect(await begin(other, "trouble-v1")).toBeTruthy();
  env.release();
  await Promise.all([first, running]);
  expect(await large.fails("env/step", { session: theirs[1] as string, action: big(4000) })).toMatchObject(
    named("ENV_FAULT"),
  );
});

test("each call of a batch counts among those of its socket", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxInFlight: 3 } });
  const [wire, other] = [await server.wire(), await server.wire()];
  const sessions = await Promise.all([1, 2, 3, 4].map(() => begin(other, "trouble-v1")));
  const batch = wire.batch(sessions.slice(0, 3).map((session) => ["env/step", { session, action: wait }] as const));
  await env.entered(3);
  const fourth = step(wire, sessions[3] as string, { do: "add" });
  expect(await visible(other, sessions[3] as string)).toMatchObject({ index: 0 });
  env.release();
  await batch;
  expect(await fourth).toMatchObject({ index: 1 });
});
