/**
 * How does an interpreter become what it was? All of CPython is in one WebAssembly memory, so copying it back undoes
 * everything: objects, patched modules, leaks. About 2 ms for 26 MB, where a new process takes seconds.
 */

import type { Memory } from "./gates.ts";

const PAGE = 4_096;

/** What differs from the base, page by page. */
export interface Difference {
  pages: Uint32Array;
  bytes: Uint8Array;
}

export class MemoryImage {
  readonly #memory: Memory;
  readonly #base: Buffer;

  /** @param used bytes from the start that may hold anything else than zeros. */
  constructor(memory: Memory, used: number) {
    this.#memory = memory;
    this.#base = Buffer.from(memory.bytes().slice(0, roundUp(used)));
  }

  get size(): number {
    return this.#base.length;
  }

  difference(used: number): Difference {
    const now = Buffer.from(this.#memory.bytes().buffer, 0, roundUp(used));
    const pages: number[] = [];
    for (let at = 0; at < now.length; at += PAGE) {
      const isBase = at < this.#base.length && now.compare(this.#base, at, at + PAGE, at, at + PAGE) === 0;
      if (!isBase) pages.push(at);
    }
    const bytes = new Uint8Array(pages.length * PAGE);
    pages.forEach((at, i) => bytes.set(now.subarray(at, at + PAGE), i * PAGE));
    return { pages: Uint32Array.from(pages), bytes };
  }

  /** @param used bytes that may have been written since. */
  restore(used: number, difference?: Difference): void {
    const memory = this.#memory.bytes();
    memory.set(this.#base);
    if (used > this.#base.length) memory.fill(0, this.#base.length, Math.min(roundUp(used), memory.length));
    difference?.pages.forEach((at, i) => memory.set(difference.bytes.subarray(i * PAGE, (i + 1) * PAGE), at));
  }
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / PAGE) * PAGE;
}
