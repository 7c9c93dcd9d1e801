import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createLog, createRegistry, memoryJournal } from "trailgym/server";
import { Connection } from "../../../server/connection.ts";
import { Metrics } from "../../../server/metrics.ts";
import { Admission } from "../../../server/sessions/admission.ts";
import { SessionTable } from "../../../server/sessions/table.ts";
import { verifies } from "../../e2e/verifies.ts";
import { countdown } from "../../resources/envs.ts";
import { gate, manualClock, until } from "../../resources/events.ts";
import { begin } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named } from "../../resources/wire.ts";

verifies("capacity/named", async () => {
  await using server = await serverResource({ envs: [countdown], config: { maxSessions: 2 } });
  const wire = await server.wire();
  const made = await wire.batch([1, 2, 3, 4].map(() => ["env/make", { env: "countdown-v1", wait: false }] as const));
  expect(made.map(({ error }) => error?.data?.name)).toEqual([undefined, undefined, "CAPACITY", "CAPACITY"]);
  expect(made[3]?.error?.data).toMatchObject({ retryable: true, retryAfterMs: expect.any(Number) as number });
  expect(server.server.sessions).toBe(2);
  const [{ session }] = made.map(({ result }) => result) as [{ session: string }];
  await wire.call("env/close", { session });
  expect(await wire.call("env/make", { env: "countdown-v1" })).toHaveProperty("session");
});

test("a fork that does not fit whole opens nothing", async () => {
  await using server = await serverResource({ envs: [countdown], config: { maxSessions: 4 } });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  expect(await wire.fails("env/fork", { session, count: 4 })).toMatchObject(named("CAPACITY"));
  expect(server.server.sessions).toBe(1);
  expect((await wire.call("env/fork", { session, count: 3 })).sessions.length).toBe(3);
  expect(server.server.sessions).toBe(4);
});

test("a fork that fails half-way leaves no session behind", async () => {
  const memory = memoryJournal();
  let opened = 0;
  const journal = {
    ...memory,
    open: (record: Parameters<typeof memory.open>[0]) =>
      ++opened === 3 ? Promise.reject(new Error("full")) : memory.open(record),
  };
  await using server = await serverResource({ envs: [countdown], journal });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  expect(await wire.fails("env/fork", { session, count: 4 })).toMatchObject(named("INTERNAL_ERROR"));
  expect(server.server.sessions).toBe(1);
});

verifies("close/idempotent", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const wire = await server.wire();
  const other = await server.wire();
  const session = await begin(wire, "countdown-v1");
  expect(await wire.call("env/close", { session })).toEqual({ closed: true });
  expect(await wire.call("env/close", { session })).toEqual({ closed: true });
  expect(await other.call("env/close", { session })).toEqual({ closed: true });
  expect(server.server.sessions).toBe(0);
  const closed = named("UNKNOWN_SESSION", { reason: "closed" });
  expect(await wire.fails("env/step", { session, action: { amount: 1 } })).toMatchObject(closed);
  expect(await wire.fails("env/observe", { session })).toMatchObject(closed);
  expect(await wire.fails("env/close", { session: "s-none" })).toMatchObject(
    named("UNKNOWN_SESSION", { reason: "unknown" }),
  );
});

test("a session whose maker's socket closed while it was being opened is held by nobody", async () => {
  const memory = memoryJournal();
  const [entered, open] = [gate(), gate()];
  const journal = {
    ...memory,
    async open(record: Parameters<typeof memory.open>[0]) {
      entered.open();
      await open.opened;
      await memory.open(record);
    },
  };
  const clock = manualClock();
  await using server = await serverResource({ envs: [countdown], journal, now: clock.now });
  const wire = await server.wire();
  wire.request("env/make", { env: "countdown-v1", leaseMs: 1000 }).catch(() => undefined);
  await entered.opened;
  await wire.drop();
  await until(() => server.server.sockets === 0);
  open.open();
  clock.advance(2000);
  await until(() => server.server.sessions === 0);
});

test("a socket keeps nothing of the sessions that it saw end", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  await using journal = memoryJournal();
  const lent = {
    interpreter: () => {
      throw new Error("none");
    },
    log: createLog("silent"),
  };
  const registry = await createRegistry([countdown]);
  const room = () => new Admission({ size: 10, maxQueue: 10 });
  const limits = { admission: room(), trials: room(), queueMs: 1000, maxMessageBytes: 1000 };
  const table = new SessionTable({ registry, journal, lent, metrics: new Metrics(), ...limits, now: () => 0 });
  const connection = new Connection(() => undefined);
  const settings = { options: {}, leaseMs: 1000, stepTimeoutMs: 1000, autoreset: "disabled", digest: "step" } as const;
  const hold = async () => {
    const session = await table.create({ name: "alice" }, "countdown-v1", settings);
    connection.hold(session);
    await table.end(session, "closed");
    return new WeakRef(session);
  };
  const gone = await hold();
  await until(() => {
    gc();
    return gone.deref() === undefined;
  });
  connection.release(0);
});
