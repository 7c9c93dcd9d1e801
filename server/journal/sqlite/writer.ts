/** Group commit: all that was asked for in one turn of the event loop goes to disk in one transaction. */

import type { Database, Statement } from "better-sqlite3";
import type { Logger } from "pino";
import { WireError } from "trailgym/protocol";
import { callError } from "./failure.ts";
import { type StatementName, statements } from "./statements.ts";

export type Write = readonly [statement: StatementName, params: readonly unknown[]];

interface Group {
  readonly writes: readonly Write[];
  readonly committed: (() => void) | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface WriterEvents {
  /** Behind each transaction, committed or not. */
  flushed(): void;
  /** A transaction could not be committed. */
  failed(): void;
}

export class Writer {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #events: WriterEvents;
  readonly #prepared: { readonly [Name in StatementName]: Statement };
  readonly #begin: Statement;
  readonly #commit: Statement;
  #queue: Group[] = [];
  #scheduled = false;
  #paused = false;
  #failing = false;

  constructor(db: Database, log: Logger, events: WriterEvents) {
    this.#db = db;
    this.#log = log;
    this.#events = events;
    const entries = Object.entries(statements).map(([name, sql]) => [name, db.prepare(sql)]);
    this.#prepared = Object.fromEntries(entries) as { [Name in StatementName]: Statement };
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
  }

  /** Whether the last transaction could not be committed. */
  get failing(): boolean {
    return this.#failing;
  }

  /**
   * All of `writes` or none, behind those that were asked for before.
   * @param committed called once they are, before anybody who waits for the promise goes on.
   */
  write(writes: readonly Write[], committed?: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ writes, committed, resolve, reject });
      this.#schedule();
    });
  }

  /** What is asked for from now on waits until {@link resume}. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    if (this.#queue.length > 0) this.#schedule();
  }

  flush(): void {
    const groups = this.#queue;
    if (groups.length === 0) return;
    this.#queue = [];
    this.#settle(groups);
    this.#events.flushed();
  }

  #settle(groups: readonly Group[]): void {
    const error = this.#transact(groups);
    if (error === undefined) {
      for (const { committed, resolve } of groups) {
        committed?.();
        resolve();
      }
    } else if (error instanceof WireError || groups.length === 1) {
      for (const { reject } of groups) reject(error);
      this.#events.failed();
    } else {
      // The disk is not at fault, so one of them is: the others are no part of it.
      for (const group of groups) this.#settle([group]);
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#paused) return;
    this.#scheduled = true;
    // Behind all input that has arrived: whatever those calls commit goes along.
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#paused) this.flush();
    });
  }

  /** @returns why nothing was committed. */
  #transact(groups: readonly Group[]): Error | undefined {
    try {
      this.#begin.run();
      for (const { writes } of groups) {
        for (const [statement, params] of writes) this.#prepared[statement].run(params);
      }
      this.#commit.run();
      if (this.#failing) this.#log.warn("the journal takes commits again");
      this.#failing = false;
      return undefined;
    } catch (error) {
      if (this.#db.inTransaction) this.#rollBack();
      // Said once: a full disk stays full for a while.
      if (!this.#failing) this.#log.error({ err: error }, "the journal takes no commits");
      this.#failing = true;
      return callError(error);
    }
  }

  #rollBack(): void {
    try {
      this.#db.exec("ROLLBACK");
    } catch (error) {
      this.#log.error({ err: error }, "a transaction of the journal could not be rolled back");
    }
  }
}
