/** The journal that outlives its server: one SQLite file in a data folder. */

import type { Logger } from "pino";
import type { Episode, Journal, SessionRecord } from "./journal.ts";
import { Checkpointer } from "./sqlite/checkpoint.ts";
import { episodesOf, paged, read } from "./sqlite/episodes.ts";
import { openingError } from "./sqlite/failure.ts";
import { openDatabase, type OpenDatabase, type Sync } from "./sqlite/open.ts";
import { Reader } from "./sqlite/reader.ts";
import { Retention } from "./sqlite/retention.ts";
import {
  episodeParams,
  type Row,
  sessionOf,
  settingsText,
  snapshotOf,
  snapshotText,
  stateText,
  summaryOf,
} from "./sqlite/rows.ts";
import { type Write, Writer } from "./sqlite/writer.ts";

export type { Sync };

export interface SqliteJournalOptions {
  /** Default `normal`. */
  sync?: Sync;
  /** How many replies of a session a retry can still get; at least 1. */
  keptReplies?: number;
  /** Beyond this the snapshot longest unused is forgotten. */
  maxSnapshots?: number;
  /** Ended episodes are kept for so long. */
  keepEpisodesMs?: number;
  /** Of the file; near it the oldest ended episodes go early, and at it commits are refused. */
  maxJournalBytes?: number;
  log: Logger;
}

/** What the next append of a session needs to know of its last one. */
interface Cursor {
  readonly session: number;
  commit: number | null;
  episode: number | null;
  /** Undefined before the first reset. */
  episodeName: string | undefined;
}

/**
 * @param folder made if it is not there; this server's alone as long as the journal is open
 * @throws JournalError that says what to do
 */
export function sqliteJournal(folder: string, options: SqliteJournalOptions): Journal {
  const { sync = "normal", maxJournalBytes = 16 * 2 ** 30 } = options;
  const opened = openDatabase(folder, { sync, maxBytes: maxJournalBytes });
  try {
    return journalOf(opened, { ...options, sync, maxJournalBytes });
  } catch (error) {
    opened[Symbol.dispose]();
    throw openingError(error, opened.file);
  }
}

function journalOf(
  opened: OpenDatabase,
  options: SqliteJournalOptions & { sync: Sync; maxJournalBytes: number },
): Journal {
  const {
    sync,
    maxJournalBytes,
    log,
    keptReplies = 16,
    maxSnapshots = 10_000,
    keepEpisodesMs = 7 * 86_400_000,
  } = options;
  const { db, file } = opened;
  const reader = new Reader(db);
  let [lastSession, lastCommit, lastEpisode] = [reader.max("sessions"), reader.max("commits"), reader.max("episodes")];
  let lastUse = reader.max("snapshots", "used");
  let snapshots = reader.countSnapshots();
  const checkpointer = new Checkpointer(file, sync, log);
  const writer = new Writer(db, log, {
    flushed: () => checkpointer.transacted(writer),
    failed: () => retention.hurry(),
  });
  const retention = new Retention(db, writer, { keptReplies, keepEpisodesMs, maxBytes: maxJournalBytes, log });
  const cursors = new Map<string, Cursor>();
  let closing: Promise<void> | undefined;

  return {
    durable: true,
    get failing() {
      return writer.failing;
    },

    open(record) {
      const { id, principal, env, settings, seq, episode } = record;
      const now = Date.now();
      const cursor: Cursor = { session: ++lastSession, commit: null, episode: null, episodeName: episode?.id };
      const writes: Write[] = [["openSession", [cursor.session, id, principal, env, settingsText(settings), now, now]]];
      if (episode !== undefined) {
        cursor.episode = ++lastEpisode;
        writes.push(opening(cursor.episode, episode, cursor.session, null, now, null, false));
      }
      const at = [episode?.index ?? 0, episode?.status ?? "new", episode?.episodeReturn ?? 0, stateText(episode)];
      writes.push(["openHead", [cursor.session, seq, cursor.episode, ...at]]);
      return writer.write(writes, () => cursors.set(id, cursor));
    },

    append(record, commit) {
      const cursor = cursors.get(record.id);
      const { episode } = record;
      if (cursor === undefined || episode === undefined) {
        return Promise.reject(new Error(`session ${record.id} is not open here`));
      }
      const id = ++lastCommit;
      const { session } = cursor;
      const extras = commit.extras === undefined ? null : JSON.stringify(commit.extras);
      const writes: Write[] = [
        ["commit", [id, session, commit.seq, cursor.commit, commit.call, commit.result, extras]],
      ];
      let row = cursor.episode;
      if (episode.id !== cursor.episodeName) {
        const now = Date.now();
        if (commit.ended !== undefined) writes.push(ending(row, commit.ended, id, now));
        else if (row !== null) writes.push(["giveUpEpisode", [now, session, session]]);
        writes.push(opening(++lastEpisode, episode, session, row, now, id, commit.ended !== undefined));
        row = lastEpisode;
      } else if (episode.status !== "running") writes.push(ending(row, episode, id, Date.now()));
      const { index, status, episodeReturn } = episode;
      writes.push(["head", [record.seq, row, id, index, status, episodeReturn, stateText(episode), session]]);
      return writer.write(writes, () => {
        cursor.commit = id;
        cursor.episode = row;
        cursor.episodeName = episode.id;
      });
    },

    reply: (session, seq) => read(() => reader.reply(session, seq, keptReplies)),

    load: (session) =>
      read(() => {
        const row = reader.session(session);
        if (row === undefined) return undefined;
        const record = sessionOf(row);
        cursors.set(session, cursorOf(row, record));
        return record;
      }),

    release: (session) => void cursors.delete(session),

    async end(session, reason) {
      const id = cursors.get(session)?.session ?? (await read(() => reader.openId(session)));
      cursors.delete(session);
      if (id === undefined) return;
      const now = Date.now();
      await writer.write([
        ["giveUpEpisode", [now, id, id]],
        ["dropHead", [id]],
        ["endSession", [now, reason, id]],
      ]);
    },

    fate: (session) =>
      read(() => {
        const row = reader.fate(session);
        return row && { principal: row["principal"] as string, reason: row["reason"] as "closed" | "expired" };
      }),

    sessions: (principal, page) =>
      read(() => {
        const rows = reader.summaries(principal, { ...page, limit: page.limit + 1 });
        return paged(rows, page.limit, summaryOf);
      }),

    saveLeases: (leases) =>
      writer.write(leases.map(({ session, held, usedAt }) => ["lease", [held ? 1 : 0, usedAt, session]])),

    putSnapshot(snapshot) {
      const full = snapshots >= maxSnapshots;
      const writes: Write[] = [["putSnapshot", [snapshot.id, ++lastUse, snapshotText(snapshot)]]];
      return writer.write(full ? [...writes, ["dropUnusedSnapshot", []]] : writes, () => {
        if (!full) snapshots++;
      });
    },

    snapshot: (id) =>
      read(() => {
        const text = reader.snapshot(id);
        if (text === undefined) return undefined;
        // Nobody waits for it, and a use that is forgotten costs nothing but its place in the line.
        writer.write([["useSnapshot", [++lastUse, id]]]).catch(() => undefined);
        return snapshotOf(text);
      }),

    ...episodesOf(reader),

    [Symbol.asyncDispose]: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    await retention[Symbol.asyncDispose]();
    await checkpointer[Symbol.asyncDispose]();
    writer.flush();
    opened[Symbol.dispose]();
    cursors.clear();
  }
}

function opening(
  id: number,
  episode: Episode,
  session: number,
  previous: number | null,
  now: number,
  by: number | null,
  within: boolean,
): Write {
  return ["openEpisode", [id, ...episodeParams(episode, session, previous), now, by, within ? 1 : 0]];
}

function ending(
  row: number | null,
  { index, stateDigest, status, episodeReturn }: Episode,
  id: number,
  now: number,
): Write {
  return ["endEpisode", [now, id, index, stateDigest, status, episodeReturn, row]];
}

function cursorOf(row: Row, record: SessionRecord): Cursor {
  return {
    session: row["id"] as number,
    commit: row["last_commit"] as number | null,
    episode: row["episode"] as number | null,
    episodeName: record.episode?.id,
  };
}
