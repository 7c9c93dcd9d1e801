/** Which ended episodes go, and when? Those that are too old, and the oldest ones when the file gets too large. */

import { setImmediate as turn } from "node:timers/promises";
import type { Database, Statement } from "better-sqlite3";
import type { Logger } from "pino";
import type { Write, Writer } from "./writer.ts";

export interface RetentionOptions {
  /** Replies that a retry can still get; the episodes that they belong to stay. */
  keptReplies: number;
  keepEpisodesMs: number;
  maxBytes: number;
  log: Logger;
}

const everyMs = 30_000;
/** No more often than this when commits fail. */
const hurryMs = 1000;
/** Rows that one transaction removes: commits of running episodes wait for it. */
const chunk = 1000;
/** Parts of `maxBytes` at which the oldest episodes begin to go, and down to which. */
const [full, roomy] = [0.9, 0.8];
/** A session that ended is remembered at least so long, for those who ask what became of it. */
const keepFatesMs = 86_400_000;

interface Candidate {
  id: number;
  last_commit: number | null;
  opened_by: number | null;
  opened_within: number;
}

/**
 * An episode stays while something needs it: its session plays it, a retry may ask for one of its replies, or another branched
 * off it.
 */
const candidates = `
  SELECT e.id, e.last_commit, e.opened_by, e.opened_within
  FROM episodes e LEFT JOIN heads h ON h.session = e.session LEFT JOIN commits c ON c.id = e.last_commit
  WHERE e.ended_at < ?
    AND NOT EXISTS (SELECT 1 FROM episodes b WHERE b.parent = e.name)
    AND (h.session IS NULL OR (h.episode <> e.id AND (c.seq IS NULL OR c.seq < h.seq - ?)))
  ORDER BY e.ended_at LIMIT ?`;

const forgettable = `
  SELECT s.id FROM sessions s
  WHERE s.ended_at < ? AND NOT EXISTS (SELECT 1 FROM episodes e WHERE e.session = s.id) LIMIT ?`;

export class Retention implements AsyncDisposable {
  readonly #db: Database;
  readonly #writer: Writer;
  readonly #options: RetentionOptions;
  readonly #candidates: Statement<unknown[], Candidate>;
  readonly #forgettable: Statement<unknown[], { id: number }>;
  readonly #previous: Statement<unknown[], { previous: number | null }>;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #lastRun = -Infinity;
  #disposed = false;

  constructor(db: Database, writer: Writer, options: RetentionOptions) {
    this.#db = db;
    this.#writer = writer;
    this.#options = options;
    this.#candidates = db.prepare(candidates);
    this.#forgettable = db.prepare(forgettable);
    this.#previous = db.prepare("SELECT previous FROM commits WHERE id = ?");
    this.#timer = setInterval(() => void this.run(), everyMs);
    this.#timer.unref();
  }

  /** Something could not be written: there may be room to make. */
  hurry(): void {
    if (performance.now() - this.#lastRun > hurryMs) void this.run();
  }

  /** One pass; while one runs, that one. Does not reject. */
  run(): Promise<void> {
    this.#lastRun = performance.now();
    return (this.#running ??= this.#run()
      .catch((error: unknown) => this.#options.log.error({ err: error }, "old episodes could not be removed"))
      .then(() => (this.#running = undefined)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { keepEpisodesMs, maxBytes } = this.#options;
    await this.#removeWhile(Date.now() - keepEpisodesMs, () => true);
    if (this.usedBytes() > full * maxBytes) {
      await this.#removeWhile(Number.MAX_SAFE_INTEGER, () => this.usedBytes() > roomy * maxBytes);
    }
    await this.#forgetSessions(Date.now() - Math.max(keepEpisodesMs, keepFatesMs));
  }

  /** Of the file's pages, those that hold something. */
  usedBytes(): number {
    const pragma = (name: string) => this.#db.pragma(name, { simple: true }) as number;
    return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
  }

  async #removeWhile(endedBefore: number, wanted: () => boolean): Promise<void> {
    while (!this.#disposed && wanted()) {
      const found = this.#candidates.all(endedBefore, this.#options.keptReplies, 20);
      if (found.length === 0) return;
      for (const candidate of found) if (!this.#disposed && wanted()) await this.#remove(candidate);
    }
  }

  /** In pieces, newest rows first; what is left in between is a shorter episode. */
  async #remove({ id, last_commit, opened_by, opened_within }: Candidate): Promise<void> {
    const bound = (opened_by ?? 0) + opened_within;
    let next = last_commit;
    for (;;) {
      const writes: Write[] = [];
      for (; next !== null && next >= bound && writes.length < chunk; next = this.#behind(next)) {
        writes.push(["dropCommit", [next]]);
      }
      const rest = next !== null && next >= bound;
      writes.push(rest ? ["cutEpisode", [next, id]] : ["dropEpisode", [id]]);
      await this.#writer.write(writes);
      await turn();
      if (!rest) return;
    }
  }

  #behind(commit: number): number | null {
    return this.#previous.get(commit)?.previous ?? null;
  }

  async #forgetSessions(endedBefore: number): Promise<void> {
    while (!this.#disposed) {
      const found = this.#forgettable.all(endedBefore, chunk);
      if (found.length === 0) return;
      await this.#writer.write(found.map(({ id }) => ["forgetSession", [id]]));
    }
  }
}
