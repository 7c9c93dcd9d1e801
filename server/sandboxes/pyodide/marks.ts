/**
 * Which parts of its memory does CPython write? Its WebAssembly tells, once it is rewritten: after each store it marks the
 * block that it has stored to. The marks lie in a second memory, which no instruction of the original can name: whatever a
 * program makes of CPython, even a store to any address it likes, leaves its mark, and none can be taken back.
 */

import { BLOCK_BITS, StoreMarker } from "./stores.ts";
import { KIND, Reader, SECTION, Writer } from "./wasm.ts";

/** Name of the memory of marks, one byte for each block: exported, or imported where the marked memory is. */
export const MARKS = "trailgym_marks";

/** One mark for each block of 4 GiB, in pages of 64 KiB. Only what is touched takes room. */
const MARK_PAGES = 2 ** (32 - BLOCK_BITS - 16);

interface Module {
  /** Where its types begin. */
  types: number;
  /** Type of each function that has code. */
  functions: number[];
  /** Number of the memory of marks; 0 while the module is not known to have a memory. */
  marks: number;
  exportsMarks: boolean;
}

/**
 * @param binary a WebAssembly module. @returns the same module with marks; the same bytes if it has no memory.
 * @throws Error if it has more than one memory, or instructions that are not known here.
 */
export function withMarks(binary: Uint8Array): Uint8Array {
  const reader = new Reader(binary);
  const module: Module = { types: 0, functions: [], marks: 0, exportsMarks: false };
  const out = new Writer();
  out.put(binary.subarray(0, 8));
  reader.at = 8;
  while (reader.at < binary.length) {
    const id = reader.byte();
    const size = reader.u32();
    const start = reader.at;
    const end = start + size;
    out.section(id, rewritten(id, reader, end, module) ?? binary.subarray(start, end));
    reader.at = end;
  }
  return module.marks === 0 ? binary : out.bytes;
}

/** @returns undefined for a section that stays as it is. */
function rewritten(id: number, reader: Reader, end: number, module: Module): Uint8Array | undefined {
  switch (id) {
    case SECTION.type:
      module.types = reader.at;
      return undefined;
    case SECTION.import:
      return importing(reader, end, module);
    case SECTION.function:
      for (let left = reader.u32(); left > 0; left--) module.functions.push(reader.u32());
      return undefined;
    case SECTION.memory:
      return defining(reader, end, module);
    case SECTION.export:
      return module.exportsMarks ? exporting(reader, end, module) : undefined;
    case SECTION.code:
      return module.marks === 0 ? undefined : marking(reader, module);
    default:
      return undefined;
  }
}

function importing(reader: Reader, end: number, module: Module): Uint8Array | undefined {
  const count = reader.u32();
  const start = reader.at;
  for (let i = 0; i < count; i++) {
    reader.skipName();
    reader.skipName();
    const kind = reader.byte();
    if (kind === KIND.memory) module.marks++;
    if (kind === KIND.table) reader.skipValueType();
    if (kind === KIND.table || kind === KIND.memory) reader.skipLimits();
    else if (kind === KIND.global) {
      reader.skipValueType();
      reader.byte();
    } else {
      if (kind === KIND.tag) reader.byte();
      reader.skipNumber();
    }
  }
  if (module.marks === 0) return undefined;
  if (module.marks > 1) throw new Error("a WebAssembly module has several memories");
  const out = new Writer();
  out.u32(count + 1);
  out.put(reader.bytes.subarray(start, end));
  out.name("env");
  out.name(MARKS);
  out.byte(KIND.memory);
  putMarkLimits(out);
  return out.bytes;
}

function defining(reader: Reader, end: number, module: Module): Uint8Array | undefined {
  const count = reader.u32();
  if (count === 0) return undefined;
  if (count > 1 || module.marks > 0) throw new Error("a WebAssembly module has several memories");
  module.marks = 1;
  module.exportsMarks = true;
  const out = new Writer();
  out.u32(2);
  out.put(reader.bytes.subarray(reader.at, end));
  putMarkLimits(out);
  return out.bytes;
}

function exporting(reader: Reader, end: number, { marks }: Module): Uint8Array {
  const out = new Writer();
  out.u32(reader.u32() + 1);
  out.put(reader.bytes.subarray(reader.at, end));
  out.name(MARKS);
  out.byte(KIND.memory);
  out.u32(marks);
  return out.bytes;
}

/** At least and at most. */
function putMarkLimits(out: Writer): void {
  out.byte(1);
  out.u32(MARK_PAGES);
  out.u32(MARK_PAGES);
}

function marking(reader: Reader, module: Module): Uint8Array {
  const out = new Writer();
  const params = parametersOf(reader.bytes, module.types);
  const count = reader.u32();
  out.u32(count);
  const marker = new StoreMarker(reader, module.marks);
  for (let i = 0; i < count; i++) marker.rewrite(params[module.functions[i]!]!, out);
  return out.bytes;
}

/** @returns the count of parameters, by type. */
function parametersOf(binary: Uint8Array, at: number): number[] {
  const reader = new Reader(binary);
  reader.at = at;
  return Array.from({ length: reader.u32() }, () => {
    if (reader.byte() !== 0x60) throw new Error("a WebAssembly module has types that are not of functions");
    const params = reader.u32();
    for (let i = 0; i < params; i++) reader.skipValueType();
    for (let results = reader.u32(); results > 0; results--) reader.skipValueType();
    return params;
  });
}
