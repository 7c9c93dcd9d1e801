/** The open sessions: create, find, close, and what became of those that are gone. */

import { randomUUID } from "node:crypto";
import { WireError } from "trailgym/protocol";
import type { Episode, Journal, SessionRecord, SessionSettings } from "../journal/journal.ts";
import type { Metrics } from "../metrics.ts";
import type { Principal } from "../principals.ts";
import type { Registry } from "../registry.ts";
import { Session } from "./session.ts";
import type { Lent } from "./trial.ts";

export type EndReason = "closed" | "expired";

export interface TableParts {
  registry: Registry;
  journal: Journal;
  lent: Lent;
  metrics: Metrics;
  maxSessions: number;
  maxMessageBytes: number;
  now: () => number;
}

/** How many ended sessions are remembered, so that a second close is answered as the first. */
const keptTombstones = 10_000;

export class SessionTable {
  readonly #parts: TableParts;
  readonly #open = new Map<string, Session>();
  readonly #ended = new Map<string, { principal: string; reason: EndReason }>();

  constructor(parts: TableParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  values(): Iterable<Session> {
    return this.#open.values();
  }

  /** @throws WireError UNKNOWN_ENV, CAPACITY */
  async create(principal: string, env: string, settings: SessionSettings, episode?: Episode): Promise<Session> {
    const { registry, journal, lent, metrics, maxMessageBytes, now } = this.#parts;
    const hosted = registry.get(env);
    this.reserve(1);
    const record: SessionRecord = { id: `s-${randomUUID()}`, principal, env, settings, seq: 0, episode };
    const session = new Session(record, { env: hosted, journal, lent, metrics, maxMessageBytes, now });
    this.#open.set(record.id, session);
    try {
      await journal.open(record);
    } catch (error) {
      this.#open.delete(record.id);
      throw error;
    }
    return session;
  }

  /** All of them or none. @throws WireError UNKNOWN_ENV, CAPACITY */
  async createMany(count: number, ...what: Parameters<SessionTable["create"]>): Promise<Session[]> {
    this.reserve(count);
    const made = await Promise.allSettled(Array.from({ length: count }, () => this.create(...what)));
    const sessions = made.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const failed = made.find((each) => each.status === "rejected");
    if (failed === undefined) return sessions;
    await Promise.all(sessions.map((session) => this.end(session, "closed")));
    throw failed.reason;
  }

  /** @throws WireError CAPACITY unless `count` more sessions fit. */
  reserve(count: number): void {
    const { maxSessions } = this.#parts;
    if (this.#open.size + count <= maxSessions) return;
    const message = `${this.#open.size} of ${maxSessions} sessions are open; close some or try again later`;
    throw WireError.of("CAPACITY", message, { retryAfterMs: 1000 });
  }

  /** @throws WireError UNKNOWN_SESSION that says why, FORBIDDEN for another principal's. */
  find(caller: Principal, id: string): Session {
    const session = this.#open.get(id);
    if (session === undefined) throw unknownSession(id, this.#endOf(caller, id));
    if (session.record.principal !== caller.name) throw forbidden(caller);
    session.lastUsed = this.#parts.now();
    return session;
  }

  /** Ends a session; again: no effect. @throws WireError as {@link find} for one that never was. */
  async close(caller: Principal, id: string): Promise<void> {
    if (!this.#open.has(id) && this.#endOf(caller, id) !== "unknown") return;
    await this.end(this.find(caller, id), "closed");
  }

  async end(session: Session, reason: EndReason): Promise<void> {
    const { id, principal } = session.record;
    if (!this.#open.delete(id)) return;
    this.#ended.set(id, { principal, reason });
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= keptTombstones) break;
      this.#ended.delete(oldest);
    }
    session.close();
    for (const holder of session.holders) holder.forget(session);
    session.holders.clear();
    await this.#parts.journal.close(id);
  }

  #endOf(caller: Principal, id: string): EndReason | "unknown" {
    const ended = this.#ended.get(id);
    if (ended === undefined) return "unknown";
    if (ended.principal !== caller.name) throw forbidden(caller);
    return ended.reason;
  }
}

function unknownSession(id: string, reason: EndReason | "unknown"): WireError {
  const why = { unknown: "never existed", closed: "was closed", expired: "ran out of its lease" }[reason];
  return WireError.of("UNKNOWN_SESSION", `session ${id} ${why}; open one with env/make`, { reason });
}

function forbidden({ role }: Principal): WireError {
  return WireError.of("FORBIDDEN", "this session is another principal's", { role });
}
