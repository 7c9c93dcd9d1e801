/** How many steps a second cross the wire, beside a bare `ws` server that echoes the same frames? */

import { fileURLToPath } from "node:url";
import { beside } from "../beside.ts";
import { startChild } from "./process.ts";
import type { Row } from "./report.ts";
import { compare, labelOf, microseconds, type Shape, type Target } from "./target.ts";

const section = "countdown over the wire";

const cases: Shape[] = [
  { sessions: 1, sockets: 1, batch: 1 },
  { sessions: 64, sockets: 64, batch: 1 },
  { sessions: 64, sockets: 1, batch: 1 },
  { sessions: 1000, sockets: 1000, batch: 1 },
  { sessions: 1000, sockets: 1, batch: 1 },
  { sessions: 64, sockets: 1, batch: 64 },
];

/** How often {@link wire} tells that it has measured something. */
export const wireParts = cases.length;

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

/** @param trailgym a server that is already up */
export async function wire(trailgym: Target, measured: (what: string) => void): Promise<Row[]> {
  await using echo = await startChild(process.execPath, [fileURLToPath(beside(import.meta.url, "./echo.ts"))]);
  const floor: Target = { name: "echo", url: echo.firstLine.url as string, pid: echo.process.pid as number };
  const rows: Row[] = [];
  const singly = new Map<number, number>();
  for (const plan of cases) {
    const { ours, theirs } = await compare({ theirs: [floor, plan], ours: [trailgym, plan] });
    const label = labelOf(plan);
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
      detail: `p50 ${ours.p50.toFixed(2)} ms, p99 ${ours.p99.toFixed(2)} ms, ${microseconds(ours.cpuUs)} µs of server CPU a step (echo ${microseconds(theirs.cpuUs)})`,
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
