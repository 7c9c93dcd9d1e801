/** Where do environments get their interpreters from? From here: one pool of processes for each language. */

import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Interpreter, InterpreterCall, InterpreterLimits, Language } from "trailgym/env";
import { beside } from "./paths.ts";
import { type Job, Pool, type PoolUse } from "./pool.ts";
import { programKey } from "./programs.ts";
import { SnapshotKeeper } from "./pyodide/keeper.ts";
import { snapshotFile } from "./pyodide/snapshot.ts";

export interface InterpreterOptions {
  /** The server's instance id; it is in the command line of every process. Default: a random one. */
  instance?: string;
  /**
   * Processes for each language. Default 2. While calls take long, up to four times as many: they must not hold up the others.
   */
  processes?: number | Partial<Record<Language, number>>;
  /** End a process that had nothing to do for so long. Default 0: keep it. */
  idleMs?: number;
  /** Limits of calls that do not bring their own. */
  limits?: Partial<InterpreterLimits>;
}

export interface Interpreters extends AsyncDisposable {
  /** @param owner who will call: callers take turns. Default: each program is a caller. */
  interpreter(language: Language, owner?: string): Interpreter;
  /** For metrics. */
  use(): Record<Language, PoolUse>;
  /** Process ids of a language's running processes. */
  pids(language: Language): number[];
}

export const DEFAULT_LIMITS: InterpreterLimits = {
  timeMs: 3_000,
  memoryMb: 128,
  outputBytes: 1_048_576,
  stateBytes: 8 * 1_048_576,
};

const DEFAULT_PROCESSES = 2;
// The thread that ends the process with its server is a worker.
const CONFINED = ["--permission", "--allow-fs-read=*", "--allow-worker"];

/** Starts nothing before the first call. Disposing it leaves no process, whatever the processes are doing. */
export function createInterpreters(options: InterpreterOptions = {}): Interpreters {
  const { instance = randomUUID(), processes = DEFAULT_PROCESSES, idleMs = 0 } = options;
  const size = (language: Language) =>
    (typeof processes === "number" ? processes : processes[language]) ?? DEFAULT_PROCESSES;
  const snapshot = snapshotFile();
  const keeper = new SnapshotKeeper(snapshot);
  const pools: Record<Language, Pool> = {
    // Neither process may write a file, start a process or open an inspector, should a program ever get out of its interpreter.
    javascript: new Pool({
      language: "javascript",
      command: {
        file: fileURLToPath(beside(import.meta.url, "./isolate/main.ts")),
        nodeOptions: [...CONFINED, "--allow-addons", "--no-node-snapshot"],
        instance,
      },
      size: size("javascript"),
      idleMs,
      graceMs: 100,
      loadMs: 0,
      startMs: 30_000,
    }),
    python: new Pool({
      language: "python",
      command: {
        file: fileURLToPath(beside(import.meta.url, "./pyodide/main.ts")),
        args: [snapshot],
        nodeOptions: [...CONFINED, "--disallow-code-generation-from-strings"],
        instance,
      },
      size: size("python"),
      idleMs,
      graceMs: 100,
      loadMs: 400,
      startMs: 120_000,
    }),
  };
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return {
    interpreter: (language, owner) => ({
      language,
      call(call, signal) {
        if (language === "python") keeper.begin();
        return pools[language].run({ ...jobOf(call, { ...limits, ...call.limits }, signal), owner });
      },
    }),
    use: () => ({ javascript: pools.javascript.use, python: pools.python.use }),
    pids: (language) => pools[language].pids,
    async [Symbol.asyncDispose]() {
      await Promise.all([...Object.values(pools), keeper].map((owned) => owned[Symbol.asyncDispose]()));
    },
  };
}

function jobOf(call: InterpreterCall, limits: InterpreterLimits, signal: AbortSignal): Job {
  const { entry, state, args = [] } = call;
  const key = programKey(call, limits.memoryMb);
  return {
    head: { key, entry, hasState: state !== undefined, limits },
    text: call,
    args: JSON.stringify(args),
    state,
    signal,
  };
}
