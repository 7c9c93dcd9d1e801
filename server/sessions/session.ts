/** One client's hold on one running episode: counts its calls, runs one trial at a time, answers a retry from the journal. */

import { canonicalJson, type Json, WireError } from "trailgym/protocol";
import type { Episode, Journal, SessionRecord } from "../journal/journal.ts";
import type { Metrics } from "../metrics.ts";
import type { HostedEnv } from "../registry.ts";
import { type Lent, Trial } from "./trial.ts";

/** JSON that is already text: stored and sent as it is, so that a retry gets the same bytes. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Somebody who waits for a call: a request on a socket. */
export interface Waiter {
  progress(fraction: number, message: string | undefined): void;
  /** Set while the call runs; the waiter calls it when its client no longer wants the answer. */
  onCancel: (() => void) | undefined;
  /** Set likewise; called when the client is gone without a word. It may come back for the answer. */
  onGone: (() => void) | undefined;
}

/** A socket that keeps sessions alive. */
export interface Holder {
  /** The session has ended. */
  forget(session: Session): void;
}

/** A reset, step or restore. */
export interface Call {
  /** Undefined: the client does not count. */
  seq: number | undefined;
  /** JSON of the method and those params that make a retry a retry: `seq` and `timeoutMs` left out. */
  key: string;
  timeoutMs: number | undefined;
  /** Computes the next value; commits nothing. `begin` opens a trial that a deadline, cancel or close will end. */
  run(
    begin: (seed: number, index: number, task: string | null) => Trial,
  ): Promise<{ episode: Episode; result: object }>;
}

interface Running {
  key: string;
  trial: Trial | undefined;
  /** The trial is over and its value is being journaled: too late to cancel. */
  committing: boolean;
  /** Those whose clients want the answer. */
  waiters: Set<Waiter>;
  /** Why nobody wants it any more. */
  cancelled: WireError | undefined;
  outcome: Promise<JsonText>;
}

export interface SessionParts {
  env: HostedEnv;
  journal: Journal;
  lent: Lent;
  metrics: Metrics;
  maxMessageBytes: number;
  now: () => number;
}

export class Session {
  readonly env: HostedEnv;
  /** Sockets that keep the lease alive. */
  readonly holders = new Set<Holder>();
  /** When a call last came, in ms of the server's clock. */
  lastUsed: number;
  #record: SessionRecord;
  #running: Running | undefined;
  #closed = false;
  readonly #parts: SessionParts;

  constructor(record: SessionRecord, parts: SessionParts) {
    this.#record = record;
    this.#parts = parts;
    this.env = parts.env;
    this.lastUsed = parts.now();
  }

  /** The last committed value. */
  get record(): SessionRecord {
    return this.#record;
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** The whole table of "Sequence numbers" in wire.md. */
  async call(call: Call, waiter: Waiter): Promise<JsonText> {
    const { seq } = call;
    const expected = this.#record.seq;
    if (seq !== undefined && seq < expected) return this.#stored(seq, call.key);
    const running = this.#running;
    if (running !== undefined) {
      if (seq === expected && sameCall(call.key, running.key)) return this.#join(running, waiter);
      if (seq === expected) throw conflict(`seq ${seq} is running another call`, expected);
      if (seq === undefined || seq === expected + 1) {
        throw WireError.of("SESSION_BUSY", "another call of this session is still running", { expected });
      }
    }
    if (seq !== undefined && seq > expected) {
      throw WireError.of("SEQ_GAP", `seq ${seq} sent, ${expected} expected: a call was lost`, { expected });
    }
    return this.#start(call, waiter);
  }

  /** Ends a running trial. The session takes no call after this. */
  close(): void {
    this.#closed = true;
    this.#running?.trial?.end(cancelled("the session was closed"));
  }

  async #stored(seq: number, key: string): Promise<JsonText> {
    const reply = await this.#parts.journal.reply(this.#record.id, seq);
    const expected = this.#record.seq;
    if (reply === undefined) throw conflict(`seq ${seq} was committed and its reply is no longer kept`, expected);
    if (!sameCall(reply.call, key)) throw conflict(`seq ${seq} was committed by another call`, expected);
    return new JsonText(reply.result);
  }

  #start(call: Call, waiter: Waiter): Promise<JsonText> {
    const running: Running = {
      key: call.key,
      trial: undefined,
      committing: false,
      // From the start: the first report of a trial comes before anybody could join.
      waiters: new Set([waiter]),
      cancelled: undefined,
      outcome: undefined as never,
    };
    this.#running = running;
    running.outcome = this.#run(call, running);
    return this.#join(running, waiter);
  }

  /** CANCELLED promises that nothing was committed, so a trial that others still wait for gives its outcome to all. */
  #join(running: Running, waiter: Waiter): Promise<JsonText> {
    running.waiters.add(waiter);
    waiter.onGone = () => running.waiters.delete(waiter);
    waiter.onCancel = () => {
      running.waiters.delete(waiter);
      if (running.committing || running.waiters.size > 0) return;
      running.cancelled ??= cancelled("cancelled by the client");
      running.trial?.end(running.cancelled);
    };
    return running.outcome;
  }

  async #run(call: Call, running: Running): Promise<JsonText> {
    const { metrics } = this.#parts;
    const started = performance.now();
    try {
      const { episode, result } = await call.run((seed, index, task) => this.#begin(call, running, seed, index, task));
      // A synchronous trial is over before a cancel or close that came with it can end it: nobody wants its value any more.
      if (this.#closed) throw cancelled("the session was closed");
      if (running.cancelled !== undefined) throw running.cancelled;
      const text = JSON.stringify(result);
      this.#assertFits(text);
      running.committing = true;
      const seq = this.#record.seq;
      const record = { ...this.#record, seq: seq + 1, episode };
      await this.#parts.journal.append(record, { seq, call: call.key, result: text });
      this.#record = record;
      metrics.committed(this.env.id, (performance.now() - started) / 1000);
      return new JsonText(text);
    } catch (error) {
      metrics.uncommitted(this.env.id, error instanceof WireError ? error.name : "INTERNAL_ERROR");
      throw error;
    } finally {
      this.#running = undefined;
      // An environment that kept its context may not report on a call that has been answered.
      running.waiters.clear();
      this.lastUsed = this.#parts.now();
    }
  }

  #assertFits(text: string): void {
    const limit = this.#parts.maxMessageBytes;
    // No UTF-16 unit takes more than three bytes.
    if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return;
    const message = `the reply has ${Buffer.byteLength(text)} bytes, ${limit} are allowed; nothing was committed`;
    throw WireError.of("MESSAGE_TOO_LARGE", message, { limit });
  }

  #begin(call: Call, running: Running, seed: number, index: number, task: string | null): Trial {
    const { env, lent } = this.#parts;
    const trial = new Trial(
      {
        env: env.id,
        seed,
        index,
        task: task === null ? undefined : env.tasks?.get(task),
        needs: env.definition.needs ?? [],
        timeoutMs: call.timeoutMs ?? this.#record.settings.stepTimeoutMs,
        onProgress: (fraction, message) => {
          for (const waiter of running.waiters) waiter.progress(fraction, message);
        },
      },
      lent,
    );
    running.trial = trial;
    if (this.#closed) trial.end(cancelled("the session was closed"));
    if (running.cancelled !== undefined) trial.end(running.cancelled);
    return trial;
  }
}

/** Whether two keys mean the same call, in whatever order their objects' keys were written. */
function sameCall(a: string, b: string): boolean {
  return a === b || canonicalJson(JSON.parse(a) as Json) === canonicalJson(JSON.parse(b) as Json);
}

function conflict(message: string, expected: number): WireError {
  return WireError.of("SEQ_CONFLICT", message, { expected });
}

function cancelled(message: string): WireError {
  return WireError.of("CANCELLED", message, {});
}
