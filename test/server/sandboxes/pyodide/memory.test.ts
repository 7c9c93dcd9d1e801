/** Does a memory become again what it was, whatever was written to it, and however often it was something else in between? */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MARKS } from "../../../../server/sandboxes/pyodide/marks.ts";
import { Memory, MemoryImage, type Difference } from "../../../../server/sandboxes/pyodide/memory.ts";
import { BLOCK_BITS, MARGIN } from "../../../../server/sandboxes/pyodide/stores.ts";

const BLOCK = 2 ** BLOCK_BITS;
const PAGE = 65_536;
const USED = 10 * BLOCK + 100;

/** A memory as CPython's code and its host write it. */
class Written {
  readonly memory = new Memory();
  /** Growing gives it another buffer, as WebAssembly does. */
  readonly #raw = { buffer: new ArrayBuffer(PAGE) };
  readonly #marks = new Uint8Array(2 ** (32 - BLOCK_BITS));

  constructor() {
    this.memory.attach({ memory: this.#raw, [MARKS]: this.#marks });
    this.bytes.fill(1, 0, USED);
  }

  get bytes(): Buffer {
    return Buffer.from(this.#raw.buffer);
  }

  /** As a rewritten store: the mark is for the base address, and what is stored may lie in the next block. */
  store(base: number, offset: number, byte: number): void {
    this.bytes[base + offset] = byte;
    this.#marks[base >>> BLOCK_BITS] = 1;
  }

  grow(): void {
    const larger = new ArrayBuffer(this.#raw.buffer.byteLength + PAGE);
    this.bytes.copy(Buffer.from(larger));
    this.#raw.buffer = larger;
  }
}

describe("a memory's image", () => {
  it("brings back what was written, in blocks of its own and in the margins behind them", () => {
    const written = new Written();
    const image = new MemoryImage(written.memory, USED);
    const before = Buffer.from(written.bytes);
    written.store(3 * BLOCK - 1, MARGIN - 1, 9);
    written.store(USED - 1, 0, 9);
    written.store(USED - 1, 1, 9);
    written.memory.write(Uint8Array.of(9, 9), PAGE - 2);
    expect(written.bytes.equals(before)).toBe(false);
    image.restore();
    expect(written.bytes.equals(before)).toBe(true);
  });

  it("copies back what was written and no more", () => {
    const written = new Written();
    const image = new MemoryImage(written.memory, USED);
    written.store(2 * BLOCK, 0, 9);
    // Nobody has marked this one; it is not for a restore to find.
    written.bytes[6 * BLOCK] = 9;
    image.restore();
    expect([written.bytes[2 * BLOCK], written.bytes[6 * BLOCK]]).toEqual([1, 9]);
    written.memory.wroteAnywhere();
    image.restore();
    expect(written.bytes[6 * BLOCK]).toBe(1);
  });

  it("is zeros behind its end, in pages too that the memory has grown by", () => {
    const written = new Written();
    const image = new MemoryImage(written.memory, USED);
    written.grow();
    written.memory.write(Buffer.alloc(3 * BLOCK, 9), PAGE - 100);
    image.restore();
    expect(written.bytes.subarray(USED).every((byte) => byte === 0)).toBe(true);
  });

  it("takes no room for zeros that somebody may have written", () => {
    const written = new Written();
    const image = new MemoryImage(written.memory, USED);
    written.memory.wroteAnywhere();
    written.store(PAGE - 10 * BLOCK, 0, 9);
    expect(image.adopt().blocks).toEqual(Uint32Array.of(PAGE - 10 * BLOCK));
  });

  const address = fc.nat(2 * PAGE - MARGIN);
  const commands = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.record({ do: fc.constant("store"), at: address, offset: fc.nat(MARGIN - 1) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("write"), at: address, size: fc.nat(3 * BLOCK) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("grow") }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("everything") }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("restore") }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("load") }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("switch"), to: fc.nat(5) }) },
    ),
    { minLength: 1, maxLength: 60 },
  ) as fc.Arbitrary<{ do: string; at?: number; offset?: number; size?: number; to?: number }[]>;

  it("keeps a base and whatever was loaded on it apart, in any order", () => {
    fc.assert(
      fc.property(commands, (list) => {
        const written = new Written();
        const image = new MemoryImage(written.memory, USED);
        const base = Buffer.from(written.bytes);
        const programs: { difference: Difference; content: Buffer }[] = [];
        let loaded: (typeof programs)[number] | undefined;
        let byte = 1;
        const restored = () => {
          image.restore();
          const { content } = loaded ?? { content: base };
          const now = written.bytes;
          const all = Buffer.concat([content, Buffer.alloc(now.length - content.length)]);
          expect(now.equals(all)).toBe(true);
        };
        const unload = () => {
          if (loaded) image.exchange(loaded.difference);
          loaded = undefined;
        };
        for (const { do: what, at = 0, offset = 0, size = 0, to = 0 } of list) {
          const end = written.bytes.length;
          byte = (byte % 255) + 1;
          if (what === "store" && at + offset < end) written.store(at, offset, byte);
          if (what === "write" && at + size <= end) written.memory.write(Buffer.alloc(size, byte), at);
          if (what === "grow" && end < 2 * PAGE) written.grow();
          if (what === "everything") {
            written.memory.wroteAnywhere();
            written.bytes.fill(byte, 5 * BLOCK, 8 * BLOCK);
          }
          if (what === "restore") restored();
          if (what === "switch") {
            unload();
            const program = programs[to];
            if (program) image.exchange(program.difference);
            loaded = program;
            restored();
          }
          if (what === "load") {
            unload();
            restored();
            for (let i = 0; i < 4; i++) written.store((at + i * 7_919) % (end - MARGIN), offset, byte);
            loaded = { difference: image.adopt(), content: Buffer.from(written.bytes) };
            programs.push(loaded);
            restored();
          }
        }
        restored();
      }),
      { numRuns: 500 },
    );
  }, 60_000);
});
