/** What does one Trial-then-Overwrite step of a program cost, and what do snapshot, restore and fork? */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Client, connect, type Session } from "trailgym/client";
import { beside } from "../beside.ts";
import { runChild } from "./process.ts";
import type { Row } from "./report.ts";
import type { TrialsPlan } from "./trials.ts";

const steps = 2000;
/** A training run has many, so that all code on the way is compiled. */
const alone = 10_000;
const section = "one step of a program, tried on a copy of its state";

/** How often {@link programSteps} tells that it has measured something. */
export const programParts = 6;

/** @param url a server that has the bench dataset */
export async function programSteps(url: string, measured: (what: string) => void): Promise<Row[]> {
  const forked = await forkStep();
  measured("steps in forked processes");
  await using client = await connect(url);
  const bare = await countdown(client);
  measured("steps of countdown");
  const rows: Row[] = [];
  const copies: Row[] = [];
  for (const [language, task, aim] of [
    ["JavaScript", "bench-js", 0.2] as const,
    ["Python", "bench-py", 0.5] as const,
  ]) {
    const trial = await trials(task);
    measured(`trials in ${language}`);
    const { step, ...copying } = await program(client, task);
    measured(`steps in ${language}`);
    rows.push(stepRow(language, trial, aim, forked, step, bare));
    for (const [name, times] of Object.entries(copying)) copies.push(copyRow(`${name} (${language})`, times));
  }
  return [...rows, ...copies];
}

interface Times {
  p50: number;
  p99: number;
}

function stepRow(
  language: string,
  { p50, p99 }: Times,
  aim: number,
  forked: Times | undefined,
  wire: Times,
  bare: Times,
): Row {
  return {
    section,
    name: `${language} program`,
    value: p50,
    unit: "ms",
    aim,
    met: p50 <= aim,
    ...(forked === undefined
      ? {}
      : { ratio: forked.p50 / p50, against: `a process forked for each step (Python): ${forked.p50.toFixed(1)} ms` }),
    detail: `p99 ${p99.toFixed(2)} ms; over the wire ${wire.p50.toFixed(2)} ms, where a step of countdown takes ${bare.p50.toFixed(2)}`,
  };
}

function copyRow(name: string, { p50, p99 }: Times): Row {
  return {
    section: "copies of a program's state, over the wire",
    name,
    value: p50,
    unit: "ms",
    aim: 1,
    met: p50 <= 1,
    detail: `p99 ${p99.toFixed(2)} ms`,
  };
}

function trials(task: string): Promise<Times> {
  const plan = JSON.stringify({ task, trials: alone } satisfies TrialsPlan);
  return runChild<Times>(process.execPath, [fileURLToPath(beside(import.meta.url, "./trials.ts")), plan]);
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
