/** Is a journal sound, how does it get smaller, and how is it copied? */

import { checkJournal, compactJournal, copyJournal, createLog } from "trailgym/server";
import { Failure } from "../terminal/failure.ts";
import { type Io, note, print, printJson } from "../terminal/io.ts";
import { type FolderOptions, folderOf } from "./options.ts";

export interface CheckOptions extends FolderOptions {
  json?: boolean;
}

export async function check(io: Io, options: CheckOptions): Promise<void> {
  const folder = folderOf(options);
  const report = await checkJournal(folder);
  if (report.problems.length > 0) io.exitCode = 1;
  if (options.json === true) return printJson(io, { folder, ...report });
  const { openSessions, endedSessions, episodes, commits, snapshots, bytes, problems } = report;
  print(
    io,
    `${folder}: ${openSessions} open and ${endedSessions} ended sessions, ${episodes} episodes, ${commits} commits, ` +
      `${snapshots} snapshots, ${megabytes(bytes)}`,
  );
  for (const problem of problems) print(io, `  ${problem}`);
  print(
    io,
    problems.length === 0 ? "sound" : `damaged: put a copy back, or go on with what \`journal export\` can save`,
  );
}

export interface CompactOptions extends FolderOptions {
  keepDays: number;
}

export async function compact(io: Io, options: CompactOptions): Promise<void> {
  const keepEpisodesMs = options.keepDays * 86_400_000;
  const { before, after } = await compactJournal(folderOf(options), { keepEpisodesMs, log: createLog() });
  print(io, `${megabytes(before)} before, ${megabytes(after)} now`);
}

export async function exportCopy(io: Io, file: string, options: FolderOptions): Promise<void> {
  try {
    await copyJournal(folderOf(options), file);
  } catch (error) {
    if (error instanceof Error && error.message.endsWith("is there already")) throw new Failure(error.message);
    throw error;
  }
  note(io, `written to ${file}; as journal.sqlite in a data folder it goes on from here`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
