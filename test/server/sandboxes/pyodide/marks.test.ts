/** Does rewritten WebAssembly do what the original does, and mark every block that it writes? */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MARKS, withMarks } from "../../../../server/sandboxes/pyodide/marks.ts";
import { BLOCK_BITS, MARGIN } from "../../../../server/sandboxes/pyodide/stores.ts";
import { BULK, moduleOf, OFFSETS, PAGES, SEGMENT, STORES } from "./module.ts";

interface Memory {
  buffer: ArrayBuffer;
}
interface Exports {
  memory: Memory;
  [MARKS]: Memory;
  [name: `f${number}`]: (...args: (number | bigint)[]) => void;
}
interface Module {
  name: string;
  kind: string;
}
interface Namespace {
  Module: { new (bytes: Uint8Array): object; imports(module: object): Module[]; exports(module: object): Module[] };
  Instance: new (module: object, imports?: object) => { exports: Exports };
  Memory: new (limits: { initial: number; maximum?: number }) => Memory;
  validate(bytes: Uint8Array): boolean;
}
const wasm = (globalThis as unknown as { WebAssembly: Namespace }).WebAssembly;

const BLOCK = 2 ** BLOCK_BITS;
const SIZE = PAGES * 65_536;
const start = (bytes: Uint8Array) => new wasm.Instance(new wasm.Module(bytes)).exports;
const contentOf = (exports: Exports) => Buffer.from(exports.memory.buffer);

/** A store that ends a little before or behind the end of a block, or of the memory. */
const place = fc
  .tuple(fc.integer({ min: 0, max: SIZE / BLOCK }), fc.integer({ min: -300, max: 300 }))
  .map(([block, more]) => Math.max(0, block * BLOCK + more));

const store = fc
  .tuple(fc.nat(STORES.length - 1), fc.nat(OFFSETS.length - 1), place, fc.integer({ min: 1, max: 2 ** 31 - 1 }))
  .map(([which, offset, end, value]) => {
    const [, type] = STORES[which]!;
    const written = type === 0x7e ? BigInt(value) * 4_294_967_311n : value;
    return { index: which * OFFSETS.length + offset, args: [Math.max(0, end - OFFSETS[offset]!), written] };
  });

const bulk = fc
  .tuple(fc.nat(BULK.length - 1), place, place, fc.oneof(fc.nat(4), fc.nat(3 * BLOCK), fc.nat(SIZE)))
  .map(([which, to, from, count]) => ({
    index: STORES.length * OFFSETS.length + which,
    args: which === 0 ? [to, from % SEGMENT, count % SEGMENT] : [to, from, count],
  }));

describe("WebAssembly with marks", () => {
  it("stores what the original stores, traps where it traps, and marks all that has changed", () => {
    const original = start(moduleOf("own"));
    const marked = start(withMarks(moduleOf("own")));
    const marks = Buffer.from(marked[MARKS].buffer, 0, SIZE / BLOCK);
    const run = ({ memory: _memory, ...exports }: Exports, index: number, args: (number | bigint)[]) => {
      try {
        exports[`f${index}`]!(...args);
        return "done";
      } catch (error) {
        return (error as Error).message;
      }
    };
    // No two places look alike, so that a copy shows.
    const before = Buffer.from(Uint32Array.from({ length: SIZE / 4 }, (_, i) => i * 2_654_435_761).buffer);
    for (const exports of [original, marked]) contentOf(exports).set(before);
    let written = 0;
    fc.assert(
      fc.property(fc.oneof(store, store, bulk), ({ index, args }) => {
        marks.fill(0);
        const outcome = run(marked, index, args);
        expect(outcome).toBe(run(original, index, args));
        const after = contentOf(marked);
        expect(after.equals(contentOf(original))).toBe(true);
        if (!after.equals(before)) written++;
        // What was marked, copied back, undoes it.
        marks.forEach((mark, block) => {
          if (mark === 1) before.copy(after, block * BLOCK, block * BLOCK, (block + 1) * BLOCK + MARGIN);
        });
        expect(after.equals(before), `function ${index} wrote where it left no mark`).toBe(true);
        contentOf(original).set(before);
        // And not just everything: one block, or those of the range.
        const [to, , size = 1] = args.map(Number) as [number, number, number?];
        const blocks =
          size === 0 ? 0 : args.length === 2 ? 1 : ((to + size - 1) >>> BLOCK_BITS) - (to >>> BLOCK_BITS) + 1;
        expect(marks.filter((mark) => mark === 1)).toHaveLength(outcome === "done" ? blocks : 0);
      }),
      { numRuns: 2_000 },
    );
    expect(written).toBeGreaterThan(1_000);
  }, 60_000);

  it("has a mark for every block that a memory can grow to", () => {
    const exports = start(withMarks(moduleOf("own")));
    expect(exports[MARKS].buffer.byteLength).toBe(2 ** 32 / BLOCK);
    exports[`f${STORES.length * OFFSETS.length + BULK.length}`]!(1);
    expect(exports.memory.buffer.byteLength).toBe(SIZE + 65_536);
    exports.f0!(SIZE + 65_532, 1);
    expect(Buffer.from(exports[MARKS].buffer).indexOf(1)).toBe((SIZE + 65_536) / BLOCK - 1);
  });

  it("marks in a memory of its importer when it stores to one of its importer", () => {
    const module = new wasm.Module(withMarks(moduleOf("imported")));
    expect(wasm.Module.imports(module).map(({ name }) => name)).toEqual(["memory", MARKS]);
    const memory = new wasm.Memory({ initial: PAGES });
    const pages = 2 ** (32 - BLOCK_BITS - 16);
    const marks = new wasm.Memory({ initial: pages, maximum: pages });
    new wasm.Instance(module, { env: { memory, [MARKS]: marks } }).exports.f0!(5 * BLOCK, 7);
    expect(Buffer.from(memory.buffer)[5 * BLOCK]).toBe(7);
    expect(Buffer.from(marks.buffer).indexOf(1)).toBe(5);
  });

  it("stays as it is without a memory", () => {
    const module = moduleOf("none", [0x20, 0, 0x1a]);
    expect(withMarks(module)).toBe(module);
  });

  it("leaves out no instruction that it does not know, and no second memory", () => {
    // v128.store of a constant
    const simd = [0x20, 0, 0xfd, 12, ...Array<number>(16).fill(0), 0xfd, 11, 0, 0];
    expect(wasm.validate(moduleOf("own", simd))).toBe(true);
    expect(() => withMarks(moduleOf("own", simd))).toThrow("unknown instruction fd");
    // i32.atomic.store
    expect(() => withMarks(moduleOf("own", [0x20, 0, 0x20, 0, 0xfe, 0x17, 2, 0]))).toThrow("unknown instruction fe");
    expect(wasm.validate(moduleOf("two", [0x20, 0, 0x20, 0, 0x36, 0x40, 1, 0]))).toBe(true);
    expect(() => withMarks(moduleOf("two"))).toThrow("several memories");
    expect(() => withMarks(moduleOf("own", [0x20, 0, 0x20, 0, 0x36, 0x40, 1, 0]))).toThrow("several memories");
  });
});
