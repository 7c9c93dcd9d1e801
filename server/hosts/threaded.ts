/**
 * An environment whose code runs on threads of its own. The server cannot interrupt a synchronous loop on its own thread;
 * here it ends the thread. Since a trial is a pure function of what it was given, other calls of that thread are simply
 * run again on another.
 */

import { Worker } from "node:worker_threads";
import { type AnyEnv, SandboxLost, SandboxUnavailable } from "trailgym/env";
import { decode, encode, type Json } from "trailgym/protocol";
import { beside } from "../sandboxes/paths.ts";
import type { Trial } from "../sessions/trial.ts";
import { cell, type FromThread, type InterpreterAnswer, type ToThread, type Verb } from "./messages.ts";

/** A thread whose pulse stands still this long gets no new calls, and the calls waiting behind it move on. */
const stuckMs = 100;
/** How long an aborted call may take to see its signal before its thread is ended. */
const abortGraceMs = 200;
/** Threads of one environment; beyond it calls wait behind those that stand still. */
const maxThreads = 8;
/** Heap of one thread; a runaway allocation ends the thread, not the server. */
const maxHeapMb = 512;

interface Call {
  id: number;
  verb: Verb;
  trial: Trial;
  values: Json[];
  resolve: (outcome: unknown) => void;
  reject: (error: Error) => void;
  /** Its thread died while it ran, and it could not be told by whom. */
  lost?: boolean;
}

interface Thread {
  worker: Worker;
  cells: Int32Array;
  calls: Map<number, Call>;
  stuck: boolean;
  /** The pulse last seen, and when it last changed. */
  pulse: number;
  pulseAt: number;
}

export type ThreadedEnv = AnyEnv & AsyncDisposable;

/** @param file absolute path or file URL of the definition's module. The schemas are used here, the functions there. */
export function threaded(definition: AnyEnv, file: string): ThreadedEnv {
  const threads = new Set<Thread>();
  let ids = 0;
  let watching: NodeJS.Timeout | undefined;

  const run =
    (verb: Verb) =>
    (trial: Trial, ...values: unknown[]) =>
      new Promise((resolve, reject) => {
        const call = { id: ++ids, verb, trial, values: values.map((value) => encode(value)), resolve, reject };
        trial.signal.addEventListener("abort", () => abort(call), { once: true });
        place(call);
      });

  return {
    ...definition,
    reset: run("reset"),
    step: run("step"),
    ...(definition.reference === undefined ? {} : { reference: run("reference") }),
    async [Symbol.asyncDispose]() {
      clearInterval(watching);
      const ending = [...threads];
      threads.clear();
      await Promise.all(ending.map(({ worker }) => worker.terminate()));
    },
  } as ThreadedEnv;

  function place(call: Call): void {
    // A call that may have killed its thread gets one of its own, so that the next death tells.
    const thread = (call.lost === true ? another() : free()) ?? shortest();
    const { id, verb, trial, values } = call;
    post(thread, { type: "call", id, verb, seed: trial.seed, index: trial.index, task: trial.task, values });
    if (thread.calls.size === 0) thread.pulseAt = performance.now();
    thread.calls.set(id, call);
    watching ??= setInterval(watch, stuckMs / 2).unref();
  }

  /** A thread that takes calls; undefined when all stand still and no more may be started. */
  function free(): Thread | undefined {
    return [...threads].find(({ stuck }) => !stuck) ?? another();
  }

  function another(): Thread | undefined {
    return threads.size < maxThreads ? start() : undefined;
  }

  function shortest(): Thread {
    return [...threads].reduce((a, b) => (b.calls.size < a.calls.size ? b : a));
  }

  function start(): Thread {
    const cells = new Int32Array(new SharedArrayBuffer(8));
    const worker = new Worker(beside(import.meta.url, "./thread.ts"), {
      workerData: { file, cells },
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.unref();
    // Until the module is loaded there is no pulse to miss.
    const thread: Thread = { worker, cells, calls: new Map(), stuck: false, pulse: -1, pulseAt: Infinity };
    threads.add(thread);
    worker.on("message", (message: FromThread) => {
      try {
        receive(thread, message);
      } catch (error) {
        // The environment has its thread's port too, and may have said anything.
        lose(thread, `its thread said what cannot be read: ${error instanceof Error ? error.message : String(error)}`);
        void worker.terminate();
      }
    });
    worker.on("error", (error: Error) => lose(thread, error.message));
    worker.on("exit", () => lose(thread, "it ended its own thread"));
    return thread;
  }

  function receive(thread: Thread, message: FromThread): void {
    if (message.type === "ready") {
      thread.pulse = Atomics.load(thread.cells, cell.pulse);
      thread.pulseAt = performance.now();
      return;
    }
    const call = thread.calls.get(message.id);
    // A late word about a call that moved to another thread, or was given up.
    if (call === undefined) return forsaken(thread, message);
    switch (message.type) {
      case "done":
        call.resolve(decode(message.outcome));
        return void thread.calls.delete(call.id);
      case "failed":
        thread.calls.delete(call.id);
        return call.reject(errorOf(message));
      case "log":
        return call.trial.log(message.message, message.fields);
      case "progress":
        return call.trial.progress(
          Number(message.fraction),
          message.message === undefined ? undefined : String(message.message).slice(0, 1000),
        );
      case "interpret":
        return void interpret(call.trial, message).then((answer) =>
          post(thread, { type: "interpreted", id: call.id, ask: message.ask, answer }),
        );
    }
  }

  /** Code that waits for an interpreter on behalf of nobody must not wait for ever. */
  function forsaken(thread: Thread, message: FromThread): void {
    if (message.type !== "interpret") return;
    const failure = { kind: "other" as const, message: "this call goes on in another thread" };
    post(thread, { type: "interpreted", id: message.id, ask: message.ask, answer: { failure } });
  }

  /** Moves calls away from a thread that stands still, all but the one it stands still in. */
  function watch(): void {
    for (const thread of threads) {
      const pulse = Atomics.load(thread.cells, cell.pulse);
      if (pulse !== thread.pulse) {
        thread.pulse = pulse;
        thread.pulseAt = performance.now();
        thread.stuck = false;
      }
      if (thread.calls.size < 2 || performance.now() - thread.pulseAt < stuckMs) continue;
      const current = Atomics.load(thread.cells, cell.current);
      if (current === 0) continue;
      thread.stuck = true;
      if (free() === undefined) continue;
      for (const call of thread.calls.values()) if (call.id !== current) move(thread, call);
    }
    if ([...threads].every(({ calls }) => calls.size === 0)) rest();
  }

  /** Nothing runs: one thread stays for the next call. */
  function rest(): void {
    clearInterval(watching);
    watching = undefined;
    for (const thread of [...threads].slice(1)) {
      threads.delete(thread);
      void thread.worker.terminate();
    }
  }

  function move(from: Thread, call: Call): void {
    from.calls.delete(call.id);
    // Nobody waits for an ended trial; running it again would only keep another thread busy.
    if (!call.trial.signal.aborted) place(call);
  }

  /** The trial is over for its caller; what is left is to make the work stop. */
  function abort(call: Call): void {
    const thread = holderOf(call);
    if (thread === undefined) return;
    post(thread, { type: "abort", id: call.id });
    setTimeout(() => {
      const still = holderOf(call);
      if (still !== undefined) end(still, call);
    }, abortGraceMs).unref();
  }

  function holderOf(call: Call): Thread | undefined {
    return [...threads].find(({ calls }) => calls.has(call.id));
  }

  function end(thread: Thread, culprit: Call): void {
    culprit.reject(new Error("ended"));
    thread.calls.delete(culprit.id);
    threads.delete(thread);
    void thread.worker.terminate();
    for (const call of thread.calls.values()) move(thread, call);
  }

  /** The thread died by itself: by the call it was in, as far as can be told. */
  function lose(thread: Thread, why: string): void {
    if (!threads.delete(thread)) return;
    const current = Atomics.load(thread.cells, cell.current);
    const alone = thread.calls.size === 1;
    for (const call of [...thread.calls.values()]) {
      const guilty = current === 0 ? call.lost === true || alone : call.id === current;
      if (guilty) call.reject(new Error(why));
      else move(thread, Object.assign(call, { lost: current === 0 }));
    }
    thread.calls.clear();
  }
}

function post(thread: Thread, message: ToThread): void {
  thread.worker.postMessage(message);
}

async function interpret(
  trial: Trial,
  { language, call }: Extract<FromThread, { type: "interpret" }>,
): Promise<InterpreterAnswer> {
  try {
    return { outcome: await trial.interpreter(language).call(call, trial.signal) };
  } catch (error) {
    if (error instanceof SandboxLost) return { failure: { kind: "lost", message: error.message } };
    if (error instanceof SandboxUnavailable) {
      return { failure: { kind: "unavailable", message: error.message, need: error.need } };
    }
    return { failure: { kind: "other", message: error instanceof Error ? error.message : String(error) } };
  }
}

function errorOf({ message, stack, unavailable, lost }: Extract<FromThread, { type: "failed" }>): Error {
  if (unavailable !== undefined) return new SandboxUnavailable(unavailable, message);
  const error = lost === true ? new SandboxLost(message) : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
