/** What does an error of SQLite mean: to the one who opens a journal, and to a client whose call cannot be committed? */

import Database from "better-sqlite3";
import { WireError } from "trailgym/protocol";
import { JournalError } from "../error.ts";

/** Told to clients, who cannot know when somebody will make room. */
const retryAfterMs = 2000;

/** For the start. Errors that are no trouble with a file come back as they are. */
export function openingError(error: unknown, file: string): unknown {
  const code = codeOf(error) ?? (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error;
  const { message } = error as Error;
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code)
    ? new JournalError(
        "damaged",
        `${file} is damaged (${message}): put a copy of it back, or move it away to begin anew; ` +
          "`trailgym journal check` says more",
        { cause: error },
      )
    : new JournalError(
        "inaccessible",
        `${file} cannot be used (${code}: ${message}): see who may write there, or use another data folder`,
        { cause: error },
      );
}

/** For a call: CAPACITY where the disk, not the program, is at fault. Nothing of the call was committed. */
export function callError(error: unknown): Error {
  const code = codeOf(error);
  if (code === undefined || !isTrouble(code)) return error instanceof Error ? error : new Error(String(error));
  return WireError.of("CAPACITY", `the journal cannot be used (${reasonOf(code)}); nothing was committed`, {
    retryAfterMs,
  });
}

/** Whatever comes of disks, files and memory; what is left are mistakes of this program. */
function isTrouble(code: string): boolean {
  return /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|BUSY|LOCKED|NOMEM|PERM|PROTOCOL)/.test(code);
}

function reasonOf(code: string): string {
  if (code.startsWith("SQLITE_FULL")) return "no room is left";
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return "its file is damaged";
  return code;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
}
