/** Is everything in a journal what it was committed as? */

import { setImmediate as turn } from "node:timers/promises";
import type { Database } from "better-sqlite3";
import { openingError } from "./failure.ts";
import { openForReading } from "./open.ts";
import { Reader } from "./reader.ts";
import { sessionOf } from "./rows.ts";

export interface CheckReport {
  openSessions: number;
  endedSessions: number;
  episodes: number;
  commits: number;
  snapshots: number;
  /** Of the file. */
  bytes: number;
  /** Empty when it is sound; each says what and where. */
  problems: string[];
}

const everything = { from: 0, to: Number.MAX_SAFE_INTEGER, limit: Number.MAX_SAFE_INTEGER, maxBytes: Infinity };
/** A damaged file could fill a screen a thousand times. */
const maxProblems = 100;

/** @throws JournalError where nothing of it can be read */
export async function check(
  folder: string,
  progress: (done: number, of: number) => void = () => undefined,
): Promise<CheckReport> {
  using opened = openForReading(folder);
  const { db, file } = opened;
  try {
    // One moment of it, whatever a server commits meanwhile.
    db.exec("BEGIN");
    const problems = damages(db);
    const report = counts(db, problems);
    if (problems.length > 0) return report;
    const reader = new Reader(db);
    const sessions = names(db, "SELECT name FROM sessions WHERE ended_at IS NULL ORDER BY id");
    const episodes = names(db, "SELECT name FROM episodes ORDER BY id");
    let done = 0;
    let owned = 0;
    const found = (work: () => string | undefined) => {
      const problem = attempt(work);
      if (problem !== undefined && problems.length < maxProblems) problems.push(problem);
    };
    for (const name of sessions) {
      found(() => sessionProblem(reader, name));
      if (++done % 100 === 0) await tell();
    }
    for (const name of episodes) {
      found(() => {
        const { problem, commits } = episodeProblem(reader, name);
        owned += commits;
        return problem;
      });
      if (++done % 100 === 0) await tell();
    }
    progress(done, sessions.length + episodes.length);
    if (problems.length === 0 && owned !== report.commits) {
      problems.push(`${report.commits - owned} of ${report.commits} commits belong to no episode`);
    }
    return report;

    async function tell(): Promise<void> {
      progress(done, sessions.length + episodes.length);
      await turn();
    }
  } catch (error) {
    throw openingError(error, file);
  }
}

function damages(db: Database): string[] {
  const rows = db.pragma(`integrity_check(${maxProblems})`) as { integrity_check: string }[];
  return rows.map(({ integrity_check: text }) => text).filter((text) => text !== "ok");
}

function counts(db: Database, problems: string[]): CheckReport {
  const count = (sql: string) => Number(attempt(() => String(db.prepare(sql).pluck().get())) ?? 0);
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number;
  return {
    openSessions: count("SELECT count(*) FROM sessions WHERE ended_at IS NULL"),
    endedSessions: count("SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL"),
    episodes: count("SELECT count(*) FROM episodes"),
    commits: count("SELECT count(*) FROM commits"),
    snapshots: count("SELECT count(*) FROM snapshots"),
    bytes: pragma("page_count") * pragma("page_size"),
    problems,
  };
}

function names(db: Database, sql: string): string[] {
  return db.prepare(sql).pluck().all() as string[];
}

/** Its value is the one whose digest was committed, and its last call has the seq before its next one. */
function sessionProblem(reader: Reader, name: string): string | undefined {
  const row = reader.session(name);
  if (row === undefined) return `session ${name} has no value`;
  const { seq } = sessionOf(row);
  const last = seq === 0 ? undefined : reader.reply(name, seq - 1, 1);
  return seq > 0 && last?.seq !== seq - 1 ? `session ${name} has lost its reply ${seq - 1}` : undefined;
}

/** Its transitions are there, one of each index from its opening to its end. */
function episodeProblem(reader: Reader, name: string): { problem: string | undefined; commits: number } {
  const row = reader.episode(name);
  if (row === undefined) return { problem: `episode ${name} has no session`, commits: 0 };
  const opening = row["opening_index"] as number;
  const steps = (row["last_index"] as number) - opening;
  let index = opening;
  for (const { result } of reader.calls(row, everything)) {
    const reply = JSON.parse(result) as { index?: number };
    if (reply.index !== ++index) return { problem: `episode ${name} has lost its transition ${index}`, commits: 0 };
  }
  const problem =
    index - opening === steps ? undefined : `episode ${name} has ${index - opening} of ${steps} transitions`;
  const own = row["opened_by"] !== null && row["opened_within"] === 0 ? 1 : 0;
  return { problem, commits: steps + own };
}

/** What could not even be looked at is a problem too. */
function attempt(work: () => string | undefined): string | undefined {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
