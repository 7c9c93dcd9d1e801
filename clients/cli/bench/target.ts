/** A server under load: how fast did it answer, and what did that cost it? */

import { fileURLToPath } from "node:url";
import { beside } from "../beside.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import { type Child, cpuSeconds, runChild } from "./process.ts";

export interface Target {
  name: LoadPlan["target"];
  url: string;
  pid: number;
}

export function targetOf(name: Target["name"], { process, firstLine }: Child): Target {
  return { name, url: firstLine.url as string, pid: process.pid as number };
}

export type Shape = Pick<LoadPlan, "sessions" | "sockets" | "batch">;

export interface Measured extends LoadReport {
  /** Steps a second. */
  rate: number;
  /** Processor time of the server for each step, in microseconds; undefined where the system does not say. */
  cpuUs: number | undefined;
}

const seconds = 3;
const rounds = 3;

/** Rounds that alternate, best of each: what else runs on the machine slows all alike, and rarely in every round. */
export async function compare<K extends string>(
  targets: Readonly<Record<K, readonly [target: Target, shape: Shape]>>,
): Promise<Record<K, Measured>> {
  const best: Partial<Record<K, Measured>> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [key, [target, shape]] of Object.entries(targets) as [K, readonly [Target, Shape]][]) {
      const measured = await measure(target, shape);
      if (best[key] === undefined || measured.rate > best[key].rate) best[key] = measured;
    }
  }
  return best as Record<K, Measured>;
}

export async function measure({ name, url, pid }: Target, shape: Shape): Promise<Measured> {
  const before = cpuSeconds(pid);
  const args = [
    fileURLToPath(beside(import.meta.url, "./load.ts")),
    JSON.stringify({ url, target: name, seconds, ...shape } satisfies LoadPlan),
  ];
  const report = await runChild<LoadReport>(process.execPath, args);
  const after = cpuSeconds(pid);
  const cpuUs = before === undefined || after === undefined ? undefined : ((after - before) / report.steps) * 1e6;
  return { ...report, rate: report.steps / report.seconds, cpuUs };
}

export function labelOf({ sessions, sockets, batch }: Shape): string {
  const spread = batch > 1 ? `batches of ${batch}` : sockets > 1 ? "a socket each" : "one socket";
  return `${sessions} session${sessions > 1 ? "s" : ""}, ${spread}`;
}

export function microseconds(value: number | undefined): string {
  return value === undefined ? "?" : value.toFixed(1);
}
