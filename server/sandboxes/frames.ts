/**
 * How do a server and its interpreter processes talk? Length-prefixed frames on two pipes: the child reads with blocking
 * system calls, which answers six times sooner than Node's own IPC (0.025 ms a round trip of 5 kB against 0.158 ms).
 *
 *     u32 bytes that follow · u32 number of parts · u32 length of each part · the parts
 */

export type Part = string | Uint8Array;

export function encodeFrame(parts: readonly Part[]): Buffer {
  let size = 8 + 4 * parts.length;
  for (const part of parts) size += typeof part === "string" ? Buffer.byteLength(part) : part.length;
  const frame = Buffer.allocUnsafe(size);
  frame.writeUInt32LE(size - 4, 0);
  frame.writeUInt32LE(parts.length, 4);
  let offset = 8 + 4 * parts.length;
  parts.forEach((part, i) => {
    const written = typeof part === "string" ? frame.write(part, offset) : copy(part, frame, offset);
    frame.writeUInt32LE(written, 8 + 4 * i);
    offset += written;
  });
  return frame;
}

function copy(part: Uint8Array, frame: Buffer, offset: number): number {
  frame.set(part, offset);
  return part.length;
}

/** @param body a frame without its first four bytes. @returns views into it, not copies. */
export function decodeFrame(body: Buffer): Buffer[] {
  const count = body.readUInt32LE(0);
  const parts: Buffer[] = [];
  let offset = 4 + 4 * count;
  for (let i = 0; i < count; i++) {
    const length = body.readUInt32LE(4 + 4 * i);
    if (offset + length > body.length) throw new RangeError("a frame is shorter than its parts");
    parts.push(body.subarray(offset, offset + length));
    offset += length;
  }
  return parts;
}

/** Puts frames together from the chunks in which a pipe delivers them. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;

  /** @yields the body of each frame that `chunk` completes. */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= 4) {
      const head = this.#chunks[0]!.length >= 4 ? this.#chunks[0]! : this.#joined();
      const end = 4 + head.readUInt32LE(0);
      if (this.#size < end) return;
      const all = this.#joined();
      this.#size -= end;
      this.#chunks = this.#size > 0 ? [all.subarray(end)] : [];
      yield all.subarray(4, end);
    }
  }

  // Joining only complete frames keeps a large frame in many chunks linear.
  #joined(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks, this.#size)];
    return this.#chunks[0]!;
  }
}
