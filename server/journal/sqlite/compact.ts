/** A journal made smaller, and a copy of one. */

import { existsSync } from "node:fs";
import type { Logger } from "pino";
import { openingError } from "./failure.ts";
import { openDatabase, openForReading } from "./open.ts";
import { Retention } from "./retention.ts";
import { Writer } from "./writer.ts";

export interface CompactOptions {
  /** Ended episodes older than this go. */
  keepEpisodesMs: number;
  log: Logger;
}

export interface Compacted {
  /** Of the file, before and after. */
  before: number;
  after: number;
}

/** A retry of a server that comes back may still ask for the last replies of what is open. */
const keptReplies = 1000;

export async function compact(folder: string, { keepEpisodesMs, log }: CompactOptions): Promise<Compacted> {
  using opened = openDatabase(folder, { sync: "normal", maxBytes: Number.MAX_SAFE_INTEGER });
  const { db, file } = opened;
  const bytes = () =>
    (db.pragma("page_count", { simple: true }) as number) * (db.pragma("page_size", { simple: true }) as number);
  try {
    const before = bytes();
    const writer = new Writer(db, log, { flushed: () => undefined, failed: () => undefined });
    {
      await using retention = new Retention(db, writer, { keptReplies, keepEpisodesMs, maxBytes: Infinity, log });
      await retention.run();
    }
    db.exec("VACUUM");
    db.pragma("wal_checkpoint(TRUNCATE)");
    return { before, after: bytes() };
  } catch (error) {
    throw openingError(error, file);
  }
}

export function copy(folder: string, file: string): void {
  using opened = openForReading(folder);
  if (existsSync(file)) throw new Error(`${file} is there already`);
  try {
    opened.db.prepare("VACUUM INTO ?").run(file);
  } catch (error) {
    throw openingError(error, opened.file);
  }
}
