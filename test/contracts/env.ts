/** The contract of every environment: `checkEnv` has nothing to say about it. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { type AnyEnv, checkEnv, type CheckOptions, type CheckReport, type Lender, type TaskFiles } from "trailgym/env";
import { expect, test } from "vitest";

/** The findings as a test's output shows them; empty when there is nothing to say. */
export function linesOf({ findings }: CheckReport): string[] {
  return findings.map(
    ({ severity, rule, message, at }) => `${severity} ${rule}: ${message} ${JSON.stringify(at ?? {})}`,
  );
}

/** Interpreters to lend, started at the first need; whoever asked for them ends them. */
export async function interpreters(): Promise<Lender & AsyncDisposable> {
  const { createInterpreters } = await import("../../server/sandboxes/interpreters.ts");
  return createInterpreters({ processes: 1 });
}

/** Declares one test. @param options dataset folders, or a player where random actions get nowhere. */
export function keepsContract(name: string, definition: AnyEnv, options: CheckOptions = {}): void {
  test(`${name} keeps the contract of environments`, { timeout: 120_000 }, async () => {
    await using lent = definition.needs?.length ? await interpreters() : undefined;
    const report = await checkEnv(definition, { callMs: 30_000, ...(lent ? { lend: () => lent } : {}), ...options });
    expect(linesOf(report)).toEqual([]);
    expect(report.steps, "nothing was played").toBeGreaterThan(0);
  });
}

/** A folder as the dataset that a server would lend; undefined when there is no such folder. */
export async function dataset(folder: string): Promise<TaskFiles | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return undefined;
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, "/"))
    .sort();
  return {
    name: path.basename(folder),
    list: () => Promise.resolve(files),
    read: (file) => readFile(path.join(folder, file)),
  };
}
