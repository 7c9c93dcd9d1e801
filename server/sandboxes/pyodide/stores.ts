/** How does a function of WebAssembly mark what it stores to? The mark follows each store, on copies of its operands. */

import { skipImmediates, Writer, type Reader } from "./wasm.ts";

/** Bytes of a block, as a power of two. */
export const BLOCK_BITS = 9;
/** The mark is set for the block of a store's base address: what is written lies up to so many bytes behind that block. */
export const MARGIN = 256;

/** Bytes of the widest store. */
const MAX_STORED = 8;

const I32 = 0x7f;
const I64 = 0x7e;
const F32 = 0x7d;
const F64 = 0x7c;

const IF = 0x04;
const END = 0x0b;
const LOCAL_GET = 0x20;
const LOCAL_SET = 0x21;
const LOCAL_TEE = 0x22;
const I32_STORE8 = 0x3a;
const I32_CONST = 0x41;
const I32_ADD = 0x6a;
const I32_SUB = 0x6b;
const I32_SHR_U = 0x76;
const PREFIX = 0xfc;
const MEMORY_FILL = 11;
/** memory.init, memory.copy, memory.fill */
const BULK: ReadonlySet<number> = new Set([8, 10, MEMORY_FILL]);
/** The type of a block without a result. */
const VOID = 0x40;
/** In an instruction's alignment: the number of a memory follows. */
const NAMES_MEMORY = 0x40;

/** By opcode, the type of the value that it stores: i32.store to i64.store32. */
const STORED: (number | undefined)[] = [];
[I32, I64, F32, F64, I32, I32, I64, I64, I64].forEach((type, i) => (STORED[0x36 + i] = type));

/** What an added local keeps: a value of some type, or one of the other operands. */
type Role = number | "address" | "count";

/** Rewrites one function after the other. */
export class StoreMarker {
  readonly #reader: Reader;
  readonly #marks: number;
  readonly #code = new Writer();
  readonly #head = new Writer();
  /** Locals that are added to keep operands: by role, and their types in order. */
  #kept: Partial<Record<Role, number>> = {};
  #types: number[] = [];
  #locals = 0;

  /** @param reader stands before the first function. @param marks number of the memory that the marks are set in. */
  constructor(reader: Reader, marks: number) {
    this.#reader = reader;
    this.#marks = marks;
  }

  /** @param params count of the function's parameters. */
  rewrite(params: number, out: Writer): void {
    const reader = this.#reader;
    const size = reader.u32();
    const end = reader.at + size;
    const groups = reader.u32();
    const start = reader.at;
    this.#locals = params;
    for (let i = 0; i < groups; i++) {
      this.#locals += reader.u32();
      reader.skipValueType();
    }
    const own = reader.bytes.subarray(start, reader.at);
    this.#kept = {};
    this.#types = [];
    this.#code.clear();
    this.#rewriteCode(end);

    this.#head.clear();
    this.#head.u32(groups + this.#types.length);
    this.#head.put(own);
    for (const type of this.#types) this.#head.put([1, type]);
    out.u32(this.#head.size + this.#code.size);
    out.put(this.#head.bytes);
    out.put(this.#code.bytes);
  }

  #rewriteCode(end: number): void {
    const reader = this.#reader;
    let copied = reader.at;
    while (reader.at < end) {
      const at = reader.at;
      const opcode = reader.byte();
      const isBulk = opcode === PREFIX && BULK.has(reader.bytes[reader.at]!);
      if (isBulk || STORED[opcode] !== undefined) {
        this.#code.copy(reader.bytes, copied, at);
        if (isBulk) this.#bulk(at);
        else this.#store(at, opcode);
        copied = reader.at;
      } else skipImmediates(reader, opcode);
    }
    if (reader.at !== end) throw new Error("a function of a WebAssembly module ends in the middle of an instruction");
    this.#code.copy(reader.bytes, copied, end);
  }

  /** Its operands: address, value. */
  #store(at: number, opcode: number): void {
    const offset = this.#reader.offset();
    const value = this.#keep(STORED[opcode]!);
    const address = this.#keep("address");
    this.#local(LOCAL_SET, value);
    this.#local(LOCAL_TEE, address);
    this.#local(LOCAL_GET, value);
    this.#original(at);
    this.#local(LOCAL_GET, address);
    // A store that is done has not passed the end of the memory, so the sum does not wrap around.
    if (offset + MAX_STORED > MARGIN) this.#plus(offset);
    this.#block();
    this.#constant(1);
    this.#code.put([I32_STORE8, NAMES_MEMORY, this.#marks, 0]);
  }

  /** Operands of memory.copy, fill and init: address, source or value, count. */
  #bulk(at: number): void {
    skipImmediates(this.#reader, PREFIX);
    const address = this.#keep("address");
    const source = this.#keep(I32);
    const count = this.#keep("count");
    this.#local(LOCAL_SET, count);
    this.#local(LOCAL_SET, source);
    this.#local(LOCAL_TEE, address);
    this.#local(LOCAL_GET, source);
    this.#local(LOCAL_GET, count);
    this.#original(at);
    this.#local(LOCAL_GET, count);
    this.#code.put([IF, VOID]);
    // From the first block, ones, as many as from the first block to the last.
    this.#local(LOCAL_GET, address);
    this.#block();
    this.#constant(1);
    this.#local(LOCAL_GET, address);
    this.#local(LOCAL_GET, count);
    this.#code.byte(I32_ADD);
    this.#plus(-1);
    this.#block();
    this.#local(LOCAL_GET, address);
    this.#block();
    this.#code.byte(I32_SUB);
    this.#plus(1);
    this.#code.put([PREFIX, MEMORY_FILL, this.#marks, END]);
  }

  #keep(role: Role): number {
    const known = this.#kept[role];
    if (known !== undefined) return known;
    this.#types.push(typeof role === "number" ? role : I32);
    return (this.#kept[role] = this.#locals++);
  }

  #original(at: number): void {
    this.#code.copy(this.#reader.bytes, at, this.#reader.at);
  }

  /** The address on the stack becomes the number of its block. */
  #block(): void {
    this.#constant(BLOCK_BITS);
    this.#code.byte(I32_SHR_U);
  }

  #plus(value: number): void {
    this.#constant(value);
    this.#code.byte(I32_ADD);
  }

  #constant(value: number): void {
    this.#code.byte(I32_CONST);
    this.#code.s32(value | 0);
  }

  #local(opcode: number, index: number): void {
    this.#code.byte(opcode);
    this.#code.u32(index);
  }
}
