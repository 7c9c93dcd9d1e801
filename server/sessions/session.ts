/** One client's hold on one running episode: counts its calls, runs one trial at a time, answers a retry from the journal. */

import { canonicalJson, type Json, WireError } from "trailgym/protocol";
import type { EndReason, Episode, Journal, Lease, SessionRecord, SessionSettings } from "../journal/journal.ts";
import type { Metrics } from "../metrics.ts";
import type { HostedEnv, Registry } from "../registry.ts";
import type { Admission, Owner } from "./admission.ts";
import type { TraceParent, Tracer } from "../tracing.ts";
import { type Lent, type LogIds, Trial } from "./trial.ts";

/** JSON that is already text: stored and sent as it is, so that a retry gets the same bytes. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Somebody who waits for a call: a request on a socket. */
export interface Waiter {
  /** Trials that may run at once under its principal's name for this one to begin. Default: as many as the server runs. */
  readonly maxTrials?: number | undefined;
  /** The client's trace that its calls belong to. */
  readonly trace?: TraceParent | undefined;
  /** The call has to wait for its turn. @param position 1 is next */
  queued(position: number): void;
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
  method: "env/reset" | "env/step" | "env/restore";
  /** JSON of the method and those params that make a retry a retry: `seq` and `timeoutMs` left out. */
  key: string;
  timeoutMs: number | undefined;
  /** Kept with the call; tagged JSON. */
  extras?: Json | undefined;
  /** Computes the next value; commits nothing. `begin` opens a trial that a deadline, cancel or close will end. */
  run(begin: (seed: number, index: number, task: string | null) => Trial): Promise<Outcome>;
}

export interface Outcome {
  episode: Episode;
  result: object;
  /** The episode that ended in this call, where `episode` is the next one already. */
  ended?: Episode;
}

interface Running {
  key: string;
  /** One deadline is for all of the call: its time in the queue, a step's trial, and that of the reset that follows it. */
  startedAt: number | undefined;
  /** What ends when nobody wants the call any more: its place in the queue, then its trial. */
  work: { end(error: WireError): void } | undefined;
  /** The trial is over and its value is being journaled: too late to cancel. */
  committing: boolean;
  /** Those whose clients want the answer. */
  waiters: Set<Waiter>;
  /** Why nobody wants it any more. */
  cancelled: WireError | undefined;
  outcome: Promise<JsonText>;
}

export interface SessionParts {
  registry: Pick<Registry, "get">;
  journal: Journal;
  lent: Lent;
  metrics: Metrics;
  /** Who may run a trial now. */
  trials: Admission;
  tracer?: Tracer | undefined;
  maxMessageBytes: number;
  now: () => number;
}

export class Session {
  readonly id: string;
  readonly principal: string;
  readonly envId: string;
  readonly settings: SessionSettings;
  /** Sockets that keep the lease alive. */
  readonly holders = new Set<Holder>();
  /** When a call last came, in ms of the server's clock. */
  lastUsed: number;
  /** As the journal has it. */
  savedLease: Lease | undefined;
  /** Undefined while its value is in the journal only. */
  #record: SessionRecord | undefined;
  #waking: Promise<void> | undefined;
  #env: HostedEnv | undefined;
  #running: Running | undefined;
  #ended: EndReason | "shutdown" | undefined;
  readonly #parts: SessionParts;

  /** @param record without its value for a session that sleeps: see {@link wake}. */
  constructor(head: Pick<SessionRecord, "id" | "principal" | "env" | "settings">, parts: SessionParts) {
    this.id = head.id;
    this.principal = head.principal;
    this.envId = head.env;
    this.settings = head.settings;
    this.#parts = parts;
    this.#record = "seq" in head ? (head as SessionRecord) : undefined;
    this.lastUsed = parts.now();
  }

  /** @throws WireError UNKNOWN_ENV: the server may have been started again without it. */
  get env(): HostedEnv {
    return (this.#env ??= this.#parts.registry.get(this.envId));
  }

  /** The last committed value. Only while it is {@link awake}; `SessionTable.find` gives sessions that are. */
  get record(): SessionRecord {
    if (this.#record === undefined) throw new Error(`session ${this.id} sleeps`);
    return this.#record;
  }

  get awake(): boolean {
    return this.#record !== undefined;
  }

  /** Brings the value back from the journal. @throws WireError UNKNOWN_SESSION when the session is over meanwhile. */
  wake(): Promise<void> {
    return (this.#waking ??= this.#load().finally(() => (this.#waking = undefined)));
  }

  /** Leaves the value to the journal, where that is durable. Not while it is {@link busy}. */
  sleep(): void {
    if (this.#record === undefined || !this.#parts.journal.durable) return;
    this.#record = undefined;
    this.#parts.journal.release(this.id);
  }

  async #load(): Promise<void> {
    // A definition that is missing is said before anything is loaded.
    void this.env;
    const record = await this.#parts.journal.load(this.id);
    if (record === undefined) throw unknown(this.id, "closed");
    this.#record = record;
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** The whole table of "Sequence numbers" in wire.md. */
  call(call: Call, waiter: Waiter): Promise<JsonText> {
    const { seq } = call;
    if (!this.awake) return this.wake().then(() => this.call(call, waiter));
    if (this.#ended === "closed" || this.#ended === "expired") throw unknown(this.id, this.#ended);
    const expected = this.record.seq;
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

  /** Ends a running trial, unless its value is being journaled. The session takes no call after this. */
  close(reason: EndReason | "shutdown"): void {
    this.#ended = reason;
    this.#running?.work?.end(closed());
  }

  async #stored(seq: number, key: string): Promise<JsonText> {
    const expected = this.record.seq;
    const reply = await this.#parts.journal.reply(this.id, seq);
    if (reply === undefined) throw conflict(`seq ${seq} was committed and its reply is no longer kept`, expected);
    if (!sameCall(reply.call, key)) throw conflict(`seq ${seq} was committed by another call`, expected);
    return new JsonText(reply.result);
  }

  #start(call: Call, waiter: Waiter): Promise<JsonText> {
    const running: Running = {
      key: call.key,
      startedAt: undefined,
      work: undefined,
      committing: false,
      // From the start: the first report of a trial comes before anybody could join.
      waiters: new Set([waiter]),
      cancelled: undefined,
      outcome: undefined as never,
    };
    this.#running = running;
    running.outcome = this.#run(call, running, waiter);
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
      running.work?.end(running.cancelled);
    };
    return running.outcome;
  }

  async #run(call: Call, running: Running, waiter: Waiter): Promise<JsonText> {
    const { metrics, journal } = this.#parts;
    const started = performance.now();
    const end = this.#traced(call, waiter);
    try {
      const { episode, result, ended } = await this.#inTurn(call, running, waiter);
      // A synchronous trial is over before a cancel or close that came with it can end it: nobody wants its value any more.
      if (this.#ended !== undefined) throw closed();
      if (running.cancelled !== undefined) throw running.cancelled;
      const text = JSON.stringify(result);
      this.#assertFits(text);
      running.committing = true;
      const { seq } = this.record;
      const record = { ...this.record, seq: seq + 1, episode };
      const computed = performance.now();
      await journal.append(record, { seq, call: call.key, result: text, extras: call.extras, ended });
      this.#record = record;
      const now = performance.now();
      metrics.journaled((now - computed) / 1000);
      metrics.committed(this.envId, (now - started) / 1000);
      end();
      return new JsonText(text);
    } catch (error) {
      // A journal that was told of the end first refuses the append, for no other reason.
      const failure = this.#ended !== undefined && !(error instanceof WireError) ? closed() : error;
      const cause = failure instanceof WireError ? failure.name : "INTERNAL_ERROR";
      metrics.uncommitted(this.envId, cause);
      end(cause);
      throw failure;
    } finally {
      this.#running = undefined;
      // An environment that kept its context may not report on a call that has been answered.
      running.waiters.clear();
      this.lastUsed = this.#parts.now();
    }
  }

  /** @throws WireError CAPACITY when too many wait; DEADLINE, CANCELLED, also while it waits */
  async #inTurn(call: Call, running: Running, waiter: Waiter): Promise<Outcome> {
    const { trials } = this.#parts;
    const owner = { name: this.principal, limit: waiter.maxTrials };
    if (!trials.tryEnter(owner)) await this.#queue(call, running, owner);
    try {
      const ids = this.#idsOf(waiter);
      return await call.run((seed, index, task) => this.#begin(call, running, ids, seed, index, task));
    } finally {
      trials.leave(this.principal);
    }
  }

  /** A line of the log, and a span where somebody collects them. @returns to be told how it ended */
  #traced({ method, seq }: Call, waiter: Waiter): (error?: string) => void {
    const { lent, tracer } = this.#parts;
    const end = tracer?.begin(method, waiter.trace, {
      "trailgym.session": this.id,
      "trailgym.env": this.envId,
      ...(seq === undefined ? {} : { "trailgym.seq": seq }),
    });
    if (!lent.log.isLevelEnabled("debug")) return end ?? ignore;
    const started = performance.now();
    return (error) => {
      end?.(error);
      const ms = performance.now() - started;
      const line = { method, env: this.envId, seq, ms, ...this.#idsOf(waiter) };
      if (error === undefined) lent.log.debug(line, "committed");
      else lent.log.debug({ ...line, error }, "not committed");
    };
  }

  #idsOf({ trace }: Waiter): LogIds {
    return { session: this.id, episode: this.#record?.episode?.id, trace: trace?.traceId };
  }

  async #queue(call: Call, running: Running, owner: Owner): Promise<void> {
    const timeoutMs = this.#timeoutOf(call);
    const ticket = this.#parts.trials.enter(owner, (position) => {
      for (const waiter of running.waiters) waiter.queued(position);
    });
    running.startedAt = performance.now();
    running.work = { end: (error) => ticket.giveUp(error) };
    const late = WireError.of("DEADLINE", `its turn did not come within ${timeoutMs} ms; nothing was run`, {
      timeoutMs,
    });
    const timer = setTimeout(() => ticket.giveUp(late), timeoutMs);
    try {
      await ticket.admitted;
    } finally {
      clearTimeout(timer);
      running.work = undefined;
    }
  }

  #timeoutOf({ timeoutMs }: Call): number {
    return timeoutMs ?? this.settings.stepTimeoutMs;
  }

  #assertFits(text: string): void {
    const limit = this.#parts.maxMessageBytes;
    // No UTF-16 unit takes more than three bytes.
    if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return;
    const message = `the reply has ${Buffer.byteLength(text)} bytes, ${limit} are allowed; nothing was committed`;
    throw WireError.of("MESSAGE_TOO_LARGE", message, { limit });
  }

  #begin(call: Call, running: Running, ids: LogIds, seed: number, index: number, task: string | null): Trial {
    const { env } = this;
    const { lent } = this.#parts;
    const trial = new Trial(
      {
        env: env.id,
        ids,
        seed,
        index,
        task: task === null ? undefined : env.tasks?.get(task),
        needs: env.definition.needs ?? [],
        timeoutMs: this.#timeoutOf(call),
        startedAt: (running.startedAt ??= performance.now()),
        onProgress: (fraction, message) => {
          for (const waiter of running.waiters) waiter.progress(fraction, message);
        },
      },
      lent,
    );
    running.work = trial;
    if (this.#ended !== undefined) trial.end(closed());
    if (running.cancelled !== undefined) trial.end(running.cancelled);
    return trial;
  }
}

function ignore(): void {
  // Nobody asked how it ended.
}

export function unknown(id: string, reason: EndReason | "unknown"): WireError {
  const why = { unknown: "never existed", closed: "was closed", expired: "ran out of its lease" }[reason];
  return WireError.of("UNKNOWN_SESSION", `session ${id} ${why}; open one with env/make`, { reason });
}

/** Whether two keys mean the same call, in whatever order their objects' keys were written. */
function sameCall(a: string, b: string): boolean {
  return a === b || canonicalJson(JSON.parse(a) as Json) === canonicalJson(JSON.parse(b) as Json);
}

function conflict(message: string, expected: number): WireError {
  return WireError.of("SEQ_CONFLICT", message, { expected });
}

function closed(): WireError {
  return cancelled("the session was closed");
}

function cancelled(message: string): WireError {
  return WireError.of("CANCELLED", message, {});
}
