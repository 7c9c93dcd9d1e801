/** What does one Trial-then-Overwrite step of a program cost, and what do snapshot, restore and fork? */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Client, connect, type Session } from "trailgym/client";
import { runChild } from "./process.ts";
import type { Row } from "./report.ts";

const steps = 2000;
const section = "one step of a program, one session, over the wire";

/** How often {@link programSteps} tells that it has measured something. */
export const programParts = 4;

/** @param url a server that has the bench dataset */
export async function programSteps(url: string, measured: (what: string) => void): Promise<Row[]> {
  await using client = await connect(url);
  const bare = await countdown(client);
  measured("steps of countdown");
  const javascript = await program(client, "bench-js");
  measured("steps in JavaScript");
  const python = await program(client, "bench-py");
  measured("steps in Python");
  const forked = await forkStep();
  measured("steps in forked processes");
  const rows: Row[] = [
    { section, name: "countdown (no program)", value: bare.p50, unit: "ms", detail: `p99 ${bare.p99.toFixed(2)} ms` },
    step("JavaScript program", javascript.step, bare.p50, 0.2, forked),
    step("Python program", python.step, bare.p50, 0.5, forked),
  ];
  for (const [language, { snapshot, restore, fork }] of Object.entries({ JavaScript: javascript, Python: python })) {
    for (const [name, { p50, p99 }] of Object.entries({ snapshot, restore, fork })) {
      rows.push({
        section: "copies of a program's state, over the wire",
        name: `${name} (${language})`,
        value: p50,
        unit: "ms",
        aim: 1,
        met: p50 <= 1,
        detail: `p99 ${p99.toFixed(2)} ms`,
      });
    }
  }
  return rows;
}

interface Times {
  p50: number;
  p99: number;
}

/** The aim is for the step itself, so the wire's own share (countdown's step in the same run) is taken off. */
function step(name: string, times: Times, wireMs: number, aim: number, forked: Times | undefined): Row {
  const own = times.p50 - wireMs;
  return {
    section,
    name,
    value: times.p50,
    unit: "ms",
    aim,
    met: own <= aim,
    ...(forked === undefined
      ? {}
      : {
          ratio: forked.p50 / times.p50,
          against: `a process forked for each step (Python): ${forked.p50.toFixed(1)} ms`,
        }),
    detail: `p99 ${times.p99.toFixed(2)} ms; ${own.toFixed(3)} ms without the wire`,
  };
}

async function countdown(client: Client): Promise<Times> {
  await using session = await client.make("countdown-v1", { options: { start: 1000 }, autoreset: "sameStep" });
  await session.reset({ seed: 1 });
  return await timed(steps, () => session.step({ amount: 1 }));
}

async function program(client: Client, task: string) {
  await using session = await client.make("code-gym-v1");
  await session.reset({ task, seed: 1 });
  const act = (i: number) => session.step({ tool: "Add", arguments: { place: i % 200 } });
  // The interpreter's compiler warms up first, as it is in any training run.
  await timed(200, act);
  const times = await timed(steps, act);
  let last = "";
  const snapshot = await timed(200, async () => (last = (await session.snapshot()).snapshot));
  const restore = await timed(200, () => session.restore(last));
  const copies: Session[] = [];
  const fork = await timed(200, async () => copies.push(...(await client.fork({ snapshot: last }, 1))));
  await Promise.all(copies.map((copy) => copy.close()));
  return { step: times, snapshot, restore, fork };
}

async function timed(count: number, act: (i: number) => Promise<unknown>): Promise<Times> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await act(i);
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(count / 2)] as number, p99: times[Math.floor(count * 0.99)] as number };
}

async function forkStep(): Promise<Times | undefined> {
  if (spawnSync("python3", ["--version"]).status !== 0) return undefined;
  return runChild<Times>("python3", [fileURLToPath(new URL("./forkstep.py", import.meta.url)), "200"]);
}
