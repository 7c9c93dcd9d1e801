/** Keeps two servers off one data folder. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { JournalError } from "../error.ts";

/**
 * Held by the operating system for as long as this process lives: a server that was killed leaves no lock behind, and it
 * holds between containers that share a folder and cannot see each other's processes.
 * @throws JournalError `locked` that names the holder
 */
export function lockFolder(folder: string): Disposable {
  const owner = join(folder, "owner");
  const lock = new Database(join(folder, "lock"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (!(error instanceof Database.SqliteError) || !error.code.startsWith("SQLITE_BUSY")) throw error;
    const message = `${folder} is in use by process ${holderOf(owner)}: stop that one, or use another data folder`;
    throw new JournalError("locked", message, { cause: error });
  }
  writeFileSync(owner, `${process.pid}\n`);
  return { [Symbol.dispose]: () => lock.close() };
}

function holderOf(owner: string): string {
  try {
    return readFileSync(owner, "utf8").trim();
  } catch {
    return "unknown";
  }
}
