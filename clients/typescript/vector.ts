/** How are many sessions stepped with one frame? */

import type { Batch } from "./connection/call.ts";
import type { CallOptions, Connection } from "./connection/connection.ts";
import { mutate, type ResetOptions, type Session, type StepOptions } from "./session.ts";

/** `errors[i]` is set when environment `i` failed, and then its other entries say nothing: undefined, NaN, false. */
interface Outcomes<Observation> {
  readonly observations: (Observation | undefined)[];
  readonly infos: (Record<string, unknown> | undefined)[];
  /** A WireError, a ClientError or the signal's reason. The environment is as it was, unless it is a ProtocolViolation. */
  readonly errors: unknown[];
}

export interface VectorReset<Observation = unknown> extends Outcomes<Observation> {
  readonly seeds: (number | undefined)[];
  readonly tasks: (string | null | undefined)[];
}

export interface VectorStep<Observation = unknown> extends Outcomes<Observation> {
  /** NaN where there is none: an error must not pass for a reward of 0. */
  readonly rewards: Float64Array;
  readonly terminated: boolean[];
  readonly truncated: boolean[];
  /** With `sameStep` autoreset, where an episode ended in this step. */
  readonly finalObservations: (Observation | undefined)[];
  readonly finalInfos: (Record<string, unknown> | undefined)[];
}

export interface VectorResetOptions extends Omit<ResetOptions, "seed" | "task"> {
  /** One for each, or a first one: environment `i` gets `seed + i`. */
  seed?: number | readonly number[] | undefined;
  /** One for each, or one for all. */
  task?: string | readonly string[] | undefined;
  /** Indices of those to reset; the others' entries stay empty. Default all. */
  only?: readonly number[] | undefined;
}

/**
 * Sessions of one environment, stepped together: one JSON-RPC batch for all, or as many as `limits.maxBatch` and
 * `maxMessageBytes` ask for. A call rejects only for a wrong number of arguments; everything else is in `errors`.
 */
export class VectorEnv<Observation = unknown, Action = unknown> implements AsyncDisposable {
  readonly sessions: readonly Session<Observation, Action>[];
  readonly #connection: Connection;

  constructor(connection: Connection, sessions: readonly Session<Observation, Action>[]) {
    this.#connection = connection;
    this.sessions = sessions;
  }

  get size(): number {
    return this.sessions.length;
  }

  async reset(options: VectorResetOptions = {}): Promise<VectorReset<Observation>> {
    const { seed, task, only, signal, onProgress, ...shared } = options;
    const chosen = only === undefined ? undefined : new Set(only);
    this.#assertSize("seeds", seed);
    this.#assertSize("tasks", task);
    const outcomes = await this.#together((session, i, batch) => {
      if (chosen?.has(i) === false) return undefined;
      const own = { ...shared, seed: typeof seed === "number" ? seed + i : seed?.[i], task: each(task, i) };
      return session[mutate]("env/reset", own, { signal, onProgress }, batch);
    });
    return {
      ...common<Observation>(outcomes),
      seeds: outcomes.map((outcome) => valueOf(outcome)?.seed),
      tasks: outcomes.map((outcome) => valueOf(outcome)?.task),
    };
  }

  /** @param actions one for each; undefined leaves that environment alone (its entries stay empty, without an error). */
  async step(actions: readonly (Action | undefined)[], options: StepOptions = {}): Promise<VectorStep<Observation>> {
    this.#assertSize("actions", actions);
    const { timeoutMs, ...rest } = options;
    const outcomes = await this.#together((session, i, batch) => {
      const action = actions[i];
      if (action === undefined) return undefined;
      return session[mutate]("env/step", { action, timeoutMs }, rest, batch);
    });
    return {
      ...common<Observation>(outcomes),
      rewards: Float64Array.from(outcomes, (outcome) => valueOf(outcome)?.reward ?? NaN),
      terminated: outcomes.map((outcome) => valueOf(outcome)?.terminated === true),
      truncated: outcomes.map((outcome) => valueOf(outcome)?.truncated === true),
      finalObservations: outcomes.map((outcome) => valueOf(outcome)?.finalObservation as Observation | undefined),
      finalInfos: outcomes.map((outcome) => valueOf(outcome)?.finalInfo),
    };
  }

  /** Closes every session. @throws the first error, after all were tried. */
  async close(options?: CallOptions): Promise<void> {
    const outcomes = await Promise.allSettled(this.sessions.map((session) => session.close(options)));
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.sessions.map((session) => session[Symbol.asyncDispose]()));
  }

  /** Each call is collected before the first await, so all of them share the frame. */
  async #together<R>(
    make: (session: Session<Observation, Action>, i: number, batch: Batch) => Promise<R> | undefined,
  ): Promise<(PromiseSettledResult<R> | undefined)[]> {
    const batch: Batch = { open: true, calls: [] };
    const calls = this.sessions.map((session, i) => make(session, i, batch));
    this.#connection.send(batch);
    return Promise.all(calls.map(async (call) => call && (await Promise.allSettled([call]))[0]));
  }

  #assertSize(what: string, given: unknown): void {
    if (!Array.isArray(given) || given.length === this.size) return;
    throw new RangeError(`${given.length} ${what} for ${this.size} environments`);
  }
}

type Outcome<R> = PromiseSettledResult<R> | undefined;

function common<Observation>(
  outcomes: Outcome<{ observation?: unknown; info?: Record<string, unknown> | undefined }>[],
) {
  return {
    observations: outcomes.map((outcome) => valueOf(outcome)?.observation as Observation | undefined),
    infos: outcomes.map((outcome) => valueOf(outcome)?.info),
    errors: outcomes.map((outcome): unknown => (outcome?.status === "rejected" ? outcome.reason : undefined)),
  };
}

function valueOf<R>(outcome: Outcome<R>): R | undefined {
  return outcome?.status === "fulfilled" ? outcome.value : undefined;
}

function each(task: string | readonly string[] | undefined, i: number): string | undefined {
  return typeof task === "string" ? task : task?.[i];
}
