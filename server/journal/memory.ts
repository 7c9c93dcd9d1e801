/** The journal of throw-away runs: nothing survives the process. */

import type { Journal, Reply, SessionRecord, Snapshot } from "./journal.ts";

interface Entry {
  record: SessionRecord;
  /** The newest replies, oldest first; the last one has seq `record.seq - 1`. */
  replies: Reply[];
}

/**
 * @param keptReplies how many replies of a session a retry can still get. A client retries only what it has no answer
 * for, and has one call of a session under way, so a few are enough.
 * @param maxSnapshots the snapshot longest unused is forgotten beyond this.
 */
export function memoryJournal(keptReplies = 16, maxSnapshots = 10_000): Journal {
  const sessions = new Map<string, Entry>();
  const snapshots = new Map<string, Snapshot>();
  const done = Promise.resolve();
  return {
    open(record) {
      sessions.set(record.id, { record, replies: [] });
      return done;
    },
    append(record, reply) {
      const entry = sessions.get(record.id);
      if (entry === undefined) return Promise.reject(new Error(`session ${record.id} is not open`));
      entry.record = record;
      entry.replies.push(reply);
      if (entry.replies.length > keptReplies) entry.replies.shift();
      return done;
    },
    reply: (session, seq) => Promise.resolve(sessions.get(session)?.replies.find((reply) => reply.seq === seq)),
    load: (session) => Promise.resolve(sessions.get(session)?.record),
    close(session) {
      sessions.delete(session);
      return done;
    },
    putSnapshot(snapshot) {
      snapshots.set(snapshot.id, snapshot);
      // A Map iterates in insertion order, and each use re-inserts: the first key is the one longest unused.
      for (const id of snapshots.keys()) {
        if (snapshots.size <= maxSnapshots) break;
        snapshots.delete(id);
      }
      return done;
    },
    snapshot(id) {
      const found = snapshots.get(id);
      if (found !== undefined) {
        snapshots.delete(id);
        snapshots.set(id, found);
      }
      return Promise.resolve(found);
    },
    [Symbol.asyncDispose]() {
      sessions.clear();
      snapshots.clear();
      return done;
    },
  };
}
