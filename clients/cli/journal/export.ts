/** Which trajectories of a journal go into a file, and in which form? */

import { type JournalReader, readJournal, readTrajectory } from "trailgym/server";
import type { Trajectory } from "trailgym/protocol";
import { packageVersion } from "../package.ts";
import { Failure } from "../terminal/failure.ts";
import { type Io, note } from "../terminal/io.ts";
import { startProgress } from "../terminal/progress.ts";
import { jsonLines } from "./json-lines.ts";
import { type FolderOptions, folderOf } from "./options.ts";
import { recordOf, type TrajectoryRecord } from "./records.ts";

export interface ExportOptions extends FolderOptions {
  format?: "jsonl" | "parquet";
  env?: string;
  principal?: string;
  running: boolean;
  force: boolean;
}

/** Takes records one after the other; the file is whole once it is closed. */
export interface Sink {
  write(record: TrajectoryRecord): Promise<void>;
  close(): Promise<void>;
  /** Removes what was written. */
  discard(): Promise<void>;
}

export async function exportTrajectories(io: Io, file: string, options: ExportOptions): Promise<void> {
  const { signal } = io;
  const format = options.format ?? (file.endsWith(".parquet") ? "parquet" : "jsonl");
  using journal = await readJournal(folderOf(options));
  const version = await packageVersion();
  const sink = await openSink(file, format, options.force);
  let count = 0;
  try {
    const ids = await allEpisodes(journal);
    const progress = await startProgress(io, "exporting", ids.length);
    try {
      for (const id of ids) {
        signal.throwIfAborted();
        const found = await wanted(journal, id, options);
        if (found !== undefined) {
          await sink.write(recordOf(found, version));
          count++;
        }
        progress.advance();
      }
    } finally {
      progress.stop();
    }
    await sink.close();
  } catch (error) {
    await sink.discard();
    throw error;
  }
  note(io, `${count} trajector${count === 1 ? "y" : "ies"} written to ${file}`);
}

async function openSink(file: string, format: "jsonl" | "parquet", force: boolean): Promise<Sink> {
  try {
    if (format === "jsonl") return await jsonLines(file, force);
    return await (await import("./parquet.ts")).parquet(file, force);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Failure(`${file} is there already; --force writes over it`, { cause: error });
  }
}

async function allEpisodes(journal: JournalReader): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | undefined, more = true; more;) {
    const { items, next } = await journal.episodes({ after, limit: 1000 });
    ids.push(...items);
    after = next;
    more = next !== undefined;
  }
  return ids;
}

/** Undefined for one that was not asked for, or that was let go of a moment ago. */
async function wanted(
  journal: JournalReader,
  id: string,
  { env, principal, running }: ExportOptions,
): Promise<Trajectory | undefined> {
  const record = await journal.episode(id);
  if (record === undefined || (env !== undefined && record.env !== env)) return undefined;
  if (principal !== undefined && record.principal !== principal) return undefined;
  if (!running && record.endedAt === undefined) return undefined;
  const all = { from: undefined, limit: Number.MAX_SAFE_INTEGER, maxBytes: Infinity };
  return (await readTrajectory(journal, id, all))?.page;
}
