/** One uncommitted run of an environment's code: what it may use, when it must stop, and whose fault a failure is. */

import {
  type EnvContext,
  type Interpreter,
  type Language,
  type Model,
  ModelUnavailable,
  rng,
  type Rng,
  SandboxLost,
  SandboxUnavailable,
} from "trailgym/env";
import { WireError } from "trailgym/protocol";
import type { Logger } from "pino";

export interface Lent {
  /** @throws SandboxUnavailable */
  interpreter(language: Language): Interpreter;
  /** Undefined where none is configured. */
  model?: Model | undefined;
  log: Logger;
}

export type ProgressListener = (fraction: number, message: string | undefined) => void;

/** What a line of the log is found by. */
export interface LogIds {
  session: string;
  episode: string | undefined;
  trace: string | undefined;
}

export interface TrialOptions {
  env: string;
  /** Undefined for what no client asked for. */
  ids?: LogIds;
  seed: number;
  /** 0 for a reset, n for the n-th step of the episode. */
  index: number;
  task: unknown;
  needs: readonly string[];
  timeoutMs: number;
  /** When the time began to run, in ms of `performance.now()`: for a trial that is not its call's first. Default: now. */
  startedAt?: number | undefined;
  onProgress: ProgressListener;
}

/**
 * Runs `work` once. Nothing it did is visible unless the caller commits what it returned. A synchronous environment costs
 * no timer and no signal: both come into being when first asked for.
 */
export class Trial implements EnvContext {
  readonly #options: TrialOptions;
  readonly #lent: Lent;
  #rng: Rng | undefined;
  #abort: AbortController | undefined;
  #ended: WireError | undefined;
  #reject: ((error: WireError) => void) | undefined;

  constructor(options: TrialOptions, lent: Lent) {
    this.#options = options;
    this.#lent = lent;
  }

  get seed(): number {
    return this.#options.seed;
  }

  get index(): number {
    return this.#options.index;
  }

  get task(): unknown {
    return this.#options.task;
  }

  get rng(): Rng {
    return (this.#rng ??= rng(this.#options.seed, this.#options.index));
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#ended !== undefined) this.#abort.abort(this.#ended);
    return this.#abort.signal;
  }

  log(message: string, fields?: Record<string, unknown>): void {
    this.#lent.log.info({ ...fields, env: this.#options.env, ...this.#options.ids }, message);
  }

  progress(fraction: number, message?: string): void {
    // Written so that NaN counts as no progress.
    if (this.#ended === undefined) this.#options.onProgress(fraction > 0 ? Math.min(1, fraction) : 0, message);
  }

  interpreter(language: Language): Interpreter {
    const need = `interpreter:${language}`;
    if (!this.#options.needs.includes(need))
      throw new Error(`${this.#options.env} does not name "${need}" in its needs`);
    return this.#lent.interpreter(language);
  }

  get model(): Model | undefined {
    if (!this.#options.needs.includes("model"))
      throw new Error(`${this.#options.env} does not name "model" in its needs`);
    return this.#lent.model;
  }

  /** Ends the trial from outside: its signal is aborted and {@link run} rejects with `error`. Later ends are ignored. */
  end(error: WireError): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#abort?.abort(error);
    this.#reject?.(error);
  }

  /** @throws WireError: what `end` was given, DEADLINE, SANDBOX_LOST, SANDBOX_UNAVAILABLE, or ENV_FAULT. */
  async run<T>(work: () => T | Promise<T>): Promise<T> {
    const { startedAt = performance.now(), timeoutMs } = this.#options;
    const deadline = startedAt + timeoutMs;
    try {
      this.#assertGoing();
      const result = work();
      const value = result instanceof Promise ? await this.#before(deadline, result) : result;
      // A synchronous trial can't be interrupted by a timer; being late is judged when it returns.
      if (performance.now() > deadline) throw this.#deadline();
      this.#assertGoing();
      return value;
    } catch (error) {
      throw this.#ended ?? this.#attribute(error);
    }
  }

  #assertGoing(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  async #before<T>(deadline: number, result: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.end(this.#deadline()), Math.max(0, deadline - performance.now()));
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#reject = reject;
        if (this.#ended !== undefined) reject(this.#ended);
        result.then(resolve, reject);
      });
    } finally {
      clearTimeout(timer);
      this.#reject = undefined;
    }
  }

  #deadline(): WireError {
    const { timeoutMs } = this.#options;
    return WireError.of("DEADLINE", `not done within ${timeoutMs} ms; the state is as it was`, { timeoutMs });
  }

  /** Environments throw plain errors; which side failed is said here and nowhere else. */
  #attribute(error: unknown): WireError {
    if (error instanceof WireError) return error;
    if (error instanceof SandboxLost) return WireError.of("SANDBOX_LOST", error.message, {});
    if (error instanceof SandboxUnavailable) {
      return WireError.of("SANDBOX_UNAVAILABLE", error.message, { need: error.need });
    }
    if (error instanceof ModelUnavailable) return WireError.of("SANDBOX_UNAVAILABLE", error.message, { need: "model" });
    this.#lent.log.error({ env: this.#options.env, ...this.#options.ids, err: error }, "environment failed");
    return fault(this.#options.env, error instanceof Error ? error.message : String(error));
  }
}

export function fault(env: string, problem: string): WireError {
  return WireError.of("ENV_FAULT", `${env}: ${problem}`, {});
}
