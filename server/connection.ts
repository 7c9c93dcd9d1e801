/** What one socket is to the dispatcher: who speaks, what it has running, and where replies go. */

import type { Principal } from "./principals.ts";
import type { Holder, Session, Waiter } from "./sessions/session.ts";
import type { TraceParent } from "./tracing.ts";

export type RequestId = string | number | null;

/** At most 10 progress notifications a second for one request. */
const progressIntervalMs = 100;

export class Connection implements Holder {
  /** Token of the upgrade's Authorization header. */
  readonly bearer: string | undefined;
  /** Set by `initialize`. */
  principal: Principal | undefined;
  /** Set by `initialize`, where the client told it. */
  trace: TraceParent | undefined;
  /** Calls that run: each of a batch counts. */
  calls = 0;
  readonly running = new Map<RequestId, Request>();
  readonly #held = new Set<Session>();
  #released = false;
  readonly #send: (text: string) => void;

  constructor(send: (text: string) => void, bearer?: string) {
    this.#send = send;
    this.bearer = bearer;
  }

  send(text: string): void {
    this.#send(text);
  }

  notify(method: string, params: object): void {
    this.#send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** A call may outlive its socket; what is gone holds nothing, or the session would never expire. */
  hold(session: Session): void {
    if (this.#released) return;
    this.#held.add(session);
    session.holders.add(this);
  }

  forget(session: Session): void {
    this.#held.delete(session);
  }

  /** The socket is gone. Its trials go on: the client may come back for their replies. @param now ms of the server's clock */
  release(now: number): void {
    this.#released = true;
    for (const request of this.running.values()) request.onGone?.();
    for (const session of this.#held) {
      if (session.holders.delete(this)) session.lastUsed = now;
    }
    this.#held.clear();
  }
}

/** One request of a socket, from its arrival to its reply. */
export class Request implements Waiter {
  onCancel: (() => void) | undefined;
  onGone: (() => void) | undefined;
  readonly #connection: Connection;
  readonly #id: RequestId | undefined;
  #lastProgress = -Infinity;

  constructor(connection: Connection, id: RequestId | undefined) {
    this.#connection = connection;
    this.#id = id;
  }

  get maxTrials(): number | undefined {
    return this.#connection.principal?.maxTrials;
  }

  get trace(): TraceParent | undefined {
    return this.#connection.trace;
  }

  queued(position: number): void {
    this.#tell({ position });
  }

  progress(fraction: number, message: string | undefined): void {
    this.#tell(message === undefined ? { fraction } : { fraction, message });
  }

  #tell(what: object): void {
    const now = performance.now();
    if (this.#id === undefined || now - this.#lastProgress < progressIntervalMs) return;
    this.#lastProgress = now;
    this.#connection.notify("$/progress", { id: this.#id, ...what });
  }
}
