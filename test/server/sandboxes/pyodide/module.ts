/** A WebAssembly module that stores in each way there is: a function for each instruction and offset. */

import { KIND, SECTION, Writer } from "../../../../server/sandboxes/pyodide/wasm.ts";

/** i32.store, i64.store, f32.store, f64.store, i32.store8 and 16, i64.store8, 16 and 32: opcode, type of the value, bytes. */
export const STORES = [
  [0x36, 0x7f, 4],
  [0x37, 0x7e, 8],
  [0x38, 0x7d, 4],
  [0x39, 0x7c, 8],
  [0x3a, 0x7f, 1],
  [0x3b, 0x7f, 2],
  [0x3c, 0x7e, 1],
  [0x3d, 0x7e, 2],
  [0x3e, 0x7e, 4],
] as const;
/** Around the margin, and far. */
export const OFFSETS = [0, 1, 247, 248, 249, 255, 256, 511, 512, 4_000, 70_000] as const;
/** memory.init, memory.copy, memory.fill: their immediates. */
export const BULK = [
  [8, 0, 0],
  [10, 0, 0],
  [11, 0],
] as const;
export const PAGES = 2;
/** What memory.init takes from. */
export const SEGMENT = 3_000;

const I32 = 0x7f;
const END = 0x0b;

/** @param memory "own": defined and exported; "imported" as `env.memory`; "two"; "none". @param code one more function's. */
export function moduleOf(memory: "own" | "imported" | "two" | "none", code?: readonly number[]): Uint8Array {
  const functions = code ? [{ type: 0, code }] : storing();
  const out = new Writer();
  out.put([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  // (i32), (i32, value) for each type of value, (i32, i32, i32).
  const types = [[I32], [I32, 0x7f], [I32, 0x7e], [I32, 0x7d], [I32, 0x7c], [I32, I32, I32]];
  section(out, SECTION.type, types, (params) => [0x60, params.length, ...params, 0]);
  if (memory === "imported") {
    section(out, SECTION.import, [0], () => [...name("env"), ...name("memory"), KIND.memory, 0, PAGES]);
  }
  section(out, SECTION.function, functions, ({ type }) => [type]);
  if (memory === "own" || memory === "two") {
    section(out, SECTION.memory, memory === "own" ? [0] : [0, 0], () => [1, PAGES, PAGES + 1]);
  }
  const exported = functions.map((_, i) => [...name(`f${i}`), KIND.function, ...u32(i)]);
  const memories = memory === "own" ? [[...name("memory"), KIND.memory, 0]] : [];
  section(out, SECTION.export, [...exported, ...memories], (bytes) => bytes);
  if (!code) out.section(12, Uint8Array.of(1));
  section(out, SECTION.code, functions, ({ code: body }) => [...u32(body.length + 2), 0, ...body, END]);
  if (!code) section(out, 11, [0], () => [1, ...u32(SEGMENT), ...Array.from({ length: SEGMENT }, (_, i) => i & 255)]);
  return out.bytes.slice();
}

/** In this order: every store with every offset, the bulk instructions, memory.grow. */
function storing(): { type: number; code: number[] }[] {
  const get = (...locals: number[]) => locals.flatMap((local) => [0x20, local]);
  const stores = STORES.flatMap(([opcode, type]) =>
    OFFSETS.map((offset) => ({ type: 1 + (0x7f - type), code: [...get(0, 1), opcode, 0, ...u32(offset)] })),
  );
  const bulk = BULK.map((immediates) => ({ type: 5, code: [...get(0, 1, 2), 0xfc, ...immediates] }));
  const grow = { type: 0, code: [...get(0), 0x40, 0, 0x1a] };
  return [...stores, ...bulk, grow];
}

function section<T>(out: Writer, id: number, items: readonly T[], bytesOf: (item: T) => readonly number[]): void {
  out.section(id, Uint8Array.from([...u32(items.length), ...items.flatMap((item) => bytesOf(item))]));
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)];
}

function u32(value: number): number[] {
  const out = new Writer();
  out.u32(value);
  return [...out.bytes];
}
