/** How is one episode played? Gymnasium's verbs on one session of the server, each step executed exactly once. */

import { type MethodName, type ParamsOf, type ResultOf, type Role, WireError } from "trailgym/protocol";
import { before } from "./connection/backoff.ts";
import type { Batch } from "./connection/call.ts";
import type { CapacityOptions } from "./capacity.ts";
import type { CallOptions, Connection } from "./connection/connection.ts";
import { ClientError, ClosedError } from "./errors.ts";
import { readResult } from "./connection/results.ts";
import { Turn } from "./turn.ts";

export interface StepOptions extends CallOptions {
  /** Deadline of this call, 1 to 86 400 000 ms; default the session's. The server kills the trial and says DEADLINE. */
  timeoutMs?: number | undefined;
}

export interface ResetOptions extends StepOptions {
  /** An integer from 0. Absent: the server draws one and the result says it. */
  seed?: number | undefined;
  /** A task's id. Absent: the seed chooses one of `split`. */
  task?: string | undefined;
  split?: string | undefined;
  /** Win over those of `make`, key by key. */
  options?: Record<string, unknown> | undefined;
}

/** `reward`, `info` and `episodeReturn` are there: who trains or watches is told. An agent's results are in `agent.ts`. */
export type ResetResult<Observation = unknown> = ResultOf<"env/reset"> & { observation: Observation };
/** `finalObservation` and `finalInfo` only with `sameStep` autoreset, in the step that ended an episode. */
export type StepResult<Observation = unknown> = ResultOf<"env/step"> & {
  observation: Observation;
  reward: number;
  info: Record<string, unknown>;
  finalObservation?: Observation;
};
export type ObserveResult<Observation = unknown> = ResultOf<"env/observe"> & {
  observation: Observation;
  info: Record<string, unknown>;
  episodeReturn: number;
};

type Mutating = "env/reset" | "env/step" | "env/restore";

/** For `VectorEnv`; not exported by the package. */
export const mutate = Symbol("mutate");

/** What a session needs of the client that gave it. */
export interface SessionParts {
  readonly connection: Connection;
  readonly id: string;
  /** Undefined for one that was attached: the server does not say. */
  readonly env: string | undefined;
  readonly seq: number;
  /** Made or forked by this client, which therefore closes it. */
  readonly own: boolean;
  forked(source: { session: string }, count: number, options: CapacityOptions | undefined): Promise<Session[]>;
  gone(session: Session): void;
}

/**
 * A client's hold on one running episode. Survives a lost socket: the client attaches it again and repeats what was not
 * answered, with the same `seq`, so the caller sees a late reply and the server executes each call once.
 *
 * Errors of every verb: WireError as in the method's documentation; ClientError for what did not cross the wire.
 * After a WireError the state is as it was, and so is `seq`.
 */
export class Session<Observation = unknown, Action = unknown> implements AsyncDisposable {
  readonly id: string;
  readonly env: string | undefined;
  readonly #parts: SessionParts;
  readonly #turn: Turn;
  #closing: Promise<void> | undefined;

  constructor(parts: SessionParts) {
    this.id = parts.id;
    this.env = parts.env;
    this.#parts = parts;
    this.#turn = new Turn(parts.id, parts.seq);
    parts.connection.held.add(parts.id);
  }

  /** The number that the next reset, step or restore will have. */
  get seq(): number {
    return this.#turn.seq;
  }

  /** Starts an episode. */
  async reset(options: ResetOptions = {}): Promise<ResetResult<Observation>> {
    return (await this[mutate]("env/reset", ...split(options))) as ResetResult<Observation>;
  }

  /**
   * Plays one action. `terminated`: do not bootstrap; `truncated`: bootstrap.
   * @throws SessionBusy while another reset, step or restore of this session runs; LateCommit once after one that was
   * abandoned and committed all the same.
   */
  async step(action: Action, options: StepOptions = {}): Promise<StepResult<Observation>> {
    return (await this[mutate]("env/step", ...split({ action, ...options }))) as StepResult<Observation>;
  }

  /** Goes on from a snapshot of the same environment. */
  async restore(snapshot: SnapshotRef, options: CallOptions = {}): Promise<ObserveResult<Observation>> {
    const params = { snapshot: idOf(snapshot), ...options };
    return (await this[mutate]("env/restore", ...split(params))) as ObserveResult<Observation>;
  }

  /** The last committed value. Never waits for a running step. */
  async observe(options?: CallOptions): Promise<ObserveResult<Observation>> {
    return (await this.#ask("env/observe", { session: this.id }, options)) as ObserveResult<Observation>;
  }

  /** Names the last committed value. It outlives the session. @throws ConnectionLost when it may or may not have been made. */
  snapshot(label?: string, options?: CallOptions): Promise<ResultOf<"env/snapshot">> {
    return this.#ask("env/snapshot", { session: this.id, label }, options);
  }

  /** Independent copies of the last committed value. @param count 1 to 1024. */
  async fork(count: number, options?: CapacityOptions): Promise<Session<Observation, Action>[]> {
    this.#assertOpen();
    return (await this.#parts.forked({ session: this.id }, count, options)) as Session<Observation, Action>[];
  }

  /**
   * After SEQ_GAP, SEQ_CONFLICT or on a session that somebody else steps too: takes the server's `seq` and returns where
   * the session is, with the last reply. Never done unasked: a call between may be lost to this client.
   */
  async resync(options?: CallOptions): Promise<ResultOf<"session/attach">> {
    await this.#turn.admit("session/attach");
    const attached = await this.#ask("session/attach", { session: this.id }, options);
    this.#turn.resync(attached.seq);
    return attached;
  }

  /** Lets go without closing: the session lives on, for another client, until its lease runs out. */
  detach(): void {
    this.#closing ??= Promise.resolve();
    this.#forget();
  }

  /** Ends the session and what runs in it; a running call gets CANCELLED. Again: waits for the first. */
  close(options?: CallOptions): Promise<void> {
    return (this.#closing ??= this.#close(options).catch((error: unknown) => {
      this.#closing = undefined;
      throw error;
    }));
  }

  /** Closes a session that this client made; only lets go of one that it attached to. Needs no server. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#parts.own) return this.detach();
    try {
      await this.close();
    } catch (error) {
      // Without a connection the lease closes it; that must not hide the error which ended the caller's block.
      if (!(error instanceof ClientError)) throw error;
    }
  }

  /** @param batch collects the call instead of sending it. @param params without `session` and `seq`. */
  async [mutate]<N extends Mutating>(
    method: N,
    params: Omit<ParamsOf<N>, "session" | "seq">,
    options: CallOptions,
    batch?: Batch,
  ): Promise<ResultOf<N>> {
    this.#assertOpen();
    const turn = this.#turn;
    for (let wait = turn.admit(method); wait !== undefined; wait = turn.admit(method)) {
      await before(wait, options.signal);
    }
    const { connection, id } = this.#parts;
    const numbered = { session: id, seq: turn.seq, ...params } as unknown as ParamsOf<N>;
    const { call, reply } = connection.ask(method, numbered, {
      ...options,
      batch,
      onSettled: (settled, raw) =>
        turn.settle(settled, raw && (() => readable(method, raw.result, connection.welcome.role))),
    });
    turn.begin(call);
    return reply;
  }

  async #ask<N extends MethodName>(method: N, params: ParamsOf<N>, options?: CallOptions): Promise<ResultOf<N>> {
    this.#assertOpen();
    return this.#parts.connection.ask(method, params, options).reply;
  }

  async #close(options: CallOptions | undefined): Promise<void> {
    try {
      await this.#parts.connection.ask("env/close", { session: this.id }, options).reply;
    } catch (error) {
      // Expired, or closed by another client: gone is what was asked for.
      if (!(error instanceof WireError && error.name === "UNKNOWN_SESSION")) throw error;
    }
    this.#forget();
  }

  #forget(): void {
    this.#parts.connection.held.delete(this.id);
    this.#parts.gone(this);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError("session");
  }
}

/** A snapshot's id, or what `snapshot()` returned. */
export type SnapshotRef = string | { readonly snapshot: string };

export function idOf(snapshot: SnapshotRef): string {
  return typeof snapshot === "string" ? snapshot : snapshot.snapshot;
}

/** What crosses the wire, and what does not. */
function split<P extends CallOptions>(all: P): [Omit<P, keyof CallOptions>, CallOptions] {
  const { signal, onProgress, ...params } = all;
  return [params, { signal, onProgress }];
}

/** A late result for LateCommit; raw where it is malformed, because nobody can be told of that any more. */
function readable(method: MethodName, raw: unknown, role: Role): unknown {
  try {
    return readResult(method, raw, role);
  } catch {
    return raw;
  }
}
