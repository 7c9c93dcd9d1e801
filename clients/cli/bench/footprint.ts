/** How long until a fresh server answers, and what does an idle session weigh? */

import { type Client, connect } from "trailgym/client";
import { cpuSeconds, residentBytes, startChild } from "./process.ts";
import type { Row } from "./report.ts";
import type { Target } from "./target.ts";

const idleSessions = 5000;
const starts = 5;

/** @param serve the command that starts a server and prints its url as JSON */
export async function coldStart(serve: readonly string[]): Promise<Row> {
  const times: number[] = [];
  for (let i = 0; i < starts; i++) {
    const started = performance.now();
    await using child = await startChild(process.execPath, serve);
    await using client = await connect(child.firstLine.url as string);
    await client.list();
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  const median = times[Math.floor(starts / 2)] as number;
  const detail = `fastest ${Math.round(times[0] as number)}, slowest ${Math.round(times.at(-1) as number)} ms of ${starts}`;
  const row = { section: "footprint", name: "cold start to the first reply", value: median / 1000, unit: "s" };
  return { ...row, aim: 1.5, met: median <= 1500, detail };
}

export async function idleSession({ url, pid }: Target): Promise<Row | undefined> {
  await using client = await connect(url);
  await open(client, 1000);
  await settled(pid);
  const before = residentBytes(pid);
  const kept = await open(client, idleSessions);
  await settled(pid);
  const after = residentBytes(pid);
  if (before === undefined || after === undefined) return undefined;
  const kib = (after - before) / idleSessions / 1024;
  const row = {
    section: "footprint",
    name: "memory of an idle session",
    value: kib,
    unit: "KiB",
    aim: 50,
    met: kib <= 50,
  };
  return { ...row, detail: `resident growth over ${kept} sessions, each reset and stepped once` };
}

async function open(client: Client, count: number): Promise<number> {
  for (let i = 0; i < count; i++) {
    const session = await client.make("countdown-v1");
    await session.reset({ seed: i });
    await session.step({ amount: 1 });
  }
  return count;
}

/** Waits until the server has nothing left to do (its collector included). */
export async function settled(pid: number): Promise<void> {
  for (let idle = 0, last = cpuSeconds(pid); idle < 5;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = cpuSeconds(pid);
    idle = now === last ? idle + 1 : 0;
    last = now;
  }
}
