/** How is the binary form of WebAssembly read and written? As much of it as CPython's modules use. */

export const SECTION = { type: 1, import: 2, function: 3, memory: 5, export: 7, code: 10 } as const;
export const KIND = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;

export class Reader {
  at = 0;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  byte(): number {
    return this.bytes[this.at++]!;
  }

  u32(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++]!;
      value |= (byte & 127) << shift;
      if (!(byte >= 128)) return value >>> 0;
    }
  }

  /** Any LEB128 number, of any width. */
  skipNumber(): void {
    while (this.bytes[this.at++]! >= 128);
  }

  /** Of a load or store: its alignment is skipped. */
  offset(): number {
    // Six bits of alignment; the seventh says that the number of a memory follows.
    if (this.byte() >= 64) throw new Error("a WebAssembly module has several memories");
    return this.u32();
  }

  skipName(): void {
    const length = this.u32();
    this.at += length;
  }

  skipValueType(): void {
    const type = this.byte();
    // A reference names the type of its heap.
    if (type === 0x63 || type === 0x64) this.skipNumber();
  }

  skipLimits(): void {
    const flags = this.byte();
    this.skipNumber();
    if (flags & 1) this.skipNumber();
  }
}

export class Writer {
  size = 0;
  #bytes = new Uint8Array(65_536);

  /** A view, until the next write. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.size);
  }

  clear(): void {
    this.size = 0;
  }

  put(bytes: ArrayLike<number>): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.size);
    this.size += bytes.length;
  }

  copy(bytes: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from);
    // A view costs more than the few bytes that most instructions have.
    if (to - from > 100) this.#bytes.set(bytes.subarray(from, to), this.size);
    else for (let i = from; i < to; i++) this.#bytes[this.size + i - from] = bytes[i]!;
    this.size += to - from;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.size++] = value;
  }

  u32(value: number): void {
    for (let rest = value; ; rest >>>= 7) {
      if (rest < 128) return this.byte(rest);
      this.byte((rest & 127) | 128);
    }
  }

  s32(value: number): void {
    for (let rest = value; ; rest >>= 7) {
      if (rest >= -64 && rest < 64) return this.byte(rest & 127);
      this.byte((rest & 127) | 128);
    }
  }

  name(text: string): void {
    const bytes = Buffer.from(text);
    this.u32(bytes.length);
    this.put(bytes);
  }

  section(id: number, content: Uint8Array): void {
    this.byte(id);
    this.u32(content.length);
    this.put(content);
  }

  #reserve(count: number): void {
    if (this.size + count <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.size + count));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** Past what follows an opcode that was read. @throws Error for instructions that these modules have no use for. */
export function skipImmediates(reader: Reader, opcode: number): void {
  const count = IMMEDIATES[opcode];
  if (count !== undefined) {
    for (let i = 0; i < count; i++) reader.skipNumber();
    return;
  }
  if (opcode >= 0x28 && opcode <= 0x3e) return void reader.offset();
  switch (opcode) {
    case 0x0e: // br_table
      return skipNumbers(reader, reader.u32() + 1);
    case 0x1c: // select with types
      for (let left = reader.u32(); left > 0; left--) reader.skipValueType();
      return;
    case 0x1f: // try_table
      reader.skipNumber();
      for (let left = reader.u32(); left > 0; left--) skipNumbers(reader, reader.byte() < 2 ? 2 : 1);
      return;
    case 0x43: // f32.const
      reader.at += 4;
      return;
    case 0x44: // f64.const
      reader.at += 8;
      return;
    case 0xfb: {
      const operation = reader.u32();
      // ref.test and ref.cast; structs and arrays are no part of a linear memory's program.
      if (operation >= 0x14 && operation <= 0x17) return reader.skipNumber();
      throw unknown(opcode, operation);
    }
    case 0xfc: {
      const operation = reader.u32();
      const numbers = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1][operation];
      if (numbers === undefined) throw unknown(opcode, operation);
      return skipNumbers(reader, numbers);
    }
  }
  throw unknown(opcode);
}

function skipNumbers(reader: Reader, count: number): void {
  for (let i = 0; i < count; i++) reader.skipNumber();
}

function unknown(...codes: number[]): Error {
  return new Error(
    `a WebAssembly module has the unknown instruction ${codes.map((code) => code.toString(16)).join(" ")}`,
  );
}

/** By opcode: how many LEB128 numbers follow it, where that is all that follows. */
const IMMEDIATES: (number | undefined)[] = [];
for (let opcode = 0x45; opcode <= 0xc4; opcode++) IMMEDIATES[opcode] = 0;
// unreachable, nop, else, throw_ref, end, return, catch_all, drop, select, ref.is_null
for (const opcode of [0x00, 0x01, 0x05, 0x0a, 0x0b, 0x0f, 0x19, 0x1a, 0x1b, 0xd1]) IMMEDIATES[opcode] = 0;
// block, loop, if, try, catch, throw, rethrow, br, br_if, call, return_call, delegate, the local.*, global.* and table.*
// accesses, memory.size and memory.grow, i32.const, i64.const, ref.null, ref.func
for (const opcode of [0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0c, 0x0d, 0x10, 0x12, 0x18]) IMMEDIATES[opcode] = 1;
for (const opcode of [0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3f, 0x40, 0x41, 0x42, 0xd0, 0xd2]) {
  IMMEDIATES[opcode] = 1;
}
// call_indirect, return_call_indirect
for (const opcode of [0x11, 0x13]) IMMEDIATES[opcode] = 2;
