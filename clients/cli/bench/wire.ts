/** How many steps a second cross the wire, beside a bare `ws` server that echoes the same frames? */

import { fileURLToPath } from "node:url";
import { beside } from "../beside.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import { cpuSeconds, runChild, startChild } from "./process.ts";
import type { Row } from "./report.ts";

const seconds = 3;
const rounds = 3;
const section = "countdown over the wire";

const cases: Pick<LoadPlan, "sessions" | "sockets" | "batch">[] = [
  { sessions: 1, sockets: 1, batch: 1 },
  { sessions: 64, sockets: 64, batch: 1 },
  { sessions: 64, sockets: 1, batch: 1 },
  { sessions: 1000, sockets: 1000, batch: 1 },
  { sessions: 1000, sockets: 1, batch: 1 },
  { sessions: 64, sockets: 1, batch: 64 },
];

/** How often {@link wire} tells that it has measured something. */
export const wireParts = cases.length;

export interface Target {
  name: LoadPlan["target"];
  url: string;
  pid: number;
}

function speedup(name: string, rate: number, against: number, aim?: number): Row {
  const ratio = rate / against;
  return {
    section,
    name,
    value: ratio,
    unit: "times",
    against: `${Math.round(against)} steps/s`,
    ratio,
    ...(aim === undefined ? {} : { aim, met: ratio >= aim }),
  };
}

interface Measured extends LoadReport {
  rate: number;
  /** Processor time of the server for each step, in microseconds. */
  cpuUs: number | undefined;
}

/** @param trailgym a server that is already up */
export async function wire(trailgym: Target, measured: (what: string) => void): Promise<Row[]> {
  await using echo = await startChild(process.execPath, [fileURLToPath(beside(import.meta.url, "./echo.ts"))]);
  const floor: Target = { name: "echo", url: echo.firstLine.url as string, pid: echo.process.pid as number };
  const rows: Row[] = [];
  const singly = new Map<number, number>();
  for (const plan of cases) {
    const { ours, theirs } = await pair(trailgym, floor, plan);
    const label = `${plan.sessions} session${plan.sessions > 1 ? "s" : ""}, ${
      plan.batch > 1 ? `batches of ${plan.batch}` : plan.sockets > 1 ? "a socket each" : "one socket"
    }`;
    measured(label);
    const ratio = ours.rate / theirs.rate;
    rows.push({
      section,
      name: label,
      value: ours.rate,
      unit: "steps/s",
      against: `bare ws echo ${Math.round(theirs.rate)}/s`,
      ratio,
      ...(plan.batch === 1 && plan.sessions > 1 ? { aim: 0.5, met: ratio >= 0.5 } : {}),
      detail: `p50 ${ours.p50.toFixed(2)} ms, p99 ${ours.p99.toFixed(2)} ms, ${us(ours.cpuUs)} µs of server CPU a step (echo ${us(theirs.cpuUs)})`,
    });
    if (plan.batch === 1) {
      if (plan.sockets === 1) singly.set(plan.sessions, ours.rate);
      continue;
    }
    const lone = singly.get(1) ?? NaN;
    const pipelined = singly.get(plan.sessions) ?? NaN;
    rows.push(
      speedup(`batches of ${plan.batch} against one message at a time`, ours.rate, lone, 3),
      speedup(`batches of ${plan.batch} against ${plan.sessions} pipelined`, ours.rate, pipelined),
    );
  }
  return rows;
}

/** Alternating rounds, best of each: what else runs on the machine slows both alike, and rarely in every round. */
async function pair(ours: Target, theirs: Target, plan: (typeof cases)[number]) {
  const best = (a: Measured | undefined, b: Measured) => (a === undefined || b.rate > a.rate ? b : a);
  let [fast, floor]: (Measured | undefined)[] = [];
  for (let round = 0; round < rounds; round++) {
    floor = best(floor, await measure(theirs, plan));
    fast = best(fast, await measure(ours, plan));
  }
  return { ours: fast as Measured, theirs: floor as Measured };
}

async function measure({ name, url, pid }: Target, plan: (typeof cases)[number]): Promise<Measured> {
  const before = cpuSeconds(pid);
  const args = [
    fileURLToPath(beside(import.meta.url, "./load.ts")),
    JSON.stringify({ url, target: name, seconds, ...plan } satisfies LoadPlan),
  ];
  const report = await runChild<LoadReport>(process.execPath, args);
  const after = cpuSeconds(pid);
  const cpuUs = before === undefined || after === undefined ? undefined : ((after - before) / report.steps) * 1e6;
  return { ...report, rate: report.steps / report.seconds, cpuUs };
}

function us(value: number | undefined): string {
  return value === undefined ? "?" : value.toFixed(1);
}
