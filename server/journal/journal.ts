/** Where committed values live. The engine keeps no truth of its own: a session can be rebuilt from here at any moment. */

import type { Autoreset, Json, Status, ToolSpec } from "trailgym/protocol";
import type { Value } from "trailgym/protocol";

/** The committed value of one episode. Immutable: a commit replaces it. */
export interface Episode {
  readonly id: string;
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
  /** JSON of method and params, `seq` and `timeoutMs` left out: what a retry is told by. */
  readonly call: string;
  /** The JSON text of the result. */
  readonly result: string;
}

export interface Snapshot {
  readonly id: string;
  readonly principal: string;
  readonly env: string;
  readonly settings: SessionSettings;
  readonly episode: Episode;
  readonly label: string | undefined;
}

/**
 * The store behind the sessions. Each promise resolves once the change is as durable as the journal promises; one that
 * rejects has changed nothing. Records are immutable and may be kept by reference.
 */
export interface Journal extends AsyncDisposable {
  open(record: SessionRecord): Promise<void>;
  /** Atomically: the reply under (record.id, reply.seq), and `record` as the session's last committed value. */
  append(record: SessionRecord, reply: Reply): Promise<void>;
  /** Undefined for a seq that was never committed or is no longer kept. */
  reply(session: string, seq: number): Promise<Reply | undefined>;
  load(session: string): Promise<SessionRecord | undefined>;
  /** Forgets the session and its replies; again: no effect. */
  close(session: string): Promise<void>;
  putSnapshot(snapshot: Snapshot): Promise<void>;
  snapshot(id: string): Promise<Snapshot | undefined>;
}
