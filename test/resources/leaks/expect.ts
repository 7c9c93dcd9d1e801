/** The leak test itself: its short and its long form differ in the number of sessions alone. */

import { expect } from "vitest";
import { endSessions } from "./endings.ts";
import { CountedServer, type Held } from "./server.ts";

/** What an ended episode may leave in memory: nothing but what is bounded, and not all of that is reached by the warm-up. */
const memory = { fixed: 4 * 2 ** 20, ofSession: 4096 };

/**
 * A server holds no more after `sessions` ended in every way than it did before them.
 * @param warmUp so many ended before the first count, as pools, caches and compiled code stay
 */
export async function expectNothingLeft(warmUp: number, sessions: number): Promise<void> {
  await using server = await CountedServer.start();
  await endSessions(server.url, warmUp);
  const before = await settled(server);
  await endSessions(server.url, sessions);
  await expect.poll(async () => grown(before, await server.held()), { timeout: 15_000, interval: 250 }).toEqual({});
  const after = await server.held();
  const bytes = after.heapBytes + after.externalBytes - before.heapBytes - before.externalBytes;
  expect(bytes).toBeLessThan(memory.fixed + sessions * memory.ofSession);
}

/** Once it is the same twice: threads and interpreters that were stopped are being replaced. */
async function settled(server: CountedServer): Promise<Held> {
  for (let last = await server.held(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const held = await server.held();
    if (JSON.stringify(counts(held)) === JSON.stringify(counts(last))) return held;
    last = held;
  }
}

/** What there is more of, as `[before, after]`. */
function grown(before: Held, after: Held): Record<string, [number, number]> {
  const least = counts(before);
  const pairs = Object.entries(counts(after)).map(([name, count]) => [name, [least[name] ?? 0, count]] as const);
  return Object.fromEntries(pairs.filter(([, [was, is]]) => is > was).map(([name, [was, is]]) => [name, [was, is]]));
}

function counts({ handles, processes, threads, openFiles, temporary }: Held): Record<string, number> {
  // The turn of the loop in which it counts has its own.
  const { Immediate: _, ...lasting } = handles;
  return { ...lasting, processes, threads, openFiles, temporary };
}
