/** What was played can be asked for, of either journal. */

import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type ParamsOf, type ResultOf, trajectory } from "trailgym/protocol";
import { memoryJournal, type TokenEntry } from "trailgym/server";
import { durableServer } from "../resources/durable.ts";
import { corridor, dice, echo, quiz } from "../resources/envs.ts";
import { until } from "../resources/events.ts";
import { begin, step, visible } from "../resources/play.ts";
import { type ServerOptions, serverResource, type TestServer } from "../resources/server.ts";
import { named, type Wire } from "../resources/wire.ts";

type Opened = Pick<TestServer, "wire"> & AsyncDisposable;
const journals: [string, (options: ServerOptions) => Promise<Opened>][] = [
  ["memory", serverResource],
  ["sqlite", durableServer],
];

const fetch = (wire: Wire, params: ParamsOf<"trajectory/get">) => wire.call("trajectory/get", params);

/** Every page of it, held to the shape and to each other. */
async function whole(wire: Wire, params: ParamsOf<"trajectory/get">): Promise<ResultOf<"trajectory/get">> {
  const first = await fetch(wire, params);
  const transitions = [...first.transitions];
  for (let { nextCursor } = first; nextCursor !== undefined;) {
    const page = await fetch(wire, { ...params, cursor: nextCursor });
    expect({ ...page, transitions: [], nextCursor: "" }).toEqual({ ...first, transitions: [], nextCursor: "" });
    expect(page.transitions.length).toBeGreaterThan(0);
    transitions.push(...page.transitions);
    nextCursor = page.nextCursor;
  }
  const { nextCursor: _, ...found } = { ...first, transitions };
  trajectory.parse(found);
  expect(transitions.map(({ index }) => index)).toEqual(
    Array.from({ length: found.steps - found.opening.index }, (_, i) => found.opening.index + 1 + i),
  );
  return found;
}

describe.each(journals)("of the %s journal", (_name, serve) => {
  test("an episode is what its replies were, from the opening to the end", async () => {
    await using server = await serve({ envs: [dice] });
    const wire = await server.wire();
    const { session } = await wire.call("env/make", { env: "dice-v1", options: { sides: 8 } });
    const opening = await wire.call("env/reset", { session, seed: 4 });
    const replies: ResultOf<"env/step">[] = [];
    do replies.push(await step(wire, session, { dice: 2 }, { extras: { logProb: -replies.length } }));
    while (replies.at(-1)?.terminated === false);
    const found = await whole(wire, { session });
    expect(found).toMatchObject({
      ...{ episode: opening.episode, session, env: "dice-v1", task: null, seed: 4, options: { sides: 8 } },
      ...{ status: "terminated", ended: true, steps: replies.length, stateDigest: replies.at(-1)?.stateDigest },
      opening: { index: 0, observation: opening.observation, info: opening.info, stateDigest: opening.stateDigest },
      definition: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    expect(found.episodeReturn).toBeCloseTo(replies.reduce((sum, { reward = 0 }) => sum + reward, 0));
    expect(found.transitions).toEqual(
      replies.map((reply, i) => ({ ...reply, action: { dice: 2 }, extras: { logProb: i === 0 ? 0 : -i } })),
    );
    expect(await whole(wire, { episode: opening.episode })).toEqual(found);
    await wire.call("env/close", { session });
    expect(await whole(wire, { session })).toEqual(found);
  });

  test("the episodes of a session lead to each other, whatever autoreset did", async () => {
    await using server = await serve({ envs: [corridor, quiz] });
    const wire = await server.wire();
    for (const autoreset of ["sameStep", "nextStep", "disabled"] as const) {
      for (const digest of ["step", "end"] as const) {
        const session = await begin(wire, "corridor-v1", { autoreset, digest });
        const replies: ResultOf<"env/step">[] = [];
        for (let i = 0; i < 8; i++) {
          if ((await visible(wire, session)).status !== "running" && autoreset === "disabled") {
            await wire.call("env/reset", { session });
          }
          replies.push(await step(wire, session, { stop: i % 2 === 1 }));
        }
        const episodes: ResultOf<"trajectory/get">[] = [];
        for (let at: string | undefined = (await whole(wire, { session })).episode; at !== undefined;) {
          const found: ResultOf<"trajectory/get"> = await whole(wire, { episode: at });
          episodes.unshift(found);
          at = found.previous;
        }
        const played = replies.filter(({ nextEpisode, finalObservation }) => !nextEpisode || finalObservation);
        const kept = episodes.flatMap(({ transitions }) => transitions);
        expect(kept.map(({ reward, terminated }) => [reward, terminated])).toEqual(
          played.map(({ reward, terminated }) => [reward, terminated]),
        );
        expect(kept.map(({ observation }) => observation)).toEqual(
          played.map(({ observation, finalObservation }) => finalObservation ?? observation),
        );
        expect(new Set(episodes.map(({ episode }) => episode)).size).toBe(episodes.length);
        for (const { ended, status, transitions, stateDigest } of episodes.slice(0, -1)) {
          expect([ended, status]).toEqual([true, "terminated"]);
          expect(transitions.at(-1)).toMatchObject({ terminated: true, stateDigest });
        }
      }
    }
  });

  test("a task's tools and split are told", async () => {
    await using server = await serve({ envs: [quiz] });
    const wire = await server.wire();
    const drawn = await begin(wire, "quiz-v1", {}, { split: "test" });
    const named = await begin(wire, "quiz-v1", {}, { task: "train-7" });
    expect(await fetch(wire, { session: drawn })).toMatchObject({ split: "test", task: /^test-/ });
    const found = await fetch(wire, { session: named });
    expect(found).toMatchObject({ task: "train-7", tools: [{ name: "answer_train-7" }], steps: 0, transitions: [] });
    expect(found).not.toHaveProperty("split");
  });

  test("a branch of a branch begins with what each source had played until then", async () => {
    await using server = await serve({ envs: [dice] });
    const wire = await server.wire();
    const root = await begin(wire, "dice-v1", {}, { seed: 21 });
    const first = await step(wire, root, { dice: 1 });
    const [fork] = (await wire.call("env/fork", { session: root, count: 1 })).sessions as [string];
    await step(wire, root, { dice: 3 });
    const second = await step(wire, fork, { dice: 2 });
    const { snapshot } = await wire.call("env/snapshot", { session: fork });
    const [twig] = (await wire.call("env/fork", { snapshot, count: 1 })).sessions as [string];
    expect((await whole(wire, { session: twig })).transitions.length).toBe(2);
    const third = await step(wire, twig, { dice: 1 });
    await wire.call("env/restore", { session: root, snapshot });
    const fourth = await step(wire, root, { dice: 3 });
    const rewards = async (session: string) => (await whole(wire, { session })).transitions.map(({ reward }) => reward);
    expect(await rewards(twig)).toEqual([first, second, third].map(({ reward }) => reward));
    expect(await rewards(root)).toEqual([first, second, fourth].map(({ reward }) => reward));
    expect(await rewards(fork)).toEqual([first, second].map(({ reward }) => reward));
    const [trunk, leaf] = [await whole(wire, { session: fork }), await whole(wire, { session: twig })];
    expect(leaf.parent).toEqual({ episode: trunk.episode, index: 2 });
    expect(leaf.opening).toEqual(trunk.opening);
    expect(leaf.opening.index).toBe(0);
    for (const limit of [1, 2]) expect(await whole(wire, { session: twig, limit })).toEqual(leaf);
    // The one that was given up for the snapshot has what it had.
    const given = await whole(wire, { episode: (await whole(wire, { session: root })).previous });
    expect(given).toMatchObject({ episode: trunk.parent?.episode, steps: 2, ended: true });
    expect(given.transitions.map(({ action }) => action)).toEqual([{ dice: 1 }, { dice: 3 }]);
  });

  test("pages are as long as was asked for, and never longer than a message may be", async () => {
    await using server = await serve({ envs: [echo], config: { maxMessageBytes: 100_000 } });
    const wire = await server.wire();
    const session = await begin(wire, "echo-v1");
    for (let i = 0; i < 40; i++) await step(wire, session, { value: "x".repeat(2000 + i) });
    const full = await whole(wire, { session });
    expect(full.transitions.length).toBe(40);
    const sizes = wire.frames.map((frame) => frame.length);
    expect(Math.max(...sizes)).toBeLessThan(100_000);
    for (const limit of [1, 7, 10_000]) expect(await whole(wire, { session, limit })).toEqual(full);
    for (const limit of [1, 2]) expect((await fetch(wire, { session, limit })).transitions.length).toBe(limit);
    for (const cursor of ["", "nonsense", "-4", "1e99"]) {
      expect((await fetch(wire, { session, cursor })).transitions.length).toBeLessThanOrEqual(40);
    }
  });

  test("what is not there is told apart", async () => {
    await using server = await serve({ envs: [corridor] });
    const wire = await server.wire();
    const { session } = await wire.call("env/make", { env: "corridor-v1" });
    expect(await wire.fails("trajectory/get", { session })).toMatchObject(named("RESET_NEEDED"));
    const unknown = named("UNKNOWN_SESSION", { reason: "unknown" });
    expect(await wire.fails("trajectory/get", { session: "s-none" })).toMatchObject(unknown);
    expect(await wire.fails("trajectory/get", { episode: "ep-none" })).toMatchObject(unknown);
    expect(await wire.fails("trajectory/get", {})).toMatchObject(named("INVALID_PARAMS"));
    await wire.call("env/close", { session });
    expect(await wire.fails("trajectory/get", { session })).toMatchObject(
      named("UNKNOWN_SESSION", { reason: "closed" }),
    );
  });

  test("they and the list of sessions are for trainers and observers of the same principal", async () => {
    const entry = (token: string, principal: string, role: TokenEntry["role"]): TokenEntry => {
      return { sha256: createHash("sha256").update(token).digest("hex"), principal, role };
    };
    const tokens = [
      entry("trains", "alice", "trainer"),
      entry("plays", "alice", "agent"),
      entry("watches", "alice", "observer"),
      entry("bob", "bob", "observer"),
    ];
    await using server = await serve({ envs: [corridor], config: { tokens } });
    const [trainer, agent, observer, bob] = [
      await server.wire({ token: "trains" }),
      await server.wire({ token: "plays" }),
      await server.wire({ token: "watches" }),
      await server.wire({ token: "bob" }),
    ];
    const session = await begin(trainer, "corridor-v1");
    await step(agent, session, { stop: false }, { extras: { logProb: -1 } });
    const { episode, ...rest } = await fetch(observer, { session });
    expect(rest.transitions).toMatchObject([{ extras: { logProb: -1 }, reward: 1 }]);
    expect(await agent.fails("trajectory/get", { session })).toMatchObject(named("FORBIDDEN", { role: "agent" }));
    expect(await bob.fails("trajectory/get", { session })).toMatchObject(named("FORBIDDEN"));
    expect(await bob.fails("trajectory/get", { episode })).toMatchObject(named("FORBIDDEN"));
    for (const [wire, count] of [
      [trainer, 1],
      [agent, 1],
      [observer, 1],
      [bob, 0],
    ] as const) {
      expect((await wire.call("session/list", {})).sessions.length).toBe(count);
    }
  });

  test("sessions are listed in pages, with where they are and who holds them", async () => {
    await using server = await serve({ envs: [corridor] });
    const wire = await server.wire();
    const other = await server.wire();
    const sessions: string[] = [];
    for (let i = 0; i < 5; i++)
      sessions.push(await begin(i === 2 ? other : wire, "corridor-v1", { leaseMs: 1000 * (i + 1) }));
    await step(wire, sessions[3] as string, { stop: true });
    await wire.call("env/close", { session: sessions[4] as string });
    await other.drop();
    await until(async () => (await wire.call("session/list", {})).sessions[2]?.held === false);
    const first = await wire.call("session/list", { limit: 3 });
    const second = await wire.call("session/list", { limit: 3, cursor: first.nextCursor });
    expect(second).not.toHaveProperty("nextCursor");
    const all = [...first.sessions, ...second.sessions];
    expect(all.map(({ session }) => session)).toEqual(sessions.slice(0, 4));
    expect(all.map(({ held }) => held)).toEqual([true, true, false, true]);
    expect(all[3]).toMatchObject({ env: "corridor-v1", status: "terminated", seq: 2, index: 1, leaseMs: 4000 });
    expect(all[3]?.episode).toBe((await fetch(wire, { session: sessions[3] })).episode);
  });
});

test("an episode whose beginning memory has let go of begins where it is kept", async () => {
  const journal = memoryJournal({ maxBytes: 30_000 });
  await using server = await serverResource({ envs: [echo], journal });
  const wire = await server.wire();
  const session = await begin(wire, "echo-v1");
  for (let i = 0; i < 40; i++) await step(wire, session, { value: `${i}${"x".repeat(500)}` });
  const found = await whole(wire, { session });
  expect(found.opening.index).toBeGreaterThan(0);
  expect(found.transitions.length).toBeGreaterThan(2);
  expect(found.opening.observation).toEqual({ value: `${found.opening.index - 1}${"x".repeat(500)}` });
  const [fork] = (await wire.call("env/fork", { session, count: 1 })).sessions as [string];
  expect((await whole(wire, { session: fork })).opening).toEqual(found.opening);
  // Until nothing of its source is left.
  for (let i = 0; i < 40; i++) await step(wire, session, { value: "x".repeat(500) });
  expect(await whole(wire, { session: fork })).toMatchObject({ opening: { index: 40 }, transitions: [], steps: 40 });
});
