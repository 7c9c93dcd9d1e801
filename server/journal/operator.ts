/** What an operator does with a data folder. Loaded only by who does it: throw-away runs need no native module. */

import type { Journal } from "./journal.ts";
import type { CheckReport } from "./sqlite/check.ts";
import type { CompactOptions, Compacted } from "./sqlite/compact.ts";

export type { CheckReport, CompactOptions, Compacted };
export type JournalReader = Pick<Journal, "episodes" | "episode" | "transitions"> & Disposable;

/** Also while a server uses it. @throws JournalError */
export async function checkJournal(
  folder: string,
  progress?: (done: number, of: number) => void,
): Promise<CheckReport> {
  return (await import("./sqlite/check.ts")).check(folder, progress);
}

/** Lets go of what is too old and gives its room back to the disk. @throws JournalError, `locked` while a server uses it */
export async function compactJournal(folder: string, options: CompactOptions): Promise<Compacted> {
  return (await import("./sqlite/compact.ts")).compact(folder, options);
}

/**
 * A whole copy of it as it is now, also while a server uses it; `file` can be put in place of a damaged journal.
 * @throws JournalError; Error when `file` is there already
 */
export async function copyJournal(folder: string, file: string): Promise<void> {
  return (await import("./sqlite/compact.ts")).copy(folder, file);
}

/** For reading episodes, also while a server uses it. @throws JournalError */
export async function readJournal(folder: string): Promise<JournalReader> {
  return (await import("./sqlite/episodes.ts")).readEpisodes(folder);
}
