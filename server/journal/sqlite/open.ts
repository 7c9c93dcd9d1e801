/** From a folder to a database that can be written: made if it is not there, brought up to date, and this server's alone. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { JournalError } from "../error.ts";
import { openingError } from "./failure.ts";
import { lockFolder } from "./lock.ts";
import { migrate, schemaVersion } from "./schema.ts";

export const fileName = "journal.sqlite";

/** `off`: nothing is waited for. `normal`: commits outlive the process. `full`: each commit outlives the machine's fall. */
export type Sync = "off" | "normal" | "full";

export interface OpenOptions {
  sync: Sync;
  /** Beyond this SQLite refuses to grow the file. */
  maxBytes: number;
}

export interface OpenDatabase extends Disposable {
  readonly db: Database.Database;
  readonly file: string;
}

/** @throws JournalError */
export function openDatabase(folder: string, { sync, maxBytes }: OpenOptions): OpenDatabase {
  const file = join(folder, fileName);
  using stack = new DisposableStack();
  try {
    // Nobody else's business: it holds what every principal plays.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    stack.use(lockFolder(folder));
    const db = stack.adopt(new Database(file), (open) => open.close());
    db.pragma("journal_mode = WAL");
    db.pragma(`synchronous = ${sync}`);
    const pageSize = db.pragma("page_size", { simple: true }) as number;
    db.pragma(`max_page_count = ${Math.min(0xfffffffe, Math.max(1, Math.floor(maxBytes / pageSize)))}`);
    // See `checkpoint.ts`.
    db.pragma("wal_autocheckpoint = 0");
    db.pragma("cache_size = -65536");
    migrate(db);
    const owned = stack.move();
    return { db, file, [Symbol.dispose]: () => owned.dispose() };
  } catch (error) {
    throw openingError(error, file);
  }
}

/** For looking only, also while a server runs. @throws JournalError */
export function openForReading(folder: string): OpenDatabase {
  const file = join(folder, fileName);
  if (!existsSync(file)) {
    throw new JournalError("inaccessible", `there is no journal in ${folder}: no server has kept anything there`);
  }
  try {
    const db = new Database(file, { readonly: true, fileMustExist: true });
    try {
      schemaVersion(db);
    } catch (error) {
      db.close();
      throw error;
    }
    return { db, file, [Symbol.dispose]: () => db.close() };
  } catch (error) {
    throw openingError(error, file);
  }
}
