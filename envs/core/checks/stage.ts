/** One call of an environment's code, watched: what it is lent, what it must not touch, and how long it may take. */

import { canonical } from "trailgym/protocol";
import type { AnyEnv, EnvContext } from "../define.ts";
import { rng } from "../rng.ts";
import { type Interpreter, type Language, SandboxLost, SandboxUnavailable } from "../sandbox.ts";
import { Listener, listening } from "./chance.ts";
import { type Findings, messageOf, type Place } from "./finding.ts";

/** Where interpreters come from; a server's own fit. */
export interface Lender {
  interpreter(language: Language): Interpreter;
}

export interface Start {
  seed: number;
  /** Undefined where the environment has no tasks. */
  taskId: string | undefined;
  task: unknown;
}

export interface CallBegins {
  call: Call;
  at: Place;
}

type Call = "reset" | "step" | "reference" | "checkTask";

const advice: Record<Call, string> = {
  reset: "return an outcome for every options and task that the schemas allow",
  step: "a policy's mistake is an observation, not an exception",
  reference: "give the actions that reach the return, from the state right after reset",
  checkTask: "return what is wrong as sentences",
};

const failed = Symbol("failed");

export class Stage {
  readonly definition: AnyEnv;
  readonly findings: Findings;
  /** A call did not come back: the next would wait as long, and say the same. */
  hung = false;
  readonly #lender: Lender | undefined;
  readonly #callMs: number;
  readonly #onCall: ((begins: CallBegins) => void) | undefined;
  /** Of the call that runs; calls follow one another. */
  #signal: AbortSignal = new AbortController().signal;

  constructor(
    definition: AnyEnv,
    findings: Findings,
    lender: Lender | undefined,
    callMs: number,
    onCall: ((begins: CallBegins) => void) | undefined,
  ) {
    this.definition = definition;
    this.findings = findings;
    this.#lender = lender;
    this.#callMs = callMs;
    this.#onCall = onCall;
  }

  /**
   * @param index 0 for the reset, n for the n-th step; with the seed it makes the context's rng.
   * @param inputs what `work` passes on beside the context: frozen here, and compared afterwards.
   * @returns undefined when the call failed, which is then a finding.
   */
  async call<T>(
    name: Call,
    start: Start,
    index: number,
    inputs: Record<string, unknown>,
    work: (ctx: EnvContext) => T | Promise<T>,
  ): Promise<{ value: T } | undefined> {
    const at = placeOf(start, index);
    const watched: Record<string, unknown> = { ...inputs, task: start.task };
    const before = Object.entries(watched).map(([key, value]) => [key, textOf(value)] as const);
    for (const input of Object.values(inputs)) freeze(input);
    this.#onCall?.({ call: name, at });
    const listener = new Listener();
    const value = await this.#attempt(name, at, listener, () => work(this.#context(start, index, listener)));
    for (const source of listener.heard) {
      this.findings.error("chance", `${name} uses ${source}: draw from ctx.rng, and do without a clock`, at);
    }
    const changed = before
      .filter(([key, text]) => text !== undefined && textOf(watched[key]) !== text)
      .map(([key]) => key);
    for (const key of changed) {
      this.findings.error(
        "mutates-input",
        `${name} changes its ${key}: return a new value and leave the old one as it is`,
        at,
      );
    }
    return value === failed || changed.length > 0 ? undefined : { value };
  }

  async #attempt<T>(name: Call, at: Place, listener: Listener, work: () => T | Promise<T>): Promise<T | typeof failed> {
    const abort = new AbortController();
    this.#signal = abort.signal;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<typeof failed>((resolve) => {
      timer = setTimeout(() => {
        this.findings.error(
          "timeout",
          `${name} is not done after ${this.#callMs} ms: pass ctx.signal to whatever it waits for`,
          at,
        );
        this.hung = true;
        abort.abort(new Error("deadline"));
        resolve(failed);
      }, this.#callMs);
    });
    try {
      return await listening(listener, () => Promise.race([work(), late]));
    } catch (error) {
      this.#blame(name, error, at);
      return failed;
    } finally {
      clearTimeout(timer);
    }
  }

  #blame(name: Call, error: unknown, at: Place): void {
    if (error instanceof UndeclaredNeed) return;
    if (error instanceof SandboxUnavailable || error instanceof SandboxLost) {
      return this.findings.warning("not-played", `no episode could be played: ${error.message}`, at);
    }
    // What a write to a frozen object throws; the inputs are the only frozen ones that a call is given.
    if (
      error instanceof TypeError &&
      /read only|not extensible|Cannot (delete|redefine) property/.test(error.message)
    ) {
      const message = `${name} changes its inputs (${error.message}): return a new value and leave the old one as it is`;
      return this.findings.error("mutates-input", message, at);
    }
    this.findings.error("throws", `${name} throws "${messageOf(error)}": ${advice[name]}`, at);
  }

  #context(start: Start, index: number, listener: Listener): EnvContext {
    return {
      rng: rng(start.seed, index),
      signal: this.#signal,
      task: start.task,
      log: () => undefined,
      progress: () => undefined,
      interpreter: (language) => this.#lend(language, placeOf(start, index), listener),
    };
  }

  #lend(language: Language, at: Place, listener: Listener): Interpreter {
    const need = `interpreter:${language}` as const;
    if (!this.definition.needs?.includes(need)) {
      this.findings.error(
        "undeclared-need",
        `it asks for an interpreter that it does not name: add "${need}" to needs`,
        at,
      );
      throw new UndeclaredNeed(need);
    }
    if (this.#lender === undefined) throw new SandboxUnavailable(need, `nobody lent ${need}`);
    const lent = this.#lender.interpreter(language);
    return { language, call: (call, signal) => listener.pause(() => lent.call(call, signal)) };
  }
}

class UndeclaredNeed extends Error {}

export function placeOf({ seed, taskId }: Start, step: number): Place {
  return { ...(taskId === undefined ? {} : { task: taskId }), seed, step };
}

/** Undefined for what the codec refuses: a task may hold functions, and those are not compared. */
function textOf(value: unknown): string | undefined {
  try {
    return value === undefined ? undefined : canonical(value);
  } catch {
    return undefined;
  }
}

/** Plain objects and lists, deeply; JavaScript cannot freeze buffers, and class instances are refused elsewhere. */
function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return;
  Object.freeze(value);
  for (const item of Object.values(value)) freeze(item);
}
