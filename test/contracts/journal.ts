/** What every journal must hold to. Call it from the journal's own test file. */

import { describe, expect, test } from "vitest";
import { canonical, NdArray, WireError } from "trailgym/protocol";
import type {
  Commit,
  Episode,
  Journal,
  Page,
  PageOptions,
  SessionRecord,
  Snapshot,
} from "../../server/journal/journal.ts";
import { digestOf } from "../../server/sessions/digest.ts";

export interface JournalOptions {
  /** How many replies of a session it keeps; at least 3. */
  keptReplies: number;
  /** How many snapshots it keeps; at least 2. */
  maxSnapshots: number;
}

export function journalContract(name: string, make: () => Promise<Journal>, options: JournalOptions): void {
  const { keptReplies, maxSnapshots } = options;

  describe(`the ${name} journal: sessions`, () => {
    test("one that was opened is loaded as it was, and an unknown one is undefined", async () => {
      await using journal = await make();
      const record = sessionRecord("a");
      await journal.open(record);
      expect(await journal.load("a")).toEqual(record);
      expect(await journal.load("b")).toBeUndefined();
      expect(await journal.reply("a", 0)).toBeUndefined();
      expect(await journal.reply("b", 0)).toBeUndefined();
    });

    test("one that begins with a value is loaded with it", async () => {
      await using journal = await make();
      const record = sessionRecord("a", 0, { ...episode("e", 3), parent: { episode: "d", index: 3 } });
      await journal.open(record);
      journal.release("a");
      expect(await journal.load("a")).toEqual(record);
    });

    test("an append puts the reply and the record in place together", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      const after = sessionRecord("a", 1, episode("e", 0));
      const commit = reset(0, episode("e", 0));
      await journal.append(after, commit);
      expect(await journal.load("a")).toEqual(after);
      expect(await journal.reply("a", 0)).toEqual(commit);
    });

    test("values come back as they were: bytes, arrays, big integers, floats, keys of every name in their order", async () => {
      await using journal = await make();
      const state = {
        z: Uint8Array.of(0, 255),
        array: new NdArray("float32", [2, 1], Float32Array.of(0.5, NaN)),
        big: 2n ** 62n,
        floats: [NaN, -0, Infinity, 1e-320],
        $type: "x",
        lone: "\ud800\u0000é",
        nested: [{ ["constructor"]: null, ["__proto__"]: 1, b: 1, a: 2 }],
      };
      const value = { ...episode("e", 0), state, stateDigest: digestOf(canonical(state)), options: { n: 2n } };
      await journal.open(sessionRecord("a"));
      await journal.append(sessionRecord("a", 1, value), reset(0, value));
      journal.release("a");
      const loaded = await journal.load("a");
      expect(loaded).toEqual(sessionRecord("a", 1, value));
      const back = loaded?.episode?.state as typeof state;
      expect(Object.keys(back)).toEqual(Object.keys(state));
      expect(Object.keys(back.nested[0] as object)).toEqual(Object.keys(state.nested[0] as object));
    });

    test("one that was released goes on from where it was", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 3);
      journal.release("a");
      expect((await journal.load("a"))?.episode).toEqual(episode("e", 3));
      await journal.append(sessionRecord("a", 5, episode("e", 4)), step(4, episode("e", 4)));
      expect((await journal.load("a"))?.seq).toBe(5);
      expect((await journal.reply("a", 3))?.seq).toBe(3);
      expect((await transitions(journal, "e")).map(({ index }) => index)).toEqual([1, 2, 3, 4]);
    });

    test("a reply is found by its seq as long as it is kept, byte for byte", async () => {
      await using journal = await make();
      const count = keptReplies + 2;
      await played(journal, "a", "e", count - 1);
      for (let seq = count - keptReplies; seq < count; seq++) {
        expect(await journal.reply("a", seq)).toEqual(
          seq === 0 ? reset(0, episode("e", 0)) : step(seq, episode("e", seq)),
        );
      }
      expect(await journal.reply("a", count)).toBeUndefined();
      expect(await journal.reply("a", -1)).toBeUndefined();
      expect(await journal.reply("a", count - keptReplies - 1)).toBeUndefined();
      expect((await journal.load("a"))?.seq).toBe(count);
    });

    test("they are apart", async () => {
      await using journal = await make();
      await Promise.all([played(journal, "a", "e", 2), played(journal, "b", "f", 1, "bob")]);
      expect((await journal.load("a"))?.episode).toEqual(episode("e", 2));
      expect((await journal.reply("b", 1))?.result).toBe(step(1, episode("f", 1)).result);
      await journal.end("a", "closed");
      expect((await journal.load("b"))?.episode).toEqual(episode("f", 1));
      expect(await journal.fate("b")).toBeUndefined();
      expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([1]);
    });

    test("one that has ended is told from one that never was, with its reason; ending it again changes nothing", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 1);
      for (const reason of ["expired", "closed"] as const) {
        await journal.end("a", reason);
        expect(await journal.load("a")).toBeUndefined();
        expect(await journal.reply("a", 0)).toBeUndefined();
        expect(await journal.fate("a")).toEqual({ principal: "alice", reason: "expired" });
      }
      expect(await journal.fate("b")).toBeUndefined();
      await journal.end("never opened", "closed");
      expect(await journal.fate("never opened")).toBeUndefined();
    });

    test("an append to one that is not open is refused and has changed nothing", async () => {
      await using journal = await make();
      const append = () => journal.append(sessionRecord("a", 1, episode("e", 0)), reset(0, episode("e", 0)));
      await expect(append()).rejects.toThrow();
      expect(await journal.load("a")).toBeUndefined();
      await journal.open(sessionRecord("a"));
      expect(await journal.reply("a", 0)).toBeUndefined();
      await journal.end("a", "closed");
      await expect(append()).rejects.toThrow();
      expect(await journal.load("a")).toBeUndefined();
      expect(await journal.episode("e")).toBeUndefined();
    });

    test("changes that were asked for together take effect in their order", async () => {
      await using journal = await make();
      const opening = journal.open(sessionRecord("a"));
      await opening;
      const value = episode("e", 0);
      await Promise.all([journal.append(sessionRecord("a", 1, value), reset(0, value)), journal.end("a", "closed")]);
      expect(await journal.load("a")).toBeUndefined();
      expect(await journal.episode("e")).toMatchObject({ last: { index: 0 }, session: "a" });
    });

    test("those that are open are listed in pages, one's own or all, with their leases", async () => {
      await using journal = await make();
      for (const id of ["a", "b", "c", "d"])
        await journal.open(sessionRecord(id, 0, undefined, id === "b" ? "bob" : "alice"));
      await played(journal, "e", "x", 2);
      await journal.end("c", "closed");
      await journal.saveLeases([
        { session: "a", held: true, usedAt: 17 },
        { session: "c", held: true, usedAt: 17 },
        { session: "none", held: true, usedAt: 17 },
      ]);
      const all = await everyPage((page) => journal.sessions(undefined, page), 2);
      expect(all.map(({ id }) => id)).toEqual(["a", "b", "d", "e"]);
      expect(all[0]).toMatchObject({ status: "new", seq: 0, index: 0, episode: null, settings });
      expect(all[0]?.lease).toEqual({ session: "a", held: true, usedAt: 17 });
      expect(all[1]?.lease).toMatchObject({ session: "b", held: false });
      expect(all[3]).toMatchObject({
        status: "running",
        seq: 3,
        index: 2,
        episode: "x",
        env: "env-v1",
        principal: "alice",
      });
      const own = await everyPage((page) => journal.sessions("alice", page), 1);
      expect(own.map(({ id }) => id)).toEqual(["a", "d", "e"]);
      expect(Math.abs((own[0]?.openedAt ?? 0) - Date.now())).toBeLessThan(60_000);
    });
  });

  describe(`the ${name} journal: snapshots`, () => {
    test("one outlives its session, and an unknown one is undefined", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      await journal.putSnapshot(snapshot("s", "label"));
      await journal.putSnapshot(snapshot("t", undefined));
      await journal.end("a", "closed");
      expect(await journal.snapshot("s")).toEqual(snapshot("s", "label"));
      expect(await journal.snapshot("t")).toEqual(snapshot("t", undefined));
      expect(await journal.snapshot("u")).toBeUndefined();
    });

    test("beyond the cap the one longest unused is forgotten", async () => {
      await using journal = await make();
      for (let i = 0; i < maxSnapshots; i++) await journal.putSnapshot(snapshot(`s${i}`, undefined));
      await journal.snapshot("s0");
      await journal.putSnapshot(snapshot("new", undefined));
      expect(await journal.snapshot("s1")).toBeUndefined();
      expect(await journal.snapshot("s0")).toBeDefined();
      await journal.putSnapshot(snapshot("newer", undefined));
      expect(await journal.snapshot("s0")).toBeDefined();
      expect(await journal.snapshot("newer")).toBeDefined();
    });
  });

  describe(`the ${name} journal: episodes`, () => {
    test("one is kept from its opening to its last transition, with what the client said", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      const value = { ...episode("e", 0), definition: "d".repeat(32) };
      await journal.append(sessionRecord("a", 1, value), reset(0, value));
      const next = { ...episode("e", 1), definition: value.definition };
      await journal.append(sessionRecord("a", 2, next), { ...step(1, next), extras: { logProb: -0.5 } });
      const { openedAt, ...record } = (await journal.episode("e")) ?? { openedAt: 0 };
      expect(Math.abs(openedAt - Date.now())).toBeLessThan(60_000);
      const { seed, task, split, options, tools, observation, info } = value;
      expect(record).toEqual({
        ...{ id: "e", session: "a", principal: "alice", env: "env-v1", definition: value.definition },
        ...{ seed, task, split, options, tools, previous: undefined, endedAt: undefined },
        opening: { index: 0, observation, info, stateDigest: value.stateDigest },
        last: { index: 1, status: "running", stateDigest: next.stateDigest, episodeReturn: next.episodeReturn },
      });
      expect(await transitions(journal, "e")).toEqual([
        {
          ...{ index: 1, action: 1, observation: next.observation, reward: 0.5, terminated: false, truncated: false },
          ...{ info: next.info, stateDigest: next.stateDigest, extras: { logProb: -0.5 } },
        },
      ]);
    });

    test("one that was given up for another has ended as it was; the session's latest is the other", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 2);
      expect(await journal.latestEpisode("a")).toBe("e");
      await journal.append(sessionRecord("a", 4, episode("f", 0)), reset(3, episode("f", 0)));
      await journal.append(sessionRecord("a", 5, episode("f", 1)), step(4, episode("f", 1)));
      expect(await journal.episode("e")).toMatchObject({
        last: { index: 2, status: "running", stateDigest: episode("e", 2).stateDigest, episodeReturn: 1 },
        endedAt: expect.any(Number) as number,
      });
      expect(await journal.episode("f")).toMatchObject({ previous: "e", endedAt: undefined });
      expect(await journal.latestEpisode("a")).toBe("f");
      expect((await transitions(journal, "e")).map(({ index }) => index)).toEqual([1, 2]);
      expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([1]);
      await journal.end("a", "closed");
      expect((await journal.episode("f"))?.endedAt).toBeDefined();
      expect((await journal.episode("f"))?.last).toMatchObject({ index: 1, status: "running" });
      expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([1]);
      expect(await journal.latestEpisode("a")).toBe("f");
      expect(await journal.latestEpisode("b")).toBeUndefined();
    });

    test("one that ended stays ended, and the step behind its end is no transition", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 1);
      const last = { ...episode("e", 2), status: "terminated" as const };
      await journal.append(sessionRecord("a", 3, last), step(2, last));
      const ended = await journal.episode("e");
      expect(ended).toMatchObject({ endedAt: expect.any(Number) as number, last: { index: 2, status: "terminated" } });
      const next = episode("f", 0);
      await journal.append(sessionRecord("a", 4, next), autoreset(3, next));
      await journal.append(sessionRecord("a", 5, episode("f", 1)), step(4, episode("f", 1)));
      expect(await journal.episode("e")).toEqual(ended);
      expect((await transitions(journal, "e")).map(({ terminated }) => terminated)).toEqual([false, true]);
      expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([1]);
    });

    test("one that ended within a call has that call's last values, and the next one began there", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 1);
      const ended = { ...episode("e", 2), status: "truncated" as const };
      const next = episode("f", 0);
      await journal.append(sessionRecord("a", 3, next), { ...sameStep(2, ended, next), ended });
      await journal.append(sessionRecord("a", 4, episode("f", 1)), step(3, episode("f", 1)));
      journal.release("a");
      expect((await journal.load("a"))?.episode).toEqual(episode("f", 1));
      expect(await journal.episode("e")).toMatchObject({
        last: { index: 2, status: "truncated", stateDigest: ended.stateDigest, episodeReturn: 1 },
      });
      expect((await transitions(journal, "e")).at(-1)).toEqual({
        ...{ index: 2, action: 2, observation: ended.observation, reward: 0.5, terminated: false, truncated: true },
        ...{ info: ended.info, stateDigest: ended.stateDigest },
      });
      expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([1]);
      expect((await journal.episode("f"))?.opening).toMatchObject({ index: 0, stateDigest: next.stateDigest });
      expect((await journal.reply("a", 2))?.result).toBe(sameStep(2, ended, next).result);
    });

    test("a branch has its own transitions only, and names its source", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 2);
      const fork = { ...episode("f", 2), parent: { episode: "e", index: 2 } };
      await journal.open(sessionRecord("b", 0, fork));
      expect(await transitions(journal, "f")).toEqual([]);
      const after = { ...fork, ...pick(episode("f", 3)) };
      await journal.append(sessionRecord("b", 1, after), step(0, after));
      expect(await journal.episode("f")).toMatchObject({
        parent: { episode: "e", index: 2 },
        previous: undefined,
        opening: { index: 2, stateDigest: fork.stateDigest },
        last: { index: 3 },
      });
      expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([3]);
      const restored = { ...episode("g", 1), parent: { episode: "e", index: 1 } };
      await journal.append(sessionRecord("a", 4, restored), restore(3, restored));
      expect(await journal.episode("g")).toMatchObject({ previous: "e", opening: { index: 1 }, last: { index: 1 } });
      expect(await transitions(journal, "g")).toEqual([]);
    });

    test("transitions come in the range and the number that are asked for, and by their size", async () => {
      await using journal = await make();
      await played(journal, "a", "e", 9);
      const indices = async (from: number, to: number, limit = 100, maxBytes = 1e6) =>
        (await journal.transitions("e", { from, to, limit, maxBytes })).map(({ index }) => index);
      expect(await indices(1, 9)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(await indices(0, 3)).toEqual([1, 2, 3]);
      expect(await indices(4, 6)).toEqual([4, 5, 6]);
      expect(await indices(4, 100, 2)).toEqual([4, 5]);
      expect(await indices(9, 9)).toEqual([9]);
      expect(await indices(10, 20)).toEqual([]);
      expect(await indices(5, 9, 100, 1)).toEqual([5]);
      const size = step(5, episode("e", 5)).call.length + step(5, episode("e", 5)).result.length;
      expect(await indices(5, 9, 100, 3 * size)).toEqual([5, 6, 7]);
      expect(await journal.transitions("none", { from: 0, to: 9, limit: 9, maxBytes: 9 })).toEqual([]);
    });

    test("they are listed in pages in the order in which they began", async () => {
      await using journal = await make();
      for (const id of ["a", "b", "c"]) await played(journal, id, `e${id}`, 1);
      expect(await everyPage((page) => journal.episodes(page), 2)).toEqual(["ea", "eb", "ec"]);
      expect(await journal.episode("none")).toBeUndefined();
    });
  });

  test(`the ${name} journal: disposing it twice is disposing it once`, async () => {
    const journal = await make();
    await journal.open(sessionRecord("a"));
    await journal[Symbol.asyncDispose]();
    await journal[Symbol.asyncDispose]();
  });
}

/** Whatever a journal cannot write now is CAPACITY, and has changed nothing. */
export async function expectRefused(change: Promise<unknown>): Promise<void> {
  const error = await change.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WireError);
  expect(error).toMatchObject({
    name: "CAPACITY",
    retryable: true,
    data: { retryAfterMs: expect.any(Number) as number },
  });
}

export const settings = {
  options: { start: 3 },
  leaseMs: 1000,
  stepTimeoutMs: 50,
  autoreset: "sameStep",
  digest: "end",
} as const;

export function sessionRecord(id: string, seq = 0, episode?: Episode, principal = "alice"): SessionRecord {
  return { id, principal, env: "env-v1", settings, seq, episode };
}

/** The value of episode `id` after `index` steps, each with the reward 0.5. */
export function episode(id: string, index: number): Episode {
  const state = { id, at: index };
  return {
    id,
    seed: 2 ** 47 - 1,
    task: null,
    split: undefined,
    options: {},
    index,
    status: "running",
    state,
    stateDigest: digestOf(canonical(state)),
    observation: { id, at: index, text: "é" },
    info: { note: index },
    tools: undefined,
    episodeReturn: index / 2,
  };
}

function pick({ index, state, stateDigest, observation, info, episodeReturn }: Episode) {
  return { index, state, stateDigest, observation, info, episodeReturn };
}

export function reset(seq: number, { id, seed, observation, info, stateDigest }: Episode): Commit {
  const result = { observation, info, episode: id, task: null, seed, index: 0, stateDigest };
  return { seq, call: '["env/reset",{"seed":1}]', result: JSON.stringify(result) };
}

export function step(seq: number, value: Episode): Commit {
  const { observation, info, index, stateDigest, status } = value;
  const flags = { terminated: status === "terminated", truncated: status === "truncated" };
  const result = { observation, reward: 0.5, ...flags, info, index, stateDigest };
  // White space that no encoder would write again.
  return { seq, call: `["env/step",{"action":${index}}]`, result: JSON.stringify(result, undefined, 1) };
}

function autoreset(seq: number, next: Episode): Commit {
  const { observation, info, index, stateDigest } = next;
  const result = { observation, reward: 0, terminated: false, truncated: false, info, index, stateDigest };
  const nextEpisode = { episode: next.id, task: null, seed: 1 };
  return { seq, call: '["env/step",{"action":0}]', result: JSON.stringify({ ...result, nextEpisode }) };
}

function sameStep(seq: number, ended: Episode, next: Episode): Commit {
  const { call, result } = step(seq, ended);
  const { observation, info, stateDigest } = next;
  const last = { finalObservation: ended.observation, finalInfo: ended.info };
  const nextEpisode = { episode: next.id, task: null, seed: 1 };
  const whole = { ...(JSON.parse(result) as object), observation, info, stateDigest, ...last, nextEpisode };
  return { seq, call, result: JSON.stringify(whole) };
}

function restore(seq: number, { observation, info, index, stateDigest, status, episodeReturn }: Episode): Commit {
  const result = { status, observation, info, index, seq: seq + 1, episodeReturn, stateDigest };
  return { seq, call: '["env/restore",{"snapshot":"s"}]', result: JSON.stringify(result) };
}

/** Opens a session and plays an episode in it: a reset and `steps` steps. */
export async function played(
  journal: Journal,
  session: string,
  id: string,
  steps: number,
  principal = "alice",
): Promise<void> {
  await journal.open(sessionRecord(session, 0, undefined, principal));
  for (let seq = 0; seq <= steps; seq++) {
    const value = episode(id, seq);
    const commit = seq === 0 ? reset(seq, value) : step(seq, value);
    await journal.append(sessionRecord(session, seq + 1, value, principal), commit);
  }
}

export function transitions(journal: Journal, id: string) {
  return journal.transitions(id, { from: 0, to: 1e6, limit: 1e6, maxBytes: 1e9 });
}

function snapshot(id: string, label: string | undefined): Snapshot {
  return { id, principal: "alice", env: "env-v1", settings, episode: episode("e", 3), label };
}

export async function everyPage<T>(fetch: (page: PageOptions) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const items: T[] = [];
  for (let page = await fetch({ limit }); ; page = await fetch({ after: page.next, limit })) {
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    if (page.next === undefined) return items;
  }
}
