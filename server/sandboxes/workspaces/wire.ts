/** The frames that server and in-sandbox agent exchange. `agent/wire.h` says what each holds; this is its other side. */

import { createHash } from "node:crypto";

export const version = 1;
export const ask = { hello: 1, renew: 2, call: 3, kill: 4, end: 5 } as const;
export const say = { hello: 1, output: 2, reply: 3 } as const;
export const op = { exec: 1, read: 2, write: 3, list: 4, archive: 5, restore: 6 } as const;
export const status = { ok: 0, failed: 1, tooLarge: 2, refused: 3 } as const;
export const end = { exit: 0, signal: 1, timeout: 2, quiet: 3, killed: 4 } as const;

/** A frame in the making. Blobs are kept by reference, so that a large archive is not copied for its header's sake. */
export class Writer {
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  u8(value: number): this {
    return this.#add(Uint8Array.of(value));
  }

  u32(value: number): this {
    const part = Buffer.allocUnsafe(4);
    part.writeUInt32LE(value);
    return this.#add(part);
  }

  u64(value: number | bigint): this {
    const part = Buffer.allocUnsafe(8);
    part.writeBigUInt64LE(BigInt(value));
    return this.#add(part);
  }

  blob(bytes: Uint8Array): this {
    return this.u32(bytes.byteLength).#add(bytes);
  }

  text(text: string): this {
    return this.blob(Buffer.from(text));
  }

  texts(texts: readonly string[]): this {
    this.u32(texts.length);
    for (const text of texts) this.text(text);
    return this;
  }

  /** 64 bits of the SHA-256 of what was written, and of `nonce`. */
  digest(nonce: number): bigint {
    const hash = createHash("sha256").update(`${nonce}:`);
    for (const part of this.#parts) hash.update(part);
    return hash.digest().readBigUInt64LE();
  }

  append(other: Writer): this {
    for (const part of other.#parts) this.#add(part);
    return this;
  }

  /** The frame: its length first. */
  frame(): Uint8Array[] {
    return [...new Writer().u32(this.#size).#parts, ...this.#parts];
  }

  #add(part: Uint8Array): this {
    this.#parts.push(part);
    this.#size += part.byteLength;
    return this;
  }
}

/** @throws RangeError when a frame ends early: the agent is not what it should be. */
export class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#take(1));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4));
  }

  u64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8));
  }

  blob(): Buffer {
    const size = this.u32();
    const at = this.#take(size);
    return this.#bytes.subarray(at, at + size);
  }

  text(): string {
    return this.blob().toString();
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  #take(size: number): number {
    const at = this.#at;
    if (at + size > this.#bytes.length) throw new RangeError("a frame that ends early");
    this.#at += size;
    return at;
  }
}
