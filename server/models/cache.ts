/** What has a model answered before? In memory, and in a file that outlives the process. */

import { createHash } from "node:crypto";
import { appendFile, readFile } from "node:fs/promises";
import type { ModelRequest } from "trailgym/env";
import { canonical } from "trailgym/protocol";
import { z } from "zod";

/** A line of the file. */
const entry = z.object({ key: z.string(), model: z.string(), text: z.string() });

/** Equal requests to one model, whatever the order of their keys. */
export function requestKey(model: string, request: ModelRequest): string {
  return createHash("sha256")
    .update(canonical({ model, ...request }))
    .digest("hex");
}

export class ReplyCache {
  readonly #replies = new Map<string, string>();
  readonly #file: string | undefined;
  readonly #limit: number;
  /** Lines are written one after another. */
  #writing: Promise<void> = Promise.resolve();
  /** Lines of the file that were none; a process that was killed leaves at most one. */
  readonly skipped: number;

  private constructor(file: string | undefined, limit: number, lines: readonly string[]) {
    this.#file = file;
    this.#limit = limit;
    let skipped = 0;
    for (const line of lines) {
      const read = parsed(line);
      if (read === undefined) skipped++;
      else this.#keep(read.key, read.text);
    }
    this.skipped = skipped;
  }

  /** @param file is made with its first line. @param limit replies in memory; the oldest go first. */
  static async open(file: string | undefined, limit = 100_000): Promise<ReplyCache> {
    const text = file === undefined ? "" : await readFile(file, "utf8").catch(whenMissing);
    return new ReplyCache(
      file,
      limit,
      text.split("\n").filter((line) => line !== ""),
    );
  }

  get(key: string): string | undefined {
    return this.#replies.get(key);
  }

  async add(key: string, model: string, text: string): Promise<void> {
    this.#keep(key, text);
    const file = this.#file;
    if (file === undefined) return;
    // The line break comes first: what a killed process left behind ends there.
    const line = `\n${JSON.stringify({ key, model, text })}`;
    const written = this.#writing.then(() => appendFile(file, line));
    this.#writing = written.catch(() => undefined);
    await written;
  }

  #keep(key: string, text: string): void {
    this.#replies.set(key, text);
    const [oldest] = this.#replies.keys();
    if (this.#replies.size > this.#limit && oldest !== undefined) this.#replies.delete(oldest);
  }
}

function parsed(line: string): z.output<typeof entry> | undefined {
  try {
    return entry.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

function whenMissing(error: NodeJS.ErrnoException): string {
  if (error.code === "ENOENT") return "";
  throw error;
}
