/** What a server lends to environments for code that nobody trusts. Environments see these interfaces and nothing beneath. */

export type Language = "javascript" | "python";

export interface InterpreterLimits {
  /** Wall time of one call, loading included. Default 3,000. */
  timeMs: number;
  /** Memory of the program and its state, in MiB. Default 128. */
  memoryMb: number;
  /** Bytes of returned value plus printed output. Default 1 MiB. */
  outputBytes: number;
  /** Bytes of the encoded state. Default 8 MiB. */
  stateBytes: number;
}

/**
 * One call into a program. A program is source text, run in order in one fresh module scope. `entry` names a function that
 * it defines:
 *
 *     entry(state, ...args) → [value, newState]
 *
 * `state` is the object that `newState` was in an earlier call (`null` / `None` in the first); `value` and `args` are plain
 * JSON. The call may mutate `state` freely: it works on a copy that is thrown away unless the outcome is `ok`.
 * What the program keeps outside its state (globals, class attributes) does not outlive the call.
 */
export interface InterpreterCall {
  /** Source texts; equal sources share compiled code. JavaScript runs as scripts, so a later text sees an earlier one's `const`. */
  program: readonly string[];
  /** Python only: modules that the program may import beside the standard library, as name → source. */
  modules?: Readonly<Record<string, string>>;
  entry: string;
  /** `state` of an earlier outcome of the same program, unchanged; absent in the first call. */
  state?: Uint8Array;
  args?: readonly unknown[];
  limits?: Partial<InterpreterLimits>;
}

/**
 * How a call ended. Each limit has its own outcome, and none of them throws: what a program does is data.
 * A host that fails for its own reasons rejects with SandboxLost or SandboxUnavailable instead.
 */
export type InterpreterOutcome =
  | { status: "ok"; value: unknown; state: Uint8Array; output: string }
  /** The program raised, or does not compile. `trace` names lines of the program, never host paths. */
  | { status: "raised"; error: { type: string; message: string; trace: string }; output: string }
  /** `timeMs` passed, or the signal was aborted: the work itself was killed. */
  | { status: "timeout" }
  | { status: "outOfMemory" }
  | { status: "outputTooLarge" }
  | { status: "stateTooLarge" }
  /** The state or value cannot be encoded (a function, a generator, a cycle in a value …). */
  | { status: "unencodable"; message: string }
  /** The program took its process down in another way (stack overflow in native code, abort). */
  | { status: "crashed"; message: string };

export interface Interpreter {
  readonly language: Language;
  /** @param signal aborting kills the call; its outcome is then `timeout`. */
  call(call: InterpreterCall, signal: AbortSignal): Promise<InterpreterOutcome>;
}

/** The sandbox died for a reason that is not the program's. The engine answers SANDBOX_LOST. */
export class SandboxLost extends Error {
  override readonly name = "SandboxLost";
}

/** No backend for what an environment needs; `need` as in `needs`, the message says what to install. */
export class SandboxUnavailable extends Error {
  override readonly name = "SandboxUnavailable";
  readonly need: string;
  constructor(need: string, message: string) {
    super(message);
    this.need = need;
  }
}
