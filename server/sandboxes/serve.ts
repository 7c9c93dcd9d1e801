/** What does an interpreter process do? It answers one call at a time, and ends when the server ends. */

import { readSync, writeSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { decodeFrame, encodeFrame } from "./frames.ts";
import { beside } from "./paths.ts";
import { CALL, GROWTH_MB, READY, REPLIES, REQUESTS, type Reply, type RequestHead } from "./messages.ts";

export interface Engine {
  call(head: RequestHead, args: Buffer, state: Buffer | undefined): Reply;
  /** Work that the next call would otherwise wait for; runs after a reply is sent. */
  rest?(): void;
}

export function guard(): Guard {
  // A service manager signals every process it finds; this one ends with its server, or when its server says so.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) process.on(signal, () => undefined);
  // The main thread may be in an endless loop of a program, so another thread watches the lifeline and the memory.
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const worker = new Worker(beside(import.meta.url, "./watch.ts"), {
    workerData: shared,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  worker.on("error", (error: Error) => {
    process.stderr.write(`the watch thread failed: ${error.message}\n`);
    process.kill(process.pid, "SIGKILL");
  });
  return {
    started: new Promise((resolve) => worker.once("message", resolve)),
    limit(memoryMb) {
      Atomics.add(shared, CALL, 1);
      Atomics.store(shared, GROWTH_MB, memoryMb);
    },
  };
}

export interface Guard {
  started: Promise<unknown>;
  /** A program begins to run, and may make the process grow by so many MiB before it is ended; 0: no program runs. */
  limit(memoryMb: number): void;
}

/** The server reads one line; Node's own report would put a line of generated code, 100 kB long, before the message. */
export function cannotStart(error: unknown): never {
  const { stack, message } = error as Error;
  writeSync(2, `Error: ${message}\n${(stack ?? "").replaceAll(/[^\n]{500,}/g, (line) => line.slice(0, 80))}\n`);
  process.exit(1);
}

/** Never returns: the process ends with its pipe. */
export function serve(engine: Engine, watch: Guard): never {
  write(encodeFrame([READY]));
  for (;;) {
    const [head, args, state] = decodeFrame(readFrame());
    const request = JSON.parse(head!.toString()) as RequestHead;
    // Twice the limit and some more: V8 keeps garbage and copies while it collects. This is the net under the real limit.
    watch.limit(2 * request.limits.memoryMb + 128);
    const reply = engine.call(request, args!, request.hasState ? state : undefined);
    write(encodeFrame([JSON.stringify(reply.head), reply.value ?? "", reply.state ?? ""]));
    watch.limit(0);
    engine.rest?.();
  }
}

/** Most requests come in one piece, and so in one system call. */
const input = Buffer.allocUnsafe(65_536);
let [start, end] = [0, 0];

/** @returns the body of the next frame, in memory of its own. */
function readFrame(): Buffer {
  while (end - start < 4) fill();
  const body = Buffer.allocUnsafe(input.readUInt32LE(start));
  start += 4;
  let done = 0;
  for (;;) {
    const count = input.copy(body, done, start, Math.min(end, start + body.length - done));
    done += count;
    start += count;
    if (done === body.length) return body;
    fill();
  }
}

function fill(): void {
  input.copyWithin(0, start, end);
  [start, end] = [0, end - start];
  const count = readSync(REQUESTS, input, end, input.length - end, null);
  if (count === 0) process.exit(0);
  end += count;
}

function write(bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(REPLIES, bytes, done);
}
