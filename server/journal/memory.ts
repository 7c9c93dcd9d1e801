/** The journal of throw-away runs: nothing survives the process. */

import type { EndReason, Fate, Journal, Lease, Page, SessionRecord, SessionSummary, Snapshot } from "./journal.ts";
import { type Kept, MemoryEpisodes } from "./memory-episodes.ts";

export interface MemoryJournalOptions {
  /**
   * How many replies of a session a retry can still get. A client retries only what it has no answer for, and has one call of
   * a session under way, so a few are enough.
   */
  keptReplies?: number;
  /** Beyond this the snapshot longest unused is forgotten. */
  maxSnapshots?: number;
  /** Of the texts of transitions; beyond it the oldest episodes lose theirs. */
  maxBytes?: number;
}

interface Entry {
  record: SessionRecord;
  /** The newest replies, oldest first; the last one has seq `record.seq - 1`. */
  readonly replies: Kept[];
  readonly openedAt: number;
  lease: Lease;
}

/** How many ended sessions are remembered, so that a second close is answered as the first. */
const keptFates = 10_000;

export function memoryJournal(options: MemoryJournalOptions = {}): Journal {
  const { keptReplies = 16, maxSnapshots = 10_000, maxBytes = 64 * 2 ** 20 } = options;
  const open = new Map<string, Entry>();
  const fates = new Map<string, Fate>();
  const snapshots = new Map<string, Snapshot>();
  const episodes = new MemoryEpisodes(maxBytes);
  const done = Promise.resolve();
  return {
    durable: false,
    failing: false,

    open(record) {
      const now = Date.now();
      open.set(record.id, {
        record,
        replies: [],
        openedAt: now,
        lease: { session: record.id, held: false, usedAt: now },
      });
      if (record.episode !== undefined) episodes.begin(record, record.episode);
      return done;
    },
    append(record, commit) {
      const entry = open.get(record.id);
      if (entry === undefined) return Promise.reject(new Error(`session ${record.id} is not open`));
      const { seq, call, result, extras, ended } = commit;
      const kept = { seq, call, result, extras };
      episodes.commit(entry.record, record, kept, ended);
      entry.record = record;
      entry.replies.push(kept);
      if (entry.replies.length > keptReplies) entry.replies.shift();
      return done;
    },
    reply(session, seq) {
      const kept = open.get(session)?.replies.find((reply) => reply.seq === seq);
      return Promise.resolve(kept && { seq, call: kept.call, result: kept.result });
    },
    load: (session) => Promise.resolve(open.get(session)?.record),
    release: () => undefined,
    end(session, reason: EndReason) {
      const entry = open.get(session);
      if (entry === undefined) return done;
      open.delete(session);
      if (entry.record.episode !== undefined) episodes.end(entry.record.episode);
      fates.set(session, { principal: entry.record.principal, reason });
      forgetOldest(fates, keptFates);
      return done;
    },
    fate: (session) => Promise.resolve(fates.get(session)),
    sessions(principal, { after, limit }): Promise<Page<SessionSummary>> {
      const own = [...open.values()].filter(({ record }) => principal === undefined || record.principal === principal);
      const from = after === undefined ? 0 : own.findIndex(({ record }) => record.id === after) + 1;
      const items = own.slice(from, from + limit).map(summaryOf);
      return Promise.resolve({ items, next: from + limit < own.length ? items.at(-1)?.id : undefined });
    },
    saveLeases(leases) {
      for (const lease of leases) {
        const entry = open.get(lease.session);
        if (entry !== undefined) entry.lease = lease;
      }
      return done;
    },

    putSnapshot(snapshot) {
      snapshots.set(snapshot.id, snapshot);
      forgetOldest(snapshots, maxSnapshots);
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

    episodes: (page) => Promise.resolve(episodes.ids(page)),
    latestEpisode: (session) => Promise.resolve(episodes.latestOf(session)),
    episode: (id) => Promise.resolve(episodes.get(id)),
    transitions: (episode, range) => Promise.resolve(episodes.transitions(episode, range)),

    [Symbol.asyncDispose]() {
      open.clear();
      fates.clear();
      snapshots.clear();
      episodes.clear();
      return done;
    },
  };
}

function summaryOf({ record, openedAt, lease }: Entry): SessionSummary {
  const { id, principal, env, settings, seq, episode } = record;
  const at = { episode: episode?.id ?? null, status: episode?.status ?? ("new" as const), index: episode?.index ?? 0 };
  return { id, principal, env, settings, seq, ...at, openedAt, lease };
}

/** A Map iterates in insertion order, and each use re-inserts: the first key is the one longest unused. */
function forgetOldest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
