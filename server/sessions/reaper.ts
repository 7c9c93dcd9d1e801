/** Closes sessions that nobody calls and no socket holds, and lets idle ones leave memory. */

import type { Logger } from "pino";
import type { Session } from "./session.ts";
import type { SessionTable } from "./table.ts";

export interface ReaperOptions {
  /** A session that was not called for so long leaves its value to the journal, where that is durable. */
  idleMs: number;
  log: Logger;
  now: () => number;
}

const everyMs = 1000;

/** Sweeps once a second, one sweep at a time; disposing it waits for the one that runs. */
export function startReaper(table: SessionTable, { idleMs, log, now }: ReaperOptions): AsyncDisposable {
  let running: Promise<void> | undefined;
  let failing = false;
  const timer = setInterval(() => {
    running ??= sweep(table, now(), idleMs)
      .then(() => table.save())
      .then(
        () => (failing = false),
        (error: unknown) => {
          // Once, not once a second: a full disk stays full for a while.
          if (!failing) log.error({ err: error }, "a sweep of the sessions failed; the next ones try again");
          failing = true;
        },
      )
      .then(() => (running = undefined));
  }, everyMs);
  timer.unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}

async function sweep(table: SessionTable, now: number, idleMs: number): Promise<void> {
  const expired: Session[] = [];
  for (const session of table.values()) {
    // A session whose trial runs is in use, however long it takes.
    if (session.busy) continue;
    const idle = now - session.lastUsed;
    if (session.holders.size === 0 && idle > session.settings.leaseMs) expired.push(session);
    else if (idle > idleMs) session.sleep();
  }
  await Promise.all(expired.map((session) => table.end(session, "expired")));
}
