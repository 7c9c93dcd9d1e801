/** Every knob of the server, with its default. One flat list; units are in the names. */

import type { Disclosure, Role } from "trailgym/protocol";
import type { Sync } from "./journal/sqlite.ts";

export interface TokenEntry {
  /** The bearer token's SHA-256 in hex; the token itself is never held. */
  sha256: string;
  /** Whose sessions they are: sessions belong to a principal, tokens of one principal share them. */
  principal: string;
  role: Role;
  /** What an agent with this token is told beyond observations. Default: neither rewards nor info. */
  discloses?: readonly Disclosure[];
  /** How many sessions its principal may have open when it asks for another with this token. Default: no limit of its own. */
  maxSessions?: number;
  /** How many trials its principal may have running for another one to begin; its other calls wait. Default: no limit of its own. */
  maxTrials?: number;
  /** How many bytes of its principal's requests may be under way. Default: no limit of its own. */
  maxInFlightBytes?: number;
}

export interface ServerConfig {
  /** Address to bind. Anything but loopback needs `tokens` or `insecure`. */
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** Empty: everybody who can connect is the principal `local` with the role trainer. */
  tokens: readonly TokenEntry[];
  /** Serve beyond loopback without tokens. */
  insecure: boolean;
  /** PEM texts of a certificate (with its chain) and its private key: the server speaks wss and https, and nothing else. */
  tls: { readonly cert: string; readonly key: string } | undefined;
  /** Origins from which browsers may connect, beside pages of loopback hosts. */
  origins: readonly string[];
  /** Largest request and largest reply. */
  maxMessageBytes: number;
  /** Requests in one batch. */
  maxBatch: number;
  /** Calls of one socket that run at once, each of a batch counted; beyond it the socket is not read. */
  maxInFlight: number;
  /** Bytes of requests under way at once, over all principals; beyond it they are refused. */
  maxInFlightBytes: number;
  /** Bytes that may wait for a slow reader; at this the socket is not read, at four times this it is closed. */
  maxBufferedBytes: number;
  /** Sessions open at once, over all principals. */
  maxSessions: number;
  /** Resets and steps that run at once, over all principals; others wait for their turn. */
  maxTrials: number;
  /** Calls that may wait: as many for a session as for a trial. Beyond it they are refused. */
  maxQueue: number;
  /** How long `env/make` waits for room. */
  queueMs: number;
  /** Snapshots kept; the one longest unused goes first. */
  maxSnapshots: number;
  /** Committed replies that a retry can still get, in each session. */
  keptReplies: number;
  /** Folder of the durable journal; undefined: nothing outlives the process. One server at a time uses a folder. */
  data: string | undefined;
  /** What a committed step of the durable journal outlives: `off` and `normal` the server's death, `full` the machine's. */
  sync: Sync;
  /** Ended episodes are kept for trajectories for so long, in the durable journal. */
  keepEpisodesMs: number;
  /**
   * Of the durable journal's file: near it the oldest ended episodes go before their time, and at it commits are refused.
   */
  maxJournalBytes: number;
  /** A session that was not called for so long leaves its value to the durable journal, and is loaded when it is called. */
  idleMs: number;
  /** Default deadline of a reset, step or restore. */
  stepTimeoutMs: number;
  /** Default time after which a session that no socket holds is closed. */
  leaseMs: number;
  /** A socket that does not answer a ping for this long is dropped. */
  heartbeatMs: number;
  /** A socket that has not called `initialize` after this long is closed. */
  initializeMs: number;
  /** How long a shutdown waits for running trials. */
  graceMs: number;
  /** How long a shutdown then waits for interpreters and the journal to close. */
  disposeMs: number;
}

export const defaults: ServerConfig = {
  host: "127.0.0.1",
  port: 7474,
  tokens: [],
  insecure: false,
  tls: undefined,
  origins: [],
  maxMessageBytes: 16 * 2 ** 20,
  maxBatch: 1024,
  maxInFlight: 2048,
  maxInFlightBytes: 256 * 2 ** 20,
  maxBufferedBytes: 8 * 2 ** 20,
  maxSessions: 10_000,
  maxTrials: 4096,
  maxQueue: 16_384,
  queueMs: 60_000,
  maxSnapshots: 10_000,
  keptReplies: 16,
  data: undefined,
  sync: "normal",
  keepEpisodesMs: 7 * 86_400_000,
  maxJournalBytes: 16 * 2 ** 30,
  idleMs: 60_000,
  stepTimeoutMs: 30_000,
  leaseMs: 600_000,
  heartbeatMs: 30_000,
  initializeMs: 10_000,
  graceMs: 5_000,
  disposeMs: 10_000,
};
