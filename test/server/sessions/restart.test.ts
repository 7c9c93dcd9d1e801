/** A session whose server went down goes on as if it had not. */

import { createLog, type Journal, memoryJournal } from "trailgym/server";
import { describe, expect, test } from "vitest";
import { sqliteJournal } from "../../../server/journal/sqlite.ts";
import { corridor, countdown, dice, echo, quiz, trouble } from "../../resources/envs.ts";
import { type Down, durableServer } from "../../resources/durable.ts";
import { folders } from "../../resources/folder.ts";
import { gate, manualClock, until } from "../../resources/events.ts";
import { add, begin, step, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named, resultText, type Wire } from "../../resources/wire.ts";

const folder = folders("restart");
const downs: Down[] = ["close", "crash"];

/** The texts of the replies, without the ids that each episode has of its own. */
async function play(wire: Wire, session: string, calls: readonly [string, object][], from: number): Promise<string[]> {
  const texts: string[] = [];
  for (const [i, [method, params]] of calls.entries()) {
    const reply = await wire.request(method, { session, seq: from + i, ...params });
    expect(reply.error).toBeUndefined();
    texts.push(resultText(reply).replaceAll(/"ep-[^"]*"/g, '"ep"'));
  }
  return texts;
}

const bytes = { $type: "bytes", base64: "AQI=" };
const array = { $type: "ndarray", dtype: "float32", shape: [1], base64: "AADAfw==" };
const values = [bytes, array, { b: { $type: "float", value: "-0" }, a: [1] }, { $type: "int64", value: "-9" }];
const games: Record<string, [string, object][]> = {
  "dice-v1": [
    ["env/reset", { seed: 5 }],
    ...[1, 2, 1, 3, 1, 2, 3, 1].map((n): [string, object] => ["env/step", { action: { dice: n } }]),
  ],
  "echo-v1": [
    ["env/reset", { seed: 1 }],
    ...values.map((value): [string, object] => ["env/step", { action: { value } }]),
  ],
  "quiz-v1": [
    ["env/reset", { seed: 3 }],
    ...["1", "2", "3"].map((answer): [string, object] => ["env/step", { action: { answer } }]),
  ],
  "corridor-v1": [
    ["env/reset", { seed: 3 }],
    ...[0, 0, 0, 0, 0].map((): [string, object] => ["env/step", { action: { stop: false } }]),
  ],
};

describe.each(downs)("after a %s", (how) => {
  test.each(Object.keys(games))(
    "%s goes on byte for byte as it would have, wherever it was",
    async (env) => {
      const calls = games[env] as [string, object][];
      for (const settings of [{ autoreset: "sameStep" }, { autoreset: "nextStep", digest: "end" }] as const) {
        await using steady = await serverResource({ envs: [dice, echo, quiz, corridor] });
        const quiet = await steady.wire();
        const { session: undisturbed } = await quiet.call("env/make", { env, ...settings });
        const expected = await play(quiet, undisturbed, calls, 0);
        await using server = await durableServer({ envs: [dice, echo, quiz, corridor] });
        const { session } = await (await server.wire()).call("env/make", { env, ...settings });
        const texts: string[] = [];
        for (const [i, call] of calls.entries()) {
          await server.restart(how);
          texts.push(...(await play(await server.wire(), session, [call], i)));
        }
        expect(texts).toEqual(expected);
        const wire = await server.wire();
        expect(await visible(wire, session)).toEqual(await visible(quiet, undisturbed));
        // And a retry of what was answered before gets the same bytes.
        expect(await play(wire, session, calls, 0)).toEqual(expected);
      }
    },
    60_000,
  );

  test("the whole table of sequence numbers holds", async () => {
    const env = trouble();
    await using server = await durableServer({ envs: [env.env], config: { keptReplies: 4 } });
    const wire = await server.wire();
    const session = await begin(wire, "trouble-v1");
    const first = resultText(await wire.request("env/step", { session, seq: 1, action: add(5) }));
    await server.restart(how);
    const back = await server.wire();
    const ask = (seq: number | undefined, action: object) =>
      back.request("env/step", { session, ...(seq === undefined ? {} : { seq }), action });
    expect(resultText(await ask(1, { n: 5, do: "add" }))).toBe(first);
    expect((await ask(1, add(6))).error?.data).toMatchObject({ name: "SEQ_CONFLICT", expected: 2 });
    expect((await ask(3, add())).error?.data).toMatchObject({ name: "SEQ_GAP", expected: 2 });
    expect(env.runs).toBe(1);
    expect((await ask(2, { do: "throw" })).error?.data).toMatchObject({ name: "ENV_FAULT" });
    const running = ask(2, { do: "wait" });
    await env.entered();
    const joined = ask(2, { do: "wait" });
    expect((await ask(2, add())).error?.data).toMatchObject({ name: "SEQ_CONFLICT" });
    expect((await ask(undefined, add())).error?.data).toMatchObject({ name: "SESSION_BUSY" });
    env.release();
    expect(resultText(await joined)).toBe(resultText(await running));
    expect((await ask(undefined, add())).result).toMatchObject({ index: 3 });
    expect(await visible(back, session)).toMatchObject({ seq: 4, observation: { count: 7 } });
  });

  test("attach gives where it is and the last reply", async () => {
    await using server = await durableServer({ envs: [countdown] });
    const wire = await server.wire();
    const session = await begin(wire, "countdown-v1", { leaseMs: 77_000 });
    const fresh = (await wire.call("env/make", { env: "countdown-v1" })).session;
    const last = await step(wire, session, { amount: 1 });
    const before = await visible(wire, session);
    await server.restart(how);
    const back = await server.wire();
    expect(await back.call("session/attach", { session })).toEqual({ ...before, leaseMs: 77_000, lastReply: last });
    expect(await back.call("session/attach", { session: fresh })).toMatchObject({ status: "new", seq: 0, index: 0 });
    expect(await back.call("env/reset", { session: fresh, seq: 0 })).toMatchObject({ index: 0 });
  });

  test("what became of a session is still told", async () => {
    const clock = manualClock();
    await using server = await durableServer({ envs: [countdown], now: clock.now });
    const wire = await server.wire();
    const [closed, expired] = [await begin(wire, "countdown-v1"), await begin(wire, "countdown-v1", { leaseMs: 1000 })];
    await wire.call("env/close", { session: closed });
    await wire.drop();
    await until(() => server.current.server.sockets === 0);
    clock.advance(2000);
    await until(() => server.current.server.sessions === 0);
    // Journaled behind the ends.
    await (await server.wire()).call("env/make", { env: "countdown-v1" });
    await server.restart(how);
    const back = await server.wire();
    const why = async (session: string) => (await back.fails("env/observe", { session })).data["reason"];
    expect([await why(closed), await why(expired), await why("s-none")]).toEqual(["closed", "expired", "unknown"]);
    expect(await back.call("env/close", { session: closed })).toEqual({ closed: true });
  });

  test("forks, snapshots and restores go on, and trajectories are whole", async () => {
    await using server = await durableServer({ envs: [dice] });
    const wire = await server.wire();
    const session = await begin(wire, "dice-v1", {}, { seed: 11 });
    await step(wire, session, { dice: 1 }, { extras: { logProb: -0.25, ids: [1, 2] } });
    const { snapshot } = await wire.call("env/snapshot", { session });
    const [fork] = (await wire.call("env/fork", { session, count: 1 })).sessions as [string];
    const ahead = await step(wire, session, { dice: 2 });
    await server.restart(how);
    const back = await server.wire();
    expect(await step(back, fork, { dice: 2 }, { seq: 0 })).toEqual(ahead);
    await back.call("env/restore", { session, snapshot, seq: 3 });
    expect(await step(back, session, { dice: 2 }, { seq: 4 })).toEqual(ahead);
    const [mine, theirs] = [
      await back.call("trajectory/get", { session }),
      await back.call("trajectory/get", { session: fork }),
    ];
    expect(mine.transitions).toEqual(theirs.transitions);
    expect(mine.transitions.map(({ index, extras }) => [index, extras])).toEqual([
      [1, { logProb: -0.25, ids: [1, 2] }],
      [2, undefined],
    ]);
    expect(mine.episode).not.toBe(theirs.episode);
    expect(mine.parent).toEqual(theirs.parent);
  });
});

describe("leases", () => {
  test("of sessions that nobody held go on while no server does; whoever held one has its whole lease again", async () => {
    const clock = manualClock();
    const options = { envs: [countdown], now: clock.now, wallNow: () => 1e12 + clock.now() };
    for (const how of downs) {
      await using server = await durableServer(options);
      const wire = await server.wire();
      const held = await begin(wire, "countdown-v1", { leaseMs: 60_000 });
      const other = await server.wire();
      const [long, short] = [
        await begin(other, "countdown-v1", { leaseMs: 60_000 }),
        await begin(other, "countdown-v1", { leaseMs: 30_000 }),
      ];
      await other.drop();
      await until(() => server.current.server.sockets === 1);
      // Until the sweep has journaled who holds what.
      await new Promise((resolve) => setTimeout(resolve, 1200));
      clock.advance(20_000);
      if (how === "close") await server.current.server.close();
      // It is down for a while.
      clock.advance(20_000);
      await server.restart(how);
      await until(() => server.current.server.sessions === 2);
      clock.advance(25_000);
      await until(() => server.current.server.sessions === 1);
      const back = await server.wire();
      for (const session of [short, long]) {
        expect(await back.fails("env/observe", { session })).toMatchObject(
          named("UNKNOWN_SESSION", { reason: "expired" }),
        );
      }
      expect(await visible(back, held)).toMatchObject({ status: "running" });
    }
  }, 30_000);
});

test("sessions of before count for the cap", async () => {
  await using server = await durableServer({ envs: [countdown], config: { maxSessions: 3 } });
  const wire = await server.wire();
  const sessions = [
    await begin(wire, "countdown-v1"),
    await begin(wire, "countdown-v1"),
    await begin(wire, "countdown-v1"),
  ];
  await server.restart("crash");
  const back = await server.wire();
  expect(server.current.server.sessions).toBe(3);
  expect(await back.fails("env/make", { env: "countdown-v1", wait: false })).toMatchObject(named("CAPACITY"));
  await back.call("env/close", { session: sessions[0] as string });
  expect(await back.call("env/make", { env: "countdown-v1" })).toHaveProperty("session");
});

test("a server without a session's environment says so, and one that has it again goes on", async () => {
  await using server = await durableServer({ envs: [countdown, dice] });
  const session = await begin(await server.wire(), "countdown-v1");
  await server.restart("close", { envs: [dice] });
  const without = await server.wire();
  const error = await without.fails("env/step", { session, seq: 1, action: { amount: 1 } });
  expect(error).toMatchObject(named("UNKNOWN_ENV"));
  expect((await without.call("session/list", {})).sessions).toMatchObject([{ session, env: "countdown-v1", seq: 1 }]);
  await server.restart("close", { envs: [countdown] });
  expect(await step(await server.wire(), session, { amount: 1 }, { seq: 1 })).toMatchObject({ index: 1 });
});

test("an idle session leaves memory and comes back, once for all who call it together", async () => {
  const clock = manualClock();
  const sqlite = sqliteJournal(folder(), { log: createLog("silent") });
  let [loads, released] = [0, 0];
  const journal: Journal = {
    ...sqlite,
    load: (session) => (loads++, sqlite.load(session)),
    release: (session) => (released++, sqlite.release(session)),
  };
  await using server = await serverResource({ envs: [dice], config: { idleMs: 5000 }, journal, now: clock.now });
  const wire = await server.wire();
  const session = await begin(wire, "dice-v1", {}, { seed: 8 });
  await step(wire, session, { dice: 1 });
  const before = await visible(wire, session);
  for (let i = 1; i <= 3; i++) {
    clock.advance(6000);
    await until(() => released === i);
    const replies = await wire.batch([
      ["env/observe", { session }],
      ["session/attach", { session }],
      ["env/observe", { session }],
      ["env/step", { session, seq: 1, action: { dice: 1 } }],
      ["env/observe", { session }],
    ]);
    expect(replies.map(({ error }) => error)).toEqual(Array(5).fill(undefined));
    for (const at of [0, 2, 4]) expect(replies[at]?.result).toEqual(before);
    expect(loads).toBe(i);
  }
  clock.advance(6000);
  await until(() => released === 4);
  expect(await step(wire, session, { dice: 1 }, { seq: 2 })).toMatchObject({ index: 2 });
});

test("a session whose call runs or is being journaled does not leave memory", async () => {
  const clock = manualClock();
  const env = trouble();
  const sqlite = sqliteJournal(folder(), { log: createLog("silent") });
  const [entered, open] = [gate(), gate()];
  const journal: Journal = {
    ...sqlite,
    async append(record, commit) {
      if (record.seq === 2) {
        entered.open();
        await open.opened;
      }
      await sqlite.append(record, commit);
    },
  };
  await using server = await serverResource({ envs: [env.env], config: { idleMs: 100 }, journal, now: clock.now });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  const running = step(wire, session, { do: "wait" });
  await env.entered();
  const idle = async () => {
    clock.advance(1000);
    await new Promise((resolve) => setTimeout(resolve, 1100));
  };
  await idle();
  env.release();
  await entered.opened;
  await idle();
  open.open();
  expect(await running).toMatchObject({ index: 1 });
  expect(await step(wire, session, add())).toMatchObject({ index: 2 });
});

describe("a session that is closed while a step of it is being journaled", () => {
  test("has that step, and its caller the reply", async () => {
    const env = trouble();
    await using server = await durableServer({ envs: [env.env] });
    const wire = await server.wire();
    const session = await begin(wire, "trouble-v1");
    const [stepped, closed] = await wire.batch([
      ["env/step", { session, seq: 1, action: add() }],
      ["env/close", { session }],
    ]);
    expect(closed?.result).toEqual({ closed: true });
    const { transitions } = await wire.call("trajectory/get", { session });
    if (stepped?.error === undefined) expect(transitions.length).toBe(1);
    else expect([stepped.error.data?.name, transitions.length]).toEqual(["CANCELLED", 0]);
  });

  test("gives CANCELLED where the journal has closed it first", async () => {
    const env = trouble();
    const memory = memoryJournal();
    const [entered, open] = [gate(), gate()];
    const append: Journal["append"] = async (record, commit) => {
      if (record.seq === 2) {
        entered.open();
        await open.opened;
      }
      await memory.append(record, commit);
    };
    await using server = await serverResource({ envs: [env.env], journal: { ...memory, append } });
    const wire = await server.wire();
    const session = await begin(wire, "trouble-v1");
    const running = wire.fails("env/step", { session, seq: 1, action: add() });
    await entered.opened;
    expect(await wire.call("env/close", { session })).toEqual({ closed: true });
    open.open();
    expect(await running).toMatchObject(named("CANCELLED"));
  });
});

test("a running call of a server that drains is committed, and its reply is there after the restart", async () => {
  const env = trouble();
  await using server = await durableServer({ envs: [env.env], config: { graceMs: 5000 } });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  const running = wire.request("env/step", { session, seq: 1, action: { do: "wait" } });
  await env.entered();
  const closing = server.current.server.close();
  expect(await wire.fails("env/step", { session, seq: 1, action: add() })).toMatchObject(named("SHUTTING_DOWN"));
  env.release();
  const text = resultText(await running);
  await closing;
  await server.restart("close");
  const again = await (await server.wire()).request("env/step", { session, seq: 1, action: { do: "wait" } });
  expect(resultText(again)).toBe(text);
  expect(env.runs).toBe(1);
});
