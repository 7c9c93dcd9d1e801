/** A Python engine inside the test's own process, where its memory can be looked at. */

import { expect } from "vitest";
import { PyodideEngine } from "../../../../server/sandboxes/pyodide/engine.ts";
import { bootPython, makeSnapshot, type Python } from "../../../../server/sandboxes/pyodide/host.ts";
import { readSnapshot, snapshotFile } from "../../../../server/sandboxes/pyodide/snapshot.ts";
import type { InterpreterLimits } from "trailgym/env";

export interface Call {
  program: readonly string[];
  modules?: Record<string, string>;
  entry?: string;
  args?: readonly unknown[];
  state?: Buffer | undefined;
  limits?: Partial<InterpreterLimits>;
}

/** A reply as it goes over the pipe: whatever two calls show of each other is in here. */
export interface Outcome {
  head: string;
  value: string;
  state: Buffer;
}

const limits = { timeMs: 20_000, memoryMb: 48, outputBytes: 100_000, stateBytes: 100_000 };

export class Booted {
  readonly python: Python;
  readonly #engine: PyodideEngine;
  readonly #stack: number;

  private constructor(python: Python) {
    this.python = python;
    this.#stack = python.module.stackSave();
    this.#engine = new PyodideEngine(python);
  }

  static async start(): Promise<Booted> {
    return new Booted(await bootPython(readSnapshot(snapshotFile()) ?? (await makeSnapshot())));
  }

  call({ program, modules = {}, entry = "f", args = [], state, limits: own }: Call): Outcome {
    const head = {
      key: JSON.stringify([program, modules]),
      program,
      modules,
      entry,
      hasState: state !== undefined,
      limits: { ...limits, ...own },
    };
    const reply = this.#engine.call(head, Buffer.from(JSON.stringify(args)), state);
    // Whether the process is to end afterwards says nothing to the caller.
    const { retire: _retire, ...said } = reply.head;
    const outcome = { head: JSON.stringify(said), value: reply.value ?? "", state: Buffer.from(reply.state ?? []) };
    this.#engine.rest();
    return outcome;
  }

  /** A copy of all that CPython is. */
  memory(): Buffer {
    return Buffer.from(this.python.memory.bytes());
  }

  /** Byte for byte; what the memory has grown by since must be zeros. And its stack is as empty as it was. */
  expectMemory(content: Buffer, what = "the memory"): void {
    expect(this.python.module.stackSave()).toBe(this.#stack);
    const now = Buffer.from(this.python.memory.bytes().buffer);
    const size = Math.min(now.length, content.length);
    const isSame = now.compare(content, 0, size, 0, size) === 0 && isZero(now.subarray(size));
    expect(isSame, `${what} is what it was`).toBe(true);
  }
}

function isZero(bytes: Buffer): boolean {
  return bytes.length === 0 || (bytes[0] === 0 && bytes.compare(bytes, 1, bytes.length, 0, bytes.length - 1) === 0);
}
