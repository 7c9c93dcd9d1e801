/** The open sessions: create, find, close, and what became of those that are gone. */

import { randomUUID } from "node:crypto";
import { WireError } from "trailgym/protocol";
import type {
  EndReason,
  Episode,
  Journal,
  Lease,
  Page,
  PageOptions,
  SessionRecord,
  SessionSettings,
  SessionSummary,
} from "../journal/journal.ts";
import type { Metrics } from "../metrics.ts";
import type { Principal } from "../principals.ts";
import type { Registry } from "../registry.ts";
import type { Tracer } from "../tracing.ts";
import type { Admission } from "./admission.ts";
import { Session, type SessionParts, unknown, type Waiter } from "./session.ts";
import type { Lent } from "./trial.ts";

export interface TableParts {
  registry: Registry;
  journal: Journal;
  lent: Lent;
  metrics: Metrics;
  /** Who may have another session. */
  admission: Admission;
  /** Who may run a trial now. */
  trials: Admission;
  tracer?: Tracer | undefined;
  /** How long one may wait for room for a session. */
  queueMs: number;
  maxMessageBytes: number;
  now: () => number;
  /** Milliseconds since 1970. Default the system's. */
  wallNow?: () => number;
}

/** For whom a session is opened. */
type Owner = Pick<Principal, "name" | "maxSessions">;

/** Sessions of the journal that are read at once when a server starts. */
const pageSize = 1000;
const retryAfterMs = 1000;

export class SessionTable {
  readonly #parts: TableParts;
  readonly #sessionParts: SessionParts;
  readonly #wallNow: () => number;
  readonly #open = new Map<string, Session>();
  /** Sessions that are over, and that the journal could not be told of yet. */
  readonly #unended = new Map<string, { principal: string; reason: EndReason }>();

  constructor(parts: TableParts) {
    this.#parts = parts;
    this.#sessionParts = parts;
    this.#wallNow = parts.wallNow ?? Date.now;
  }

  get size(): number {
    return this.#open.size;
  }

  values(): Iterable<Session> {
    return this.#open.values();
  }

  /** Takes up the sessions that the journal has, without their values: each is loaded when it is first called. */
  async recover(): Promise<void> {
    const { journal } = this.#parts;
    for (let after: string | undefined, more = true; more;) {
      const { items, next } = await journal.sessions(undefined, { after, limit: pageSize });
      for (const { id, principal, env, settings, lease } of items) {
        const session = new Session({ id, principal, env, settings }, this.#sessionParts);
        session.savedLease = lease;
        session.lastUsed = this.#leaseStart(lease);
        this.#open.set(id, session);
        this.#parts.admission.takeUp(principal);
      }
      after = next;
      more = next !== undefined;
    }
  }

  /**
   * @param waiter waits for room where there is none, until it cancels or is gone
   * @throws WireError UNKNOWN_ENV, CAPACITY, QUOTA
   */
  async create(owner: Owner, env: string, settings: SessionSettings, waiter?: Waiter): Promise<Session> {
    this.#parts.registry.get(env);
    await this.#enter(owner, waiter);
    return this.#opened(owner, env, settings, undefined);
  }

  /**
   * All of them or none; there is room now, or there is none.
   * @param episode makes the value that each begins with
   * @throws WireError UNKNOWN_ENV, CAPACITY, QUOTA
   */
  async createMany(
    count: number,
    owner: Owner,
    env: string,
    settings: SessionSettings,
    episode: () => Episode,
  ): Promise<Session[]> {
    this.#parts.registry.get(env);
    this.#assertRoom(count, owner);
    const made = await Promise.allSettled(
      Array.from({ length: count }, () => {
        this.#parts.admission.takeUp(owner.name);
        return this.#opened(owner, env, settings, episode());
      }),
    );
    const sessions = made.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const failed = made.find((each) => each.status === "rejected");
    if (failed === undefined) return sessions;
    await Promise.all(sessions.map((session) => this.end(session, "closed")));
    throw failed.reason;
  }

  /** Nobody gets another session by waiting. */
  refuseWaiting(error: WireError): void {
    this.#parts.admission.refuseAll(error);
  }

  /**
   * An open session with its value; a promise only where that has to be loaded, or where there is none.
   * @throws WireError UNKNOWN_SESSION that says why, UNKNOWN_ENV, FORBIDDEN for another principal's.
   */
  find(caller: Principal, id: string): Session | Promise<Session> {
    const session = this.#open.get(id);
    if (session === undefined) return this.#missing(caller, id);
    if (session.principal !== caller.name) throw forbidden(caller);
    session.lastUsed = this.#parts.now();
    return session.awake ? session : session.wake().then(() => session);
  }

  /** Of one principal, oldest first. */
  async list(principal: string, page: PageOptions): Promise<Page<SessionSummary>> {
    const { items, next } = await this.#parts.journal.sessions(principal, page);
    // Leases are journaled with a delay.
    const current = items.flatMap((item) => {
      const session = this.#open.get(item.id);
      return session === undefined ? [] : [{ ...item, lease: this.#leaseOf(session) }];
    });
    return { items: current, next };
  }

  /** Ends a session; again: no effect. @throws WireError as {@link find} for one that never was. */
  async close(caller: Principal, id: string): Promise<void> {
    const session = this.#open.get(id);
    if (session === undefined) {
      if ((await this.#endOf(caller, id)) === "unknown") throw unknown(id, "unknown");
      return;
    }
    if (session.principal !== caller.name) throw forbidden(caller);
    await this.end(session, "closed");
  }

  /** Over it is at once; where the journal cannot be told, it is told later. */
  async end(session: Session, reason: EndReason): Promise<void> {
    const { id, principal } = session;
    if (!this.#remove(session)) return;
    session.close(reason);
    for (const holder of session.holders) holder.forget(session);
    session.holders.clear();
    this.#parts.lent.log.info({ session: id, env: session.envId, principal, reason }, "session ended");
    this.#unended.set(id, { principal, reason });
    await this.#tell(id, reason).catch((error: unknown) => {
      this.#parts.lent.log.error({ err: error, session: id }, "the end of a session could not be journaled yet");
    });
  }

  /** What can wait for a second: leases that have changed, and ends that could not be journaled. */
  async save(): Promise<void> {
    const changed: [Session, Lease][] = [];
    for (const session of this.#open.values()) {
      const lease = this.#leaseOf(session);
      if (isNews(lease, session.savedLease)) changed.push([session, lease]);
    }
    if (changed.length > 0) {
      await this.#parts.journal.saveLeases(changed.map(([, lease]) => lease));
      for (const [session, lease] of changed) session.savedLease = lease;
    }
    await Promise.all([...this.#unended].map(([id, { reason }]) => this.#tell(id, reason)));
  }

  /** For one that has been let in. */
  async #opened(owner: Owner, env: string, settings: SessionSettings, episode: Episode | undefined): Promise<Session> {
    const record: SessionRecord = { id: `s-${randomUUID()}`, principal: owner.name, env, settings, seq: 0, episode };
    const session = new Session(record, this.#sessionParts);
    this.#open.set(session.id, session);
    try {
      await this.#parts.journal.open(record);
    } catch (error) {
      this.#remove(session);
      throw error;
    }
    this.#parts.lent.log.info({ session: session.id, env, principal: owner.name }, "session opened");
    return session;
  }

  /** @returns whether it was there */
  #remove({ id, principal }: Session): boolean {
    if (!this.#open.delete(id)) return false;
    this.#parts.admission.leave(principal);
    return true;
  }

  async #enter(owner: Owner, waiter: Waiter | undefined): Promise<void> {
    const { admission, queueMs } = this.#parts;
    const { name, maxSessions: limit } = owner;
    if (admission.tryEnter({ name, limit })) return;
    this.#assertQuota(1, owner);
    if (waiter === undefined) throw this.#full();
    const ticket = admission.enter({ name, limit }, (position) => waiter.queued(position));
    const timer = setTimeout(() => ticket.giveUp(this.#full()), queueMs);
    waiter.onCancel = () => ticket.giveUp(WireError.of("CANCELLED", "cancelled by the client", {}));
    // It would not learn which session it got.
    waiter.onGone = waiter.onCancel;
    try {
      await ticket.admitted;
    } finally {
      clearTimeout(timer);
      waiter.onCancel = waiter.onGone = undefined;
    }
  }

  /** For `count` more sessions. @throws WireError CAPACITY, QUOTA */
  #assertRoom(count: number, owner: Owner): void {
    this.#assertQuota(count, owner);
    const { admission } = this.#parts;
    if (admission.inside + count > admission.size) throw this.#full();
  }

  /** Only its owner can make room, so that nobody waits for it. @throws WireError QUOTA */
  #assertQuota(count: number, { name, maxSessions: limit = Infinity }: Owner): void {
    const owned = this.#parts.admission.insideOf(name);
    if (owned + count <= limit) return;
    throw WireError.of("QUOTA", `yours: ${told(owned, limit)}`, { retryAfterMs, limit });
  }

  #full(): WireError {
    const { inside, size, waiting } = this.#parts.admission;
    return WireError.of("CAPACITY", told(inside, size), { retryAfterMs, position: waiting + 1 });
  }

  async #tell(id: string, reason: EndReason): Promise<void> {
    await this.#parts.journal.end(id, reason);
    this.#unended.delete(id);
  }

  #leaseOf({ id, holders, lastUsed }: Session): Lease {
    const usedAt = Math.round(this.#wallNow() - (this.#parts.now() - lastUsed));
    return { session: id, held: holders.size > 0, usedAt };
  }

  /** Whoever held it when the server died could not come back any sooner: its lease starts anew. Others' have gone on. */
  #leaseStart({ held, usedAt }: Lease): number {
    const now = this.#parts.now();
    return held ? now : now - Math.max(0, this.#wallNow() - usedAt);
  }

  async #missing(caller: Principal, id: string): Promise<never> {
    throw unknown(id, await this.#endOf(caller, id));
  }

  async #endOf(caller: Principal, id: string): Promise<EndReason | "unknown"> {
    const fate = this.#unended.get(id) ?? (await this.#parts.journal.fate(id));
    if (fate === undefined) return "unknown";
    if (fate.principal !== caller.name) throw forbidden(caller);
    return fate.reason;
  }
}

/** The two clocks run apart by a little: what differs by less has not changed. */
function isNews(lease: Lease, saved: Lease | undefined): boolean {
  if (lease.held !== saved?.held) return true;
  return !lease.held && Math.abs(lease.usedAt - saved.usedAt) > 500;
}

function told(open: number, most: number): string {
  return `${open} of ${most} sessions are open; close some or try again later`;
}

function forbidden({ role }: Principal): WireError {
  return WireError.of("FORBIDDEN", "this session is another principal's", { role });
}
