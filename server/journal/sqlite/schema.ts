/** The tables, and how files of earlier versions come to have them. */

import type { Database } from "better-sqlite3";
import { JournalError } from "../error.ts";

/** "TrGy": which kind of SQLite file this is. */
const applicationId = 0x54724779;

/**
 * Each brings the schema from the version of its index to the next. Never change one that was released.
 *
 * Written for the step: `commits` only ever grows at its end, and `heads` is small and dense. An index on (session, seq) would
 * dirty a page of its own for each session in each transaction; instead each commit names the one before it.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    env TEXT NOT NULL,
    settings TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    held INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    ended_at INTEGER,
    reason TEXT
  );
  CREATE INDEX open_sessions ON sessions (id) WHERE ended_at IS NULL;
  CREATE INDEX own_sessions ON sessions (principal, id) WHERE ended_at IS NULL;
  CREATE INDEX ended_sessions ON sessions (ended_at) WHERE ended_at IS NOT NULL;

  -- The last committed value of each open session. The state comes last: who needs only the rest reads only that.
  CREATE TABLE heads (
    session INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    episode INTEGER,
    last_commit INTEGER,
    at INTEGER NOT NULL,
    status TEXT NOT NULL,
    episode_return REAL NOT NULL,
    state TEXT
  );

  CREATE TABLE commits (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    previous INTEGER,
    call TEXT NOT NULL,
    result TEXT NOT NULL,
    extras TEXT
  );

  CREATE TABLE episodes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL,
    previous INTEGER,
    parent TEXT,
    parent_index INTEGER,
    definition TEXT,
    seed INTEGER NOT NULL,
    task TEXT,
    split TEXT,
    options TEXT NOT NULL,
    tools TEXT,
    opening_index INTEGER NOT NULL,
    opening_observation TEXT NOT NULL,
    opening_info TEXT NOT NULL,
    opening_digest TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    -- The commit behind which its own begin; null for a fork.
    opened_by INTEGER,
    -- Whether that commit was the last transition of the episode before, and goes with it.
    opened_within INTEGER NOT NULL,
    -- What follows is null until it ends.
    ended_at INTEGER,
    last_commit INTEGER,
    last_index INTEGER,
    last_digest TEXT,
    status TEXT,
    episode_return REAL
  );
  CREATE INDEX episodes_of_sessions ON episodes (session);
  CREATE INDEX ended_episodes ON episodes (ended_at) WHERE ended_at IS NOT NULL;
  CREATE INDEX branches ON episodes (parent) WHERE parent IS NOT NULL;

  CREATE TABLE snapshots (
    name TEXT NOT NULL PRIMARY KEY,
    used INTEGER NOT NULL,
    record TEXT NOT NULL
  );
  CREATE INDEX unused_snapshots ON snapshots (used);
  `,
];

/**
 * Makes an empty file a journal, and one of an earlier version one of this.
 * @throws JournalError `foreign` or `newer`
 */
export function migrate(db: Database, steps: readonly string[] = migrations): void {
  const version = schemaVersion(db);
  if (version === steps.length) return;
  if (version > steps.length) {
    throw new JournalError(
      "newer",
      `${db.name} was written by a newer trailgym (schema ${version}, this one knows ${steps.length}): update trailgym, or ` +
        "use another data folder",
    );
  }
  db.transaction(() => {
    for (const step of steps.slice(version)) db.exec(step);
    db.pragma(`application_id = ${applicationId}`);
    db.pragma(`user_version = ${steps.length}`);
  }).immediate();
}

/** 0: empty. @throws JournalError `foreign` */
export function schemaVersion(db: Database): number {
  const application = db.pragma("application_id", { simple: true });
  const version = db.pragma("user_version", { simple: true }) as number;
  if (application === applicationId) return version;
  const empty = application === 0 && version === 0 && db.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  if (empty) return 0;
  throw new JournalError(
    "foreign",
    `${db.name} is not a journal of trailgym: move it away, or use another data folder`,
  );
}
