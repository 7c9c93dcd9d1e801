/**
 * Brings what is in the write-ahead log into the database file, and lets the log begin anew. That waits for the disk, which may
 * take a second on a busy one, so a thread of its own does it: the server's goes on, and so do commits except at the very end.
 */

import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { beside } from "../../sandboxes/paths.ts";
import type { CheckpointAnswer, CheckpointMode } from "./checkpoint-thread.ts";
import type { Sync } from "./open.ts";

/** Of the log, when it is time. */
const thresholdBytes = 32 * 2 ** 20;
/** How many transactions may pass between two looks at the log. */
const lookEvery = 64;
/** After a failure, such as a full disk. */
const retryMs = 5000;

interface Pausable {
  pause(): void;
  resume(): void;
}

export class Checkpointer implements AsyncDisposable {
  readonly #file: string;
  readonly #sync: Sync;
  readonly #log: Logger;
  #worker: Worker | undefined;
  #running: Promise<void> | undefined;
  /** To who asked last; later words say nothing new. */
  #answer: (error: Error | undefined) => void = () => undefined;
  #transactions = 0;
  #notBefore = 0;

  constructor(file: string, sync: Sync, log: Logger) {
    this.#file = file;
    this.#sync = sync;
    this.#log = log;
  }

  /** Called behind each transaction. @param writer held up while the log begins anew */
  transacted(writer: Pausable): void {
    if (++this.#transactions % lookEvery !== 0 || this.#running !== undefined) return;
    if (performance.now() < this.#notBefore || this.#logBytes() < thresholdBytes) return;
    this.#running = this.#run(writer)
      .catch((error: unknown) => {
        this.#notBefore = performance.now() + retryMs;
        this.#log.error({ err: error }, "the journal's log could not be brought into its file");
      })
      .then(() => (this.#running = undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running;
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #run(writer: Pausable): Promise<void> {
    await this.#ask("PASSIVE");
    // Little is left, but while there are commits some is always left, and the log would grow for ever.
    writer.pause();
    try {
      await this.#ask("TRUNCATE");
    } finally {
      writer.resume();
    }
  }

  #ask(mode: CheckpointMode): Promise<void> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve, reject) => {
      this.#answer = (error) => (error === undefined ? resolve() : reject(error));
      worker.postMessage(mode);
    });
  }

  #start(): Worker {
    const worker = new Worker(beside(import.meta.url, "./checkpoint-thread.ts"), {
      workerData: { file: this.#file, sync: this.#sync },
    });
    worker.unref();
    const lost = (error: Error) => {
      this.#worker = undefined;
      this.#answer(error);
    };
    worker.on("message", ({ error }: CheckpointAnswer) =>
      this.#answer(error === undefined ? undefined : new Error(error)),
    );
    worker.on("error", lost);
    worker.on("exit", () => lost(new Error("the checkpoint's thread ended")));
    return worker;
  }

  #logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }
}
