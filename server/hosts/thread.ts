/** Runs one environment's code on a thread of its own, where a call that never returns can be ended from outside. */

import { parentPort, workerData } from "node:worker_threads";
import {
  type AnyEnv,
  type EnvContext,
  type Interpreter,
  rng,
  SandboxLost,
  SandboxUnavailable,
  type InterpreterOutcome,
} from "trailgym/env";
import { decode, encode, type Json } from "trailgym/protocol";
import { cell, type FromThread, type InterpreterAnswer, type ToThread } from "./messages.ts";

const { file, cells } = workerData as { file: string; cells: Int32Array };
const port = parentPort as NonNullable<typeof parentPort>;
const send = (message: FromThread) => port.postMessage(message);

const definition = ((await import(file)) as { default: AnyEnv }).default;
const aborts = new Map<number, AbortController>();
const asked = new Map<number, (answer: InterpreterAnswer) => void>();
let asks = 0;

/** Log lines of one call that reach the server, and characters of each. */
const maxLogLines = 1000;
const maxLogLength = 8192;
/** Between two progress reports of one call; the wire passes on as many. */
const progressIntervalMs = 100;

port.on("message", (message: ToThread) => {
  switch (message.type) {
    case "call":
      return void take(message);
    case "abort":
      return aborts.get(message.id)?.abort(new Error("the call was ended"));
    case "interpreted":
      asked.get(message.ask)?.(message.answer);
      asked.delete(message.ask);
  }
});
send({ type: "ready" });

async function take({ id, verb, seed, index, task, values }: Extract<ToThread, { type: "call" }>): Promise<void> {
  const abort = new AbortController();
  aborts.set(id, abort);
  Atomics.add(cells, cell.pulse, 1);
  try {
    Atomics.store(cells, cell.current, id);
    const started = run(verb, context(id, seed, index, task, abort.signal), values);
    Atomics.store(cells, cell.current, 0);
    send({ type: "done", id, outcome: encode(await started) });
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    send({
      type: "failed",
      id,
      message,
      stack,
      ...(error instanceof SandboxUnavailable ? { unavailable: error.need } : {}),
      ...(error instanceof SandboxLost ? { lost: true } : {}),
    });
  } finally {
    Atomics.store(cells, cell.current, 0);
    Atomics.add(cells, cell.pulse, 1);
    aborts.delete(id);
  }
}

function run(verb: "reset" | "step" | "reference", ctx: EnvContext, values: Json[]): unknown {
  const [first, second] = values.map((value) => decode(value));
  switch (verb) {
    case "reset":
      return definition.reset(ctx, first);
    case "step":
      return definition.step(ctx, first, second);
    case "reference":
      return definition.reference?.(ctx, first);
  }
}

function context(id: number, seed: number, index: number, task: unknown, signal: AbortSignal): EnvContext {
  return {
    rng: rng(seed, index),
    signal,
    task,
    log: logger(id),
    progress: reporter(id),
    interpreter: (language): Interpreter => ({
      language,
      call(call) {
        const ask = ++asks;
        return new Promise<InterpreterOutcome>((resolve, reject) => {
          asked.set(ask, (answer) => {
            if ("outcome" in answer) return resolve(answer.outcome);
            const { kind, message, need = "" } = answer.failure;
            const errors = {
              lost: () => new SandboxLost(message),
              unavailable: () => new SandboxUnavailable(need, message),
              other: () => new Error(message),
            };
            reject(errors[kind]());
          });
          // The signal of the call's own trial is watched on the other side; this one cannot cross.
          send({ type: "interpret", id, ask, language, call });
        });
      },
    }),
  };
}

/** An environment that logs in a loop would keep the server busy with its words instead of with its neighbours. */
function logger(id: number): EnvContext["log"] {
  let lines = 0;
  return (message, fields) => {
    if (lines++ > maxLogLines) return;
    const text = lines > maxLogLines ? "further lines of this call are not logged" : String(message);
    const tooLong = fields !== undefined && JSON.stringify(fields).length > maxLogLength;
    send({ type: "log", id, message: text.slice(0, maxLogLength), fields: tooLong ? { fields: "too long" } : fields });
  };
}

function reporter(id: number): EnvContext["progress"] {
  let last = -Infinity;
  return (fraction, message) => {
    const now = performance.now();
    if (now - last < progressIntervalMs) return;
    last = now;
    send({ type: "progress", id, fraction, message });
  };
}
