/** Closes sessions that nobody calls and no socket holds. */

import type { SessionTable } from "./table.ts";

/** Sweeps once in `everyMs`. A session whose trial runs is in use, however long it takes. */
export function startReaper(table: SessionTable, now: () => number, everyMs = 1000): Disposable {
  const timer = setInterval(() => void sweep(table, now()), everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** @returns how many sessions it closed. */
export async function sweep(table: SessionTable, now: number): Promise<number> {
  const expired = [...table.values()].filter(
    (session) =>
      session.holders.size === 0 && !session.busy && now - session.lastUsed > session.record.settings.leaseMs,
  );
  await Promise.all(expired.map((session) => table.end(session, "expired")));
  return expired.length;
}
