/** What clients see of a journal that cannot write. */

import { expect, test } from "vitest";
import { WireError } from "trailgym/protocol";
import { memoryJournal } from "trailgym/server";
import { verifies } from "../../e2e/verifies.ts";
import { type DurableServer, durableServer } from "../../resources/durable.ts";
import { countdown, echo } from "../../resources/envs.ts";
import { until } from "../../resources/events.ts";
import { begin, step, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named, type Wire } from "../../resources/wire.ts";

const capacity = { ...named("CAPACITY", { retryAfterMs: expect.any(Number) as number }), retryable: true };

/** Steps with large values until one is refused. @returns how many were committed */
async function fill(wire: Wire, session: string, seq: number): Promise<number> {
  for (let committed = 0; ; committed++) {
    const action = { value: "x".repeat(50_000) };
    const { error } = await wire.request("env/step", { session, seq: seq + committed, action });
    if (error === undefined) continue;
    expect(WireError.fromObject(error)).toMatchObject(capacity);
    return committed;
  }
}

async function ready(server: DurableServer): Promise<[number, string]> {
  const response = await fetch(`${server.current.http}/readyz`);
  return [response.status, await response.text()];
}

test("a full journal refuses steps by name, loses none, and the same seq works when there is room", async () => {
  await using server = await durableServer({ envs: [echo], config: { maxJournalBytes: 1_500_000 } });
  const wire = await server.wire();
  const session = await begin(wire, "echo-v1");
  const committed = await fill(wire, session, 1);
  expect(committed).toBeGreaterThan(3);
  const before = await visible(wire, session);
  expect(before.seq).toBe(committed + 1);
  const large = { value: "x".repeat(50_000) };
  expect(await wire.fails("env/step", { session, seq: committed + 1, action: large })).toMatchObject(capacity);
  expect(await visible(wire, session)).toEqual(before);
  expect((await wire.call("trajectory/get", { session, limit: 10_000 })).steps).toBe(committed);
  await server.restart("close", { config: { maxJournalBytes: 3_000_000 } });
  const back = await server.wire();
  expect(await visible(back, session)).toEqual(before);
  expect(await step(back, session, large, { seq: committed + 1 })).toMatchObject({ index: committed + 1 });
});

verifies("ready/journal", async () => {
  await using server = await durableServer({ envs: [echo], config: { maxJournalBytes: 1_000_000 } });
  const wire = await server.wire();
  const session = await begin(wire, "echo-v1");
  expect(await ready(server)).toEqual([200, "ok\n"]);
  await fill(wire, session, 1);
  expect(await ready(server)).toEqual([503, "the journal takes no commits\n"]);
  // Its end needs no room.
  await wire.call("env/close", { session });
  await until(async () => (await ready(server))[0] === 200);
});

test("a session is closed for its client also where the journal cannot be told, which is told later", async () => {
  const memory = memoryJournal();
  let full = true;
  const told: string[] = [];
  const journal = {
    ...memory,
    end: (session: string, reason: "closed" | "expired") => {
      told.push(session);
      if (full) return Promise.reject(WireError.of("CAPACITY", "no room is left", { retryAfterMs: 1 }));
      return memory.end(session, reason);
    },
  };
  await using server = await serverResource({ envs: [countdown], journal });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  expect(await wire.call("env/close", { session })).toEqual({ closed: true });
  expect(await wire.call("env/close", { session })).toEqual({ closed: true });
  expect(await wire.fails("env/observe", { session })).toMatchObject(named("UNKNOWN_SESSION", { reason: "closed" }));
  expect(await memory.load(session)).toBeDefined();
  full = false;
  await until(async () => (await memory.load(session)) === undefined);
  expect(new Set(told)).toEqual(new Set([session]));
});

test("leases that cannot be journaled do no harm, and are tried again", async () => {
  const memory = memoryJournal();
  let attempts = 0;
  const journal = {
    ...memory,
    saveLeases: (leases: Parameters<typeof memory.saveLeases>[0]) =>
      ++attempts < 3 ? Promise.reject(new Error("no room is left")) : memory.saveLeases(leases),
  };
  await using server = await serverResource({ envs: [countdown], journal });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  await until(() => attempts === 3);
  expect(await step(wire, session, { amount: 1 })).toMatchObject({ index: 1 });
  expect((await memory.sessions(undefined, { limit: 1 })).items[0]?.lease.held).toBe(true);
});
