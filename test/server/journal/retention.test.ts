import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { createLog, type Journal } from "trailgym/server";
import type { SessionRecord } from "../../../server/journal/journal.ts";
import { sqliteJournal } from "../../../server/journal/sqlite.ts";
import { openDatabase } from "../../../server/journal/sqlite/open.ts";
import { Retention } from "../../../server/journal/sqlite/retention.ts";
import { Writer } from "../../../server/journal/sqlite/writer.ts";
import { episode, played, reset, sessionRecord, step, transitions } from "../../contracts/journal.ts";
import { folders } from "../../resources/folder.ts";

const folder = folders("retention");
const log = createLog("silent");
const keptReplies = 3;

/** Lets what happened in `folder` be older by so much. */
function age(at: string, ms: number): void {
  const db = new Database(join(at, "journal.sqlite"));
  db.prepare("UPDATE episodes SET ended_at = ended_at - ?").run(ms);
  db.prepare("UPDATE sessions SET ended_at = ended_at - ?").run(ms);
  db.close();
}

async function sweep(at: string, keepEpisodesMs: number, maxBytes = 1e9): Promise<void> {
  using opened = openDatabase(at, { sync: "off", maxBytes: 1e9 });
  const writer = new Writer(opened.db, log, { flushed: () => undefined, failed: () => undefined });
  await using retention = new Retention(opened.db, writer, { keptReplies, keepEpisodesMs, maxBytes, log });
  await retention.run();
}

function rows(at: string, table: string): number {
  const db = new Database(join(at, "journal.sqlite"));
  const count = db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  db.close();
  return count;
}

async function journaled<T>(at: string, work: (journal: Journal) => Promise<T>): Promise<T> {
  await using journal = sqliteJournal(at, { log, keptReplies });
  return await work(journal);
}

const hour = 3_600_000;
const day = 24 * hour;

test("episodes that ended too long ago go with all their rows, others stay", async () => {
  const at = folder();
  await journaled(at, async (journal) => {
    await played(journal, "old", "e", 50);
    await journal.end("old", "closed");
    await played(journal, "runs", "f", 50);
  });
  age(at, 2 * hour);
  await journaled(at, async (journal) => {
    await played(journal, "new", "g", 50);
    await journal.end("new", "closed");
  });
  await sweep(at, hour);
  expect(rows(at, "commits")).toBe(2 * 51);
  await journaled(at, async (journal) => {
    expect(await journal.episode("e")).toBeUndefined();
    // Who asks what became of it is still told.
    expect(await journal.fate("old")).toEqual({ principal: "alice", reason: "closed" });
    for (const id of ["f", "g"]) expect((await transitions(journal, id)).length).toBe(50);
  });
  age(at, 2 * day);
  await sweep(at, hour);
  expect([rows(at, "commits"), rows(at, "episodes"), rows(at, "sessions")]).toEqual([51, 1, 1]);
  expect(await journaled(at, (journal) => journal.fate("old"))).toBeUndefined();
});

test("of a session that goes on, only what no retry can ask for goes", async () => {
  const at = folder();
  const continued = async (journal: Journal, from: SessionRecord, id: string, steps: number) => {
    for (let i = 0; i <= steps; i++) {
      const seq = from.seq + i;
      const value = episode(id, i);
      await journal.append({ ...from, seq: seq + 1, episode: value }, i === 0 ? reset(seq, value) : step(seq, value));
    }
  };
  await journaled(at, async (journal) => {
    await played(journal, "a", "e", 10);
    await continued(journal, sessionRecord("a", 11), "f", 1);
  });
  age(at, 2 * hour);
  // The last reply of `e` is the third from the end: a retry may ask for it.
  await sweep(at, hour);
  await journaled(at, async (journal) => {
    expect((await journal.reply("a", 10))?.seq).toBe(10);
    await journal.load("a");
    await continued(journal, sessionRecord("a", 13), "g", 0);
  });
  age(at, 0);
  await sweep(at, hour);
  await journaled(at, async (journal) => {
    expect(await journal.episode("e")).toBeUndefined();
    expect((await journal.reply("a", 11))?.seq).toBe(11);
    expect((await transitions(journal, "f")).length).toBe(1);
    expect(await journal.load("a")).toEqual(sessionRecord("a", 14, episode("g", 0)));
  });
});

test("the source of a branch stays as long as the branch, and no longer", async () => {
  const at = folder();
  await journaled(at, async (journal) => {
    await played(journal, "a", "e", 3);
    await journal.open(sessionRecord("b", 0, { ...episode("f", 3), parent: { episode: "e", index: 3 } }));
    await journal.end("a", "closed");
  });
  age(at, 2 * hour);
  await sweep(at, hour);
  await journaled(at, async (journal) => {
    expect((await transitions(journal, "e")).length).toBe(3);
    await journal.end("b", "closed");
  });
  age(at, 2 * hour);
  await sweep(at, hour);
  expect([rows(at, "commits"), rows(at, "episodes")]).toEqual([0, 0]);
});

test("an episode that began within another's last step leaves that one alone", async () => {
  const at = folder();
  await journaled(at, async (journal) => {
    await played(journal, "a", "e", 1);
    const ended = { ...episode("e", 2), status: "terminated" as const };
    await journal.append(sessionRecord("a", 3, episode("f", 0)), { ...step(2, ended), ended });
    await journal.append(sessionRecord("a", 4, episode("f", 1)), step(3, episode("f", 1)));
    await journal.open(sessionRecord("b", 0, { ...episode("g", 2), parent: { episode: "e", index: 2 } }));
    await journal.end("a", "closed");
  });
  age(at, 2 * hour);
  await sweep(at, hour);
  await journaled(at, async (journal) => {
    expect(await journal.episode("f")).toBeUndefined();
    expect((await transitions(journal, "e")).map(({ index }) => index)).toEqual([1, 2]);
  });
});

test("beyond the size the oldest go first, until there is room", async () => {
  const at = folder();
  await journaled(at, async (journal) => {
    for (let i = 0; i < 20; i++) {
      await played(journal, `s${i}`, `e${i}`, 200);
      await journal.end(`s${i}`, "closed");
    }
  });
  const bytes = 20 * 200 * 300;
  await sweep(at, day, bytes / 2);
  await journaled(at, async (journal) => {
    const kept = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => (await journal.episode(`e${i}`)) !== undefined),
    );
    const first = kept.indexOf(true);
    expect(first).toBeGreaterThan(5);
    expect(kept.slice(first).every(Boolean)).toBe(true);
  });
});

test("an episode longer than a transaction may be goes in pieces", async () => {
  const at = folder();
  await journaled(at, async (journal) => {
    await played(journal, "a", "e", 2500);
    await journal.end("a", "closed");
  });
  age(at, 2 * hour);
  await sweep(at, hour);
  expect([rows(at, "commits"), rows(at, "episodes")]).toEqual([0, 0]);
});
