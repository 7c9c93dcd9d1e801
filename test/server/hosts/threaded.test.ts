/** Can a definition that never returns, dies or hoards hurt anybody but its own call? */

import { rng } from "trailgym/env";
import { createLog, threaded, type ThreadedEnv } from "trailgym/server";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Trial } from "../../../server/sessions/trial.ts";
import moods from "./moods.env.ts";

let env: ThreadedEnv;
beforeEach(() => {
  env = threaded(moods, new URL("./moods.env.ts", import.meta.url).href);
});
afterEach(() => env[Symbol.asyncDispose]());

const lent = {
  interpreter: () => {
    throw new Error("none here");
  },
  log: createLog("silent"),
};

function trial(timeoutMs = 5000, onProgress: (fraction: number) => void = () => undefined): Trial {
  return new Trial({ env: env.id, seed: 7, index: 1, task: undefined, needs: [], timeoutMs, onProgress }, lent);
}

interface State {
  count: number;
}

async function reset(): Promise<State> {
  const t = trial();
  return (await t.run(() => env.reset(t, {}) as Promise<{ state: State }>)).state;
}

function step(state: State, mood: string, timeoutMs?: number, onProgress?: (fraction: number) => void) {
  const t = trial(timeoutMs, onProgress);
  return t.run(() => env.step(t, state, mood) as Promise<{ state: State; observation: { drawn: number } }>);
}

test("a step gives what the definition gives, values and chance included", async () => {
  const state = await reset();
  const { state: next, observation } = await step(state, "draw");
  expect(observation.drawn).toBe(rng(7, 1).float());
  const direct = await moods.step(trial() as never, moods.state.parse(state), "draw");
  expect(next).toEqual(direct.state);
});

test.each(["loop", "loopLater"])("a %s is ended at its deadline and the next step works", async (mood) => {
  const state = await reset();
  await expect(step(state, mood, 300)).rejects.toMatchObject({ name: "DEADLINE" });
  await expect(step(state, "calm")).resolves.toMatchObject({ state: { count: 1 } });
});

test("the thread of an ended loop is gone: the process is idle afterwards", async () => {
  const state = await reset();
  await expect(step(state, "loop", 300)).rejects.toMatchObject({ name: "DEADLINE" });
  await step(state, "calm");
  const before = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(250);
});

test("calls behind a loop are answered long before its deadline", async () => {
  const state = await reset();
  const loop = step(state, "loop", 1500).catch((error: unknown) => error);
  const started = performance.now();
  const others = await Promise.all(Array.from({ length: 20 }, () => step(state, "calm", 3000)));
  expect(performance.now() - started).toBeLessThan(2000);
  expect(others.every(({ state: { count } }) => count === 1)).toBe(true);
  await expect(loop).resolves.toMatchObject({ name: "DEADLINE" });
});

test("a definition that runs out of memory or exits is at fault, and others on its thread are run again", async () => {
  const state = await reset();
  for (const mood of ["hoard", "exit"]) {
    const bad = step(state, mood, 15_000).catch((error: unknown) => error);
    const good = step(state, "calm", 15_000);
    await expect(bad).resolves.toMatchObject({ name: "ENV_FAULT" });
    await expect(good).resolves.toMatchObject({ state: { count: 1 } });
  }
});

test("what a definition throws is its fault, by its own message", async () => {
  const state = await reset();
  await expect(step(state, "throw")).rejects.toMatchObject({ name: "ENV_FAULT", message: "moods-v1: a bad mood" });
});

test("a definition that heeds its signal keeps its thread", async () => {
  const state = await reset();
  await expect(step(state, "wait", 100)).rejects.toMatchObject({ name: "DEADLINE" });
  await expect(step(state, "calm")).resolves.toMatchObject({ state: { count: 1 } });
});

test("progress and log lines cross over", async () => {
  const state = await reset();
  const seen: number[] = [];
  await step(state, "report", 5000, (fraction) => seen.push(fraction));
  expect(seen).toEqual([0.5]);
});

test("a flood of log lines and reports is cut, and its step is answered", async () => {
  const state = await reset();
  let lines = 0;
  let reports = 0;
  const log = createLog("silent");
  log.info = () => void lines++;
  const t = new Trial(
    { env: env.id, seed: 7, index: 1, task: undefined, needs: [], timeoutMs: 5000, onProgress: () => reports++ },
    { ...lent, log },
  );
  await t.run(() => env.step(t, state, "shout") as Promise<unknown>);
  expect(lines).toBe(1001);
  expect(reports).toBeLessThan(50);
});

test("a thread that dies in nobody's turn costs only the call that did it", async () => {
  const state = await reset();
  const bad = step(state, "dieLater", 15_000).catch((error: unknown) => error);
  const good = Promise.all([step(state, "linger", 15_000), step(state, "linger", 15_000)]);
  await expect(bad).resolves.toMatchObject({ name: "ENV_FAULT" });
  for (const { state: next } of await good) expect(next).toMatchObject({ count: 1 });
});

test("more loops than threads still end, each at its own deadline", async () => {
  const state = await reset();
  const ends = await Promise.allSettled(Array.from({ length: 12 }, () => step(state, "loop", 1500)));
  expect(ends.every((end) => end.status === "rejected" && (end.reason as Error).name === "DEADLINE")).toBe(true);
  await expect(step(state, "calm")).resolves.toMatchObject({ state: { count: 1 } });
});
