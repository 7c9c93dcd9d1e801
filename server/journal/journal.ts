/** Where committed values live. The engine keeps no truth of its own: a session can be rebuilt from here at any moment. */

import type { Autoreset, Json, Status, ToolSpec, Transition } from "trailgym/protocol";
import type { Value } from "trailgym/protocol";

/** The committed value of one episode. Immutable: a commit replaces it. */
export interface Episode {
  readonly id: string;
  /** Where it branched off, for a fork and a restored episode: they are episodes of their own. */
  readonly parent?: Origin;
  /** Digest of the environment's public definition when it began. */
  readonly definition?: string;
  readonly seed: number;
  readonly task: string | null;
  /** The split that the seed chose `task` from; undefined when the client named the task. */
  readonly split: string | undefined;
  /** As the client gave them, before the environment's defaults. */
  readonly options: { readonly [key: string]: Value };
  /** Transitions committed. */
  readonly index: number;
  readonly status: Exclude<Status, "new">;
  /** Deeply frozen; buffers in it are never lent out uncopied. */
  readonly state: Value;
  /** SHA-256 of the state's canonical encoding, first 16 bytes in hex. */
  readonly stateDigest: string;
  /** Tagged JSON, as the last reply carried them. */
  readonly observation: Json;
  readonly info: { readonly [key: string]: Json };
  readonly tools: readonly ToolSpec[] | undefined;
  readonly episodeReturn: number;
}

/** The value of an episode after so many transitions. */
export interface Origin {
  readonly episode: string;
  readonly index: number;
}

export interface SessionSettings {
  readonly options: { readonly [key: string]: Value };
  readonly leaseMs: number;
  readonly stepTimeoutMs: number;
  readonly autoreset: Autoreset;
  readonly digest: "step" | "end";
}

export interface SessionRecord {
  readonly id: string;
  readonly principal: string;
  readonly env: string;
  readonly settings: SessionSettings;
  /** The number that the next reset, step or restore will have. */
  readonly seq: number;
  /** Undefined before the first reset. */
  readonly episode: Episode | undefined;
}

/** One committed call: what was asked and the bytes that answered it. */
export interface Reply {
  readonly seq: number;
  /** JSON of method and params, without `seq`, `timeoutMs` and `extras`: what a retry is told by. */
  readonly call: string;
  /** The JSON text of the result. */
  readonly result: string;
}

export interface Commit extends Reply {
  /** What the client said beside an action; tagged JSON. */
  readonly extras?: Json | undefined;
  /** The episode that this call ended although the session's record has gone on to the next one. */
  readonly ended?: Episode | undefined;
}

/** Whether a session's lease runs, and since when. Wall time: it goes on while no server does. */
export interface Lease {
  readonly session: string;
  /** A socket keeps it alive. One that was held when its server died is as if it had been let go at the next start. */
  readonly held: boolean;
  /** When it was last called or let go; ms since 1970. */
  readonly usedAt: number;
}

/** A session without its value. */
export interface SessionSummary {
  readonly id: string;
  readonly principal: string;
  readonly env: string;
  readonly settings: SessionSettings;
  readonly seq: number;
  /** Null before the first reset; then `status` is `new`. */
  readonly episode: string | null;
  readonly status: Status;
  readonly index: number;
  readonly openedAt: number;
  readonly lease: Lease;
}

export type EndReason = "closed" | "expired";

/** What became of a session that is gone. */
export interface Fate {
  readonly principal: string;
  readonly reason: EndReason;
}

export interface Snapshot {
  readonly id: string;
  readonly principal: string;
  readonly env: string;
  readonly settings: SessionSettings;
  readonly episode: Episode;
  readonly label: string | undefined;
}

/** An episode as it is kept for trajectories: all but its transitions. */
export interface EpisodeRecord extends Pick<
  Episode,
  "id" | "parent" | "definition" | "seed" | "task" | "split" | "options" | "tools"
> {
  readonly session: string;
  readonly principal: string;
  readonly env: string;
  /** The episode that the same session played before. */
  readonly previous: string | undefined;
  /** The value that it began with. */
  readonly opening: Pick<Episode, "index" | "observation" | "info" | "stateDigest">;
  /** Of the last committed value. Its digest is not known where the session left digests out and gave the episode up. */
  readonly last: Pick<Episode, "index" | "status" | "episodeReturn"> & { readonly stateDigest: string | undefined };
  /** Ms since 1970. */
  readonly openedAt: number;
  /** Undefined while its session may still go on with it. */
  readonly endedAt: number | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** `after` of the next page; undefined behind the last one. */
  readonly next: string | undefined;
}

export interface PageOptions {
  after?: string | undefined;
  limit: number;
}

/** Which transitions of an episode, and how many at most. */
export interface Range {
  /** Indices, both included. */
  from: number;
  to: number;
  limit: number;
  /** Of their texts; the first one comes however long it is. */
  maxBytes: number;
}

/**
 * The store behind the sessions.
 *
 * Each promise of a change resolves once it is as durable as the journal promises; one that rejects has changed nothing.
 * Changes of one session take effect in the order in which they were asked for; one append of a session at a time. Records are
 * immutable and may be kept by reference. A change that cannot be written now, because the disk is full or the store is
 * damaged, is WireError CAPACITY with `retryAfterMs`: the same call may succeed later.
 *
 * Where several servers share a store, a session is the server's that opened or last loaded it, until it releases it or its
 * lease of the session has run out; an append by a server that has lost it rejects.
 */
export interface Journal extends AsyncDisposable {
  /** Whether a session can be loaded after it was released: only then may its value leave memory. */
  readonly durable: boolean;
  /** Whether the last change could not be written. */
  readonly failing: boolean;

  open(record: SessionRecord): Promise<void>;
  /** Atomically: the reply under (record.id, commit.seq), and `record` as the session's last committed value. */
  append(record: SessionRecord, commit: Commit): Promise<void>;
  /** The last replies of an open session; undefined for a seq that was never committed or is no longer kept. */
  reply(session: string, seq: number): Promise<Reply | undefined>;
  /** Undefined unless it is open. */
  load(session: string): Promise<SessionRecord | undefined>;
  /** Its value has left memory and will be loaded again; what the journal holds ready for its next append may go too. */
  release(session: string): void;
  /** The session is over; its episodes stay for as long as ended ones are kept. Again: no effect. */
  end(session: string, reason: EndReason): Promise<void>;
  /** Undefined for one that is open, never was, or ended so long ago that it is forgotten. */
  fate(session: string): Promise<Fate | undefined>;
  /** Of one principal, or all; open ones only, oldest first. */
  sessions(principal: string | undefined, page: PageOptions): Promise<Page<SessionSummary>>;
  /** For those that are open still. */
  saveLeases(leases: readonly Lease[]): Promise<void>;

  putSnapshot(snapshot: Snapshot): Promise<void>;
  snapshot(id: string): Promise<Snapshot | undefined>;

  /** Ids, in the order in which they began. */
  episodes(page: PageOptions): Promise<Page<string>>;
  /** The episode that an open or ended session played last. */
  latestEpisode(session: string): Promise<string | undefined>;
  episode(id: string): Promise<EpisodeRecord | undefined>;
  /** Its own transitions, not its parent's, in order and without a gap; those that are no longer kept are left out. */
  transitions(episode: string, range: Range): Promise<Transition[]>;
}
