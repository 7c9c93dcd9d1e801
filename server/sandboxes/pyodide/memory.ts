/**
 * How does an interpreter become what it was? All of CPython is in one WebAssembly memory, so copying back what was written
 * undoes everything: objects, patched modules, leaks. Which blocks were written their marks tell; some 200 kB in a short
 * call, out of 26 MB.
 */

import { MARKS } from "./marks.ts";
import { BLOCK_BITS, MARGIN } from "./stores.ts";

const BLOCK = 2 ** BLOCK_BITS;
const ZEROS = Buffer.alloc(BLOCK);

/** The part of a WebAssembly.Memory that is used; Node's types do not declare it. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

/** CPython's memory, and the marks that CPython's code leaves. Who else writes must say so. */
export class Memory {
  #memory: WasmMemory | undefined;
  #marks: Buffer | undefined;

  /** @param exports of CPython's module, which is rewritten to have marks. */
  attach(exports: Record<string, unknown>): void {
    this.#memory = exports["memory"] as WasmMemory;
    this.#marks = Buffer.from((exports[MARKS] as WasmMemory).buffer);
  }

  /** Growing gives the memory another buffer, so nobody may keep one. */
  bytes(): Uint8Array {
    return new Uint8Array(this.#memory!.buffer);
  }

  view(): DataView {
    return new DataView(this.#memory!.buffer);
  }

  write(bytes: Uint8Array, at: number): void {
    this.wrote(at, bytes.length);
    this.bytes().set(bytes, at);
  }

  wrote(at: number, size: number): void {
    if (size > 0) this.#marks!.fill(1, at >>> BLOCK_BITS, ((at + size - 1) >>> BLOCK_BITS) + 1);
  }

  /** Something was written, and nobody knows where. */
  wroteAnywhere(): void {
    this.wrote(0, this.#memory!.buffer.byteLength);
  }

  /** Forgets what was written. @param run is told where each run of it begins and ends. */
  takeWritten(run: (from: number, to: number) => void): void {
    const size = this.#memory!.buffer.byteLength;
    const marks = this.#marks!.subarray(0, size >>> BLOCK_BITS);
    for (let first = marks.indexOf(1); first >= 0;) {
      const unmarked = marks.indexOf(0, first);
      const end = unmarked < 0 ? marks.length : unmarked;
      marks.fill(0, first, end);
      run(first * BLOCK, Math.min(end * BLOCK + MARGIN, size));
      first = marks.indexOf(1, end);
    }
  }
}

/** Blocks of an image that are other in another image: exchanging them makes one of the other, and the other of the one. */
export interface Difference {
  /** Addresses. */
  blocks: Uint32Array;
  bytes: Uint8Array;
}

/** What a memory is restored to. Behind its end it is zeros. */
export class MemoryImage {
  readonly #memory: Memory;
  #bytes: Buffer;

  /** @param used bytes from the start that may hold anything else than zeros. */
  constructor(memory: Memory, used: number) {
    this.#memory = memory;
    this.#bytes = Buffer.from(memory.bytes().slice(0, Math.ceil(used / BLOCK) * BLOCK));
    memory.takeWritten(() => undefined);
  }

  restore(): void {
    const memory = this.#memory.bytes();
    const image = this.#bytes;
    this.#memory.takeWritten((from, to) => {
      if (from < image.length) memory.set(image.subarray(from, to), from);
      if (to > image.length) memory.fill(0, Math.max(from, image.length), to);
    });
  }

  /** Makes the image what the memory is now. @returns what leads back. */
  adopt(): Difference {
    const memory = Buffer.from(this.#memory.bytes().buffer);
    const blocks: number[] = [];
    this.#memory.takeWritten((from, to) => {
      for (let at = from; at < to; at += BLOCK) {
        const [other, start] = at < this.#bytes.length ? [this.#bytes, at] : [ZEROS, 0];
        if (memory.compare(other, start, start + BLOCK, at, at + BLOCK) !== 0) blocks.push(at);
      }
    });
    if (blocks.length > 0) this.#reach(blocks.at(-1)! + BLOCK);
    const difference = { blocks: Uint32Array.from(blocks), bytes: new Uint8Array(blocks.length * BLOCK) };
    blocks.forEach((at, i) => difference.bytes.set(memory.subarray(at, at + BLOCK), i * BLOCK));
    this.#exchange(difference);
    return difference;
  }

  /** The other image of `difference` becomes this one; the next restore takes the memory along. */
  exchange(difference: Difference): void {
    for (const at of difference.blocks) this.#memory.wrote(at, BLOCK);
    this.#exchange(difference);
  }

  #exchange({ blocks, bytes }: Difference): void {
    const kept = new Uint8Array(BLOCK);
    blocks.forEach((at, i) => {
      const mine = this.#bytes.subarray(at, at + BLOCK);
      const other = bytes.subarray(i * BLOCK, (i + 1) * BLOCK);
      kept.set(mine);
      mine.set(other);
      other.set(kept);
    });
  }

  #reach(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(size, this.#bytes.length + 1_048_576));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
