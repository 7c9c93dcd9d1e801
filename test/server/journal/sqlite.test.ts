import { describe, expect, test } from "vitest";
import { createLog, type Journal } from "trailgym/server";
import Database from "better-sqlite3";
import { join } from "node:path";
import { readFileSync, statSync } from "node:fs";
import { sqliteJournal, type SqliteJournalOptions } from "../../../server/journal/sqlite.ts";
import {
  episode,
  everyPage,
  journalContract,
  played,
  reset,
  sessionRecord,
  step,
  transitions,
} from "../../contracts/journal.ts";
import { folders } from "../../resources/folder.ts";

const folder = folders("journal");
const log = createLog("silent");
const open = (at: string, options: Partial<SqliteJournalOptions> = {}) => sqliteJournal(at, { log, ...options });

const options = { keptReplies: 3, maxSnapshots: 2 };
for (const sync of ["off", "normal", "full"] as const) {
  journalContract(`sqlite (${sync})`, () => Promise.resolve(open(folder(), { ...options, sync })), options);
}

/** Runs `work` on a journal, and `after` on the one that is opened in the same folder when that is closed. */
async function reopened<T>(
  work: (journal: Journal) => Promise<void>,
  after: (journal: Journal) => Promise<T>,
): Promise<T> {
  const at = folder();
  {
    await using journal = open(at);
    await work(journal);
  }
  await using journal = open(at);
  return await after(journal);
}

describe("what was committed outlives its server", () => {
  test("open sessions with their values, replies, leases and how they go on", async () => {
    await reopened(
      async (journal) => {
        await played(journal, "a", "e", 3);
        await played(journal, "b", "f", 0, "bob");
        await journal.open(sessionRecord("new"));
        await journal.saveLeases([{ session: "b", held: true, usedAt: 123 }]);
      },
      async (journal) => {
        const all = await everyPage((page) => journal.sessions(undefined, page), 2);
        expect(all.map(({ id, seq }) => [id, seq])).toEqual([
          ["a", 4],
          ["b", 1],
          ["new", 0],
        ]);
        expect(all[1]?.lease).toEqual({ session: "b", held: true, usedAt: 123 });
        expect(await journal.load("a")).toEqual(sessionRecord("a", 4, episode("e", 3)));
        expect(await journal.load("new")).toEqual(sessionRecord("new"));
        expect(await journal.reply("a", 2)).toEqual(step(2, episode("e", 2)));
        await journal.append(sessionRecord("a", 5, episode("e", 4)), step(4, episode("e", 4)));
        expect((await transitions(journal, "e")).map(({ index }) => index)).toEqual([1, 2, 3, 4]);
        await journal.append(sessionRecord("new", 1, episode("g", 0)), reset(0, episode("g", 0)));
        expect(await everyPage((page) => journal.episodes(page), 10)).toEqual(["e", "f", "g"]);
      },
    );
  });

  test("what became of the sessions that ended, and what they played", async () => {
    await reopened(
      async (journal) => {
        await played(journal, "a", "e", 2);
        await journal.end("a", "expired");
      },
      async (journal) => {
        expect(await journal.fate("a")).toEqual({ principal: "alice", reason: "expired" });
        expect(await journal.load("a")).toBeUndefined();
        expect(await journal.latestEpisode("a")).toBe("e");
        expect((await transitions(journal, "e")).length).toBe(2);
      },
    );
  });

  test("snapshots, and which of them was used last", async () => {
    const at = folder();
    const taken = (id: string) => {
      const { principal, env, settings } = sessionRecord("a");
      return { id, principal, env, settings, episode: episode("e", 3), label: undefined };
    };
    {
      await using journal = open(at, options);
      await journal.putSnapshot(taken("one"));
      await journal.putSnapshot(taken("two"));
      await journal.snapshot("one");
    }
    await using journal = open(at, options);
    await journal.putSnapshot(taken("three"));
    expect(await journal.snapshot("two")).toBeUndefined();
    expect(await journal.snapshot("one")).toEqual(taken("one"));
    expect(await journal.snapshot("three")).toEqual(taken("three"));
  });
});

test("changes of one turn are one transaction", async () => {
  const at = folder();
  await using journal = open(at);
  const wal = () => statSync(join(at, "journal.sqlite-wal")).size;
  for (let i = 0; i < 50; i++) await journal.open(sessionRecord(`s${i}`));
  const before = wal();
  await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      journal.append(sessionRecord(`s${i}`, 1, episode(`e${i}`, 0)), reset(0, episode(`e${i}`, 0))),
    ),
  );
  const together = wal() - before;
  for (let i = 0; i < 50; i++) {
    await journal.append(sessionRecord(`s${i}`, 2, episode(`e${i}`, 1)), step(1, episode(`e${i}`, 1)));
  }
  // Alone, each rewrites whole pages.
  expect(wal() - before - together).toBeGreaterThan(3 * together);
});

test("a change that cannot be made takes nobody's along", async () => {
  await using journal = open(folder());
  await journal.open(sessionRecord("a"));
  const changes = [
    journal.open(sessionRecord("b")),
    journal.open(sessionRecord("b")),
    journal.open(sessionRecord("c")),
  ];
  const outcomes = await Promise.allSettled(changes);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await journal.load("b")).toEqual(sessionRecord("b"));
  expect(await journal.load("c")).toEqual(sessionRecord("c"));
});

test("the log is brought into the file while commits go on, and begins anew", async () => {
  const at = folder();
  await using journal = open(at);
  const wal = () => statSync(join(at, "journal.sqlite-wal")).size;
  await journal.open(sessionRecord("a"));
  const text = "x".repeat(100_000);
  const value = (seq: number) => ({ ...episode("e", seq), observation: text });
  let [largest, shrank] = [0, 0];
  for (let seq = 0; seq < 1500; seq++) {
    const commit = seq === 0 ? reset(seq, value(seq)) : step(seq, value(seq));
    await journal.append(sessionRecord("a", seq + 1, value(seq)), commit);
    const size = wal();
    if (size < largest) shrank++;
    largest = size < largest ? size : Math.max(largest, size);
  }
  expect(shrank).toBeGreaterThan(0);
  expect(statSync(join(at, "journal.sqlite")).size).toBeGreaterThan(30 * 2 ** 20);
  expect((await journal.load("a"))?.seq).toBe(1500);
  expect((await transitions(journal, "e")).length).toBe(1499);
}, 60_000);

test("what it holds is nobody else's to read", async () => {
  const at = folder();
  await using _journal = open(at);
  expect(statSync(at).mode & 0o077).toBe(0);
});

test("a step costs two rows, and none of them grows with the episode", async () => {
  const at = folder();
  {
    await using journal = open(at);
    await played(journal, "a", "e", 40);
  }
  using db = databaseOf(at);
  const count = (table: string) => db.open.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  expect([count("commits"), count("heads"), count("episodes"), count("sessions")]).toEqual([41, 1, 1, 1]);
  expect(readFileSync(join(at, "journal.sqlite")).length).toBeLessThan(150_000);
});

function databaseOf(at: string) {
  const open = new Database(join(at, "journal.sqlite"));
  return { open, [Symbol.dispose]: () => open.close() };
}
