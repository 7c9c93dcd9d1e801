/** What has a process answered? Its stdout as lines, one at a time, in bounded memory. */

import type { Readable } from "node:stream";

export interface Ended {
  /** The end of a sentence: "exited with 1". */
  how: string;
  /** By itself and in order. */
  left: boolean;
}

export type Answer =
  | { kind: "line"; line: string }
  | { kind: "timeout" }
  | { kind: "tooLong"; bytes: number }
  | { kind: "ended"; end: Ended };

const MAX_LINE_BYTES = 16 * 2 ** 20;

export class Answers {
  readonly #stream: Readable;
  /** Of the line that has not ended yet. */
  #parts: Buffer[] = [];
  #bytes = 0;
  readonly #lines: string[] = [];
  #last: Answer | undefined;
  #wake: (() => void) | undefined;

  constructor(stream: Readable) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** A line that has come already. */
  take(): string | undefined {
    return this.#lines.shift();
  }

  async next(timeoutMs: number): Promise<Answer> {
    const timer = setTimeout(() => this.#finish({ kind: "timeout" }), timeoutMs);
    try {
      while (this.#lines.length === 0 && this.#last === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      clearTimeout(timer);
    }
    const line = this.#lines.shift();
    return line !== undefined ? { kind: "line", line } : (this.#last as Answer);
  }

  /** The process is gone. */
  end(end: Ended): void {
    this.#finish({ kind: "ended", end });
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#parts, chunk.subarray(from, at)])
        .toString("utf8")
        .trim();
      [this.#parts, this.#bytes, from] = [[], 0, at + 1];
      if (line !== "") this.#lines.push(line);
    }
    const rest = chunk.subarray(from);
    this.#parts.push(rest);
    this.#bytes += rest.length;
    // Whoever writes without being asked must not fill this process' memory.
    if (this.#bytes > MAX_LINE_BYTES || this.#lines.length > 1_000) {
      this.#stream.destroy();
      this.#finish({ kind: "tooLong", bytes: MAX_LINE_BYTES });
    }
    this.#wake?.();
  }

  /** The first one stands. */
  #finish(answer: Answer): void {
    this.#last ??= answer;
    this.#wake?.();
  }
}
