/** What is one interpreter process to the server? Something that answers a call, and can be killed at any moment. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { decodeFrame, encodeFrame, FrameReader, type Part } from "./frames.ts";
import { LIFELINE, READY, REPLIES, REQUESTS } from "./messages.ts";

export interface ChildCommand {
  /** Path of the program that the child runs. */
  file: string;
  args?: readonly string[];
  nodeOptions: readonly string[];
  /** Names the server in the child's command line, so that an operator finds whose process it is. */
  instance: string;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The end of what the process wrote on its standard error. */
  stderr: string;
}

export class Child {
  readonly exited: Promise<Exit>;
  /** Resolves when the process takes calls, rejects when it ends before. */
  readonly ready: Promise<void>;
  readonly #process: ChildProcess;
  readonly #requests: Writable;
  #answer: ((parts: Buffer[] | Exit) => void) | undefined;
  #exit: Exit | undefined;
  /** Bytes of replies. */
  #received = 0;

  constructor({ file, args = [], nodeOptions, instance }: ChildCommand) {
    this.#process = spawn(process.execPath, [...nodeOptions, file, ...args, `--trailgym-instance=${instance}`], {
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", "pipe"],
      // Nothing of the server's environment, in particular no secret. The zone and locale are part of what a program computes.
      env: { TZ: "UTC", LC_ALL: "en_US.UTF-8", NODE_NO_WARNINGS: "1" },
      // A group of its own: Ctrl-C in the server's terminal must not reach the calls that the server still waits for.
      detached: true,
      windowsHide: true,
    });
    const pipes = this.#process.stdio as (Readable | Writable | null | undefined)[];
    this.#requests = pipes[REQUESTS] as Writable;
    // A write to a process that has just died fails here; its exit says more.
    this.#requests.on("error", () => {});
    pipes[LIFELINE]!.on("error", () => {});
    this.exited = this.#watchExit();
    this.ready = this.#next().then((first) => {
      if (!Array.isArray(first)) throw new Error(`an interpreter process did not start: ${describeExit(first)}`);
      if (first[0]!.toString() !== READY) throw new Error("an interpreter process greeted with something unknown");
    });
    this.ready.catch(() => {});
    const reader = new FrameReader();
    (pipes[REPLIES] as Readable).on("data", (chunk: Buffer) => {
      this.#received += chunk.length;
      for (const body of reader.push(chunk)) this.#answer?.(decodeFrame(body));
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** One call at a time. @returns the parts of the reply, or how the process ended instead. */
  ask(parts: readonly Part[]): Promise<Buffer[] | Exit> {
    if (this.#exit) return Promise.resolve(this.#exit);
    const answer = this.#next();
    this.#requests.write(encodeFrame(parts));
    return answer;
  }

  /** Resolves when what the process has said so far has been read: a timer may fire before the event loop reads. */
  async heard(): Promise<void> {
    let before: number;
    do {
      before = this.#received;
      await setImmediate();
    } while (this.#received > before);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  #next(): Promise<Buffer[] | Exit> {
    return new Promise((resolve) => {
      this.#answer = (answer) => {
        this.#answer = undefined;
        resolve(answer);
      };
    });
  }

  async #watchExit(): Promise<Exit> {
    let stderr = "";
    this.#process.stderr!.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-4_000)));
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
      this.#process.once("error", (error) => {
        stderr += error.message;
        resolve([null, null]);
      });
      this.#process.once("exit", (...exit) => resolve(exit));
    });
    // The last words may still be in the pipe. A grandchild cannot hold it open: a child may start no process.
    if (!this.#process.stderr!.readableEnded) await Promise.race([once(this.#process.stderr!, "end"), setImmediate()]);
    this.#exit = { code, signal, stderr };
    this.#answer?.(this.#exit);
    return this.#exit;
  }
}

export function describeExit({ code, signal, stderr }: Exit): string {
  const how = signal ? `signal ${signal}` : `exit code ${code}`;
  const words = stderr.split("\n").find((line) => /error|fatal/i.test(line));
  return words ? `${how}: ${words.trim().slice(0, 200)}` : how;
}
