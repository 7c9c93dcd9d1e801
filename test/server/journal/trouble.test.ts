/** What can be wrong with a data folder or its disk, and that nothing that was committed is lost over it. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { createLog, type Journal, JournalError, type JournalProblem } from "trailgym/server";
import { sqliteJournal, type SqliteJournalOptions } from "../../../server/journal/sqlite.ts";
import { migrate, migrations } from "../../../server/journal/sqlite/schema.ts";
import { episode, expectRefused, played, sessionRecord, step, transitions } from "../../contracts/journal.ts";
import { until } from "../../resources/events.ts";
import { folders } from "../../resources/folder.ts";

const folder = folders("trouble");
const log = createLog("silent");
const open = (at: string, options: Partial<SqliteJournalOptions> = {}) => sqliteJournal(at, { log, ...options });
const file = (at: string) => join(at, "journal.sqlite");

function refusal(at: string): JournalError {
  try {
    void open(at)[Symbol.asyncDispose]();
  } catch (error) {
    expect(error).toBeInstanceOf(JournalError);
    return error as JournalError;
  }
  throw new Error("it was opened");
}

function expectProblem(at: string, problem: JournalProblem, message: RegExp): void {
  const error = refusal(at);
  expect(error.problem).toBe(problem);
  expect(error.message).toMatch(message);
  // What says why keeps nothing: the next one is told the same.
  expect(refusal(at).problem).toBe(problem);
}

/** A folder with two sessions of 20 steps each. */
async function filled(): Promise<string> {
  const at = folder();
  await using journal = open(at);
  await played(journal, "a", "e", 20);
  await played(journal, "b", "f", 20);
  return at;
}

describe("a folder", () => {
  test("that another journal uses is refused, and free when that one is closed", async () => {
    const at = await filled();
    {
      await using _first = open(at);
      expectProblem(at, "locked", new RegExp(`is in use by process ${process.pid}: stop that one`));
    }
    await using second = open(at);
    expect(await second.load("a")).toBeDefined();
  });

  test("that another process uses is refused, and free the moment that one is killed", async () => {
    const at = await filled();
    const script = `import { sqliteJournal } from "${import.meta.resolve("../../../server/journal/sqlite.ts")}";
      sqliteJournal(${JSON.stringify(at)}, {}); console.log("open"); setInterval(() => {}, 1000);`;
    const other = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(other.stdout, "data");
    expectProblem(at, "locked", new RegExp(`in use by process ${other.pid}:`));
    other.kill("SIGKILL");
    await once(other, "exit");
    await using journal = open(at);
    expect((await journal.load("a"))?.seq).toBe(21);
  });

  test("of a newer version is refused, and left as it was", async () => {
    const at = await filled();
    using(at, (db) => db.pragma(`user_version = ${migrations.length + 1}`));
    const before = readFileSync(file(at));
    expectProblem(
      at,
      "newer",
      /written by a newer trailgym \(schema 2, this one knows 1\): update trailgym, or use another/,
    );
    expect(readFileSync(file(at)).equals(before)).toBe(true);
  });

  test("of an earlier version is brought up to date, whole or not at all", async () => {
    const at = await filled();
    const more = [
      ...migrations,
      "ALTER TABLE commits ADD COLUMN note TEXT",
      "CREATE TABLE extra (id INTEGER PRIMARY KEY)",
    ];
    const broken = [...migrations, "ALTER TABLE commits ADD COLUMN note TEXT", "CREATE TABLE commits (id INTEGER)"];
    using(at, (db) => {
      expect(() => migrate(db, broken)).toThrow("already exists");
      expect(db.pragma("user_version", { simple: true })).toBe(1);
      expect(() => db.prepare("SELECT note FROM commits")).toThrow();
      migrate(db, more);
      expect(db.pragma("user_version", { simple: true })).toBe(3);
      expect(db.prepare("SELECT count(*) FROM commits WHERE note IS NULL").pluck().get()).toBe(42);
    });
  });

  test("that holds something else is refused", () => {
    const other = folder();
    mkdirSync(other);
    using(other, (db) => db.exec("CREATE TABLE theirs (x)"));
    expectProblem(other, "foreign", /is not a journal of trailgym/);
    const text = folder();
    mkdirSync(text);
    writeFileSync(file(text), "no database at all, but long enough to have a header ".repeat(10));
    expectProblem(text, "damaged", /put a copy of it back, or move it away/);
  });

  test("that cannot be made or written is refused", () => {
    const at = folder();
    writeFileSync(at, "a file");
    expectProblem(join(at, "beneath"), "inaccessible", /cannot be used \(ENOTDIR/);
    expectProblem(at, "inaccessible", /cannot be used \(EEXIST/);
  });
});

describe("a damaged file", () => {
  test("whose schema is gone is refused", async () => {
    const at = await filled();
    overwrite(at, 100, 4096);
    expectProblem(at, "damaged", /is damaged \(.*`trailgym journal check` says more/);
  });

  test("that lost its end is refused", async () => {
    const at = await filled();
    truncateSync(file(at), Math.floor(readFileSync(file(at)).length / 8192) * 4096);
    expectProblem(at, "damaged", /is damaged/);
  });

  test("with some pages of rubbish gives all that is elsewhere, and refuses the rest by name", async () => {
    const at = folder();
    {
      await using journal = open(at);
      for (let i = 0; i < 60; i++) await played(journal, `s${i}`, `e${i}`, 20);
    }
    for (const page of commitPages(at).slice(20, 40)) overwrite(at, 4096 * (page - 1), 4096 * page);
    await using journal = open(at);
    const loaded = await Promise.allSettled(Array.from({ length: 60 }, (_, i) => journal.load(`s${i}`)));
    const refused = loaded.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(60);
    const damaged = { name: "CAPACITY", message: expect.stringMatching(/its file is damaged/) as string };
    for (const error of refused) expect(error).toMatchObject(damaged);
    for (const [i, outcome] of loaded.entries()) {
      if (outcome.status === "fulfilled") expect(outcome.value?.episode).toEqual(episode(`e${i}`, 20));
    }
  });

  test("whose state was changed is noticed: a wrong value is never played on", async () => {
    const at = await filled();
    using(at, (db) => db.exec(`UPDATE heads SET state = '{"id":"e","at":7}' WHERE session = 1`));
    await using journal = open(at);
    await expect(journal.load("a")).rejects.toThrow(/session a is damaged/);
    expect((await journal.load("b"))?.episode).toEqual(episode("f", 20));
  });
});

describe("a full journal", () => {
  test("refuses commits by name, changes nothing, and goes on when there is room again", async () => {
    const at = folder();
    const max = 400_000;
    {
      await using journal = open(at, { maxJournalBytes: max });
      await played(journal, "a", "e", 1);
      await played(journal, "b", "f", 1);
      const committed = await fill(journal, "a", "e", 2);
      const before = await journal.load("a");
      expect(before?.seq).toBe(committed);
      await expectRefused(journal.open(sessionRecord("c", 0, large("g", 0))));
      expect(await journal.load("c")).toBeUndefined();
      expect((await transitions(journal, "e")).length).toBe(committed - 1);
      // Who wants little may still have it, or is refused; nothing in between.
      const small = await journal.append(sessionRecord("b", 3, episode("f", 2)), step(2, episode("f", 2))).then(
        () => 3,
        () => 2,
      );
      expect((await journal.load("b"))?.seq).toBe(small);
    }
    await using journal = open(at, { maxJournalBytes: 2 * max });
    const record = await journal.load("a");
    const { seq = 0 } = record ?? {};
    expect(record?.episode).toEqual(large("e", seq - 1));
    await journal.append(sessionRecord("a", seq + 1, large("e", seq)), step(seq, large("e", seq)));
    expect((await transitions(journal, "e")).map(({ index }) => index)).toEqual(
      Array.from({ length: seq }, (_, i) => i + 1),
    );
  });

  test("lets its oldest ended episodes go, and only then refuses for long", async () => {
    await using journal = open(folder(), { maxJournalBytes: 1_000_000 });
    let refused = 0;
    const ended = async (id: string): Promise<boolean> => {
      try {
        await journal.open(sessionRecord(id, 0, large(id, 0)));
        await journal.end(id, "closed");
        return true;
      } catch (error) {
        expect(error).toMatchObject({ name: "CAPACITY" });
        refused++;
        return false;
      }
    };
    let attempts = 0;
    for (let i = 0; i < 60; i++) await until(() => ended(`s${i}-${attempts++}`));
    expect(refused).toBeGreaterThan(0);
    expect(await journal.episode("s0-0")).toBeUndefined();
    expect(await journal.latestEpisode(`s59-${attempts - 1}`)).toBe(`s59-${attempts - 1}`);
  }, 60_000);
});

/** A small disk of its own; undefined where this process may not mount one. */
function smallDisk(bytes: number): (Disposable & { path: string }) | undefined {
  const path = folder();
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  return { path, [Symbol.dispose]: () => execFileSync("umount", ["-l", path]) };
}

test("a full disk refuses commits by name, loses none, and goes on when there is room again", async ({ skip }) => {
  using disk = smallDisk(3_000_000);
  if (disk === undefined) return skip("this process may not mount a small disk");
  const at = join(disk.path, "data");
  const ballast = join(disk.path, "ballast");
  let committed = 0;
  {
    await using journal = open(at);
    await played(journal, "a", "e", 1);
    const { bavail, bsize } = statfsSync(disk.path);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 300_000));
    committed = await fill(journal, "a", "e", 2);
    expect(committed).toBeGreaterThan(3);
    expect((await journal.load("a"))?.seq).toBe(committed);
    await expectRefused(journal.open(sessionRecord("c", 0, large("g", 0))));
    rmSync(ballast);
    const next = large("e", committed);
    await journal.append(sessionRecord("a", committed + 1, next), step(committed, next));
    writeFileSync(ballast, Buffer.alloc(statfsSync(disk.path).bavail * bsize));
    committed = await fill(journal, "a", "e", committed + 1);
  }
  rmSync(ballast);
  await using journal = open(at);
  expect((await journal.load("a"))?.episode).toEqual(large("e", committed - 1));
  expect((await transitions(journal, "e")).length).toBe(committed - 1);
}, 30_000);

/** A value of some 20 kB. */
function large(id: string, index: number) {
  const value = episode(id, index);
  return { ...value, observation: "x".repeat(20_000) };
}

/** Appends steps to a session until one is refused. @returns the session's seq */
async function fill(journal: Journal, session: string, id: string, seq: number): Promise<number> {
  for (; ; seq++) {
    const append = journal.append(sessionRecord(session, seq + 1, large(id, seq)), step(seq, large(id, seq)));
    const refused = await append.then(
      () => false,
      () => true,
    );
    if (!refused) continue;
    await expectRefused(journal.append(sessionRecord(session, seq + 1, large(id, seq)), step(seq, large(id, seq))));
    return seq;
  }
}

function using(at: string, work: (db: Database.Database) => void): void {
  const db = new Database(file(at));
  try {
    work(db);
  } finally {
    db.close();
  }
}

/** Numbers of the pages that hold commits, oldest first. */
function commitPages(at: string): number[] {
  let pages: number[] = [];
  using(at, (db) => {
    const sql = "SELECT pageno FROM dbstat WHERE name = 'commits' AND pagetype = 'leaf' ORDER BY path";
    pages = db.prepare(sql).pluck().all() as number[];
  });
  return pages;
}

function overwrite(at: string, from: number, to: number): void {
  const bytes = readFileSync(file(at));
  bytes.fill(0xa5, from, to);
  writeFileSync(file(at), bytes);
}
