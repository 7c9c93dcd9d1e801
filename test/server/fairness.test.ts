/** Can a session whose program loops slow down the sessions of others? */

import { createInterpreters, createLog, createRegistry, createServer } from "trailgym/server";
import { defineEnv } from "trailgym/env";
import { expect, test } from "vitest";
import { z } from "zod";
import { begin, step } from "../resources/play.ts";
import { Wire } from "../resources/wire.ts";

const TIME_MS = 1_500;

/** Either adds one, in a program, or loops until the time of a call is over. */
const wheel = (id: string) =>
  defineEnv({
    id,
    summary: "Turns a wheel, or spins it.",
    needs: ["interpreter:javascript"],
    state: z.object({ turns: z.int() }),
    action: z.object({ spin: z.boolean() }),
    observation: z.object({ turns: z.int(), status: z.string() }),
    options: z.object({}),
    maxEpisodeSteps: 1_000_000,
    reset: () => ({ state: { turns: 0 }, observation: { turns: 0, status: "ok" } }),
    async step(ctx, { turns }, { spin }) {
      const outcome = await ctx.interpreter("javascript").call(
        {
          // Sessions of one environment have one program.
          program: [`// ${id}\nfunction turn(state, n) { return [n + 1, state] }\nfunction spin() { for (;;); }`],
          entry: spin ? "spin" : "turn",
          args: [turns],
          limits: { timeMs: TIME_MS },
        },
        ctx.signal,
      );
      const next = outcome.status === "ok" ? (outcome.value as number) : turns;
      return { state: { turns: next }, observation: { turns: next, status: outcome.status }, reward: 0 };
    },
  });

test("four sessions that loop leave four others their pace", { timeout: 120_000 }, async () => {
  const interpreters = createInterpreters({ processes: 2 });
  await using server = await createServer({
    registry: await createRegistry([wheel("polite-v1"), wheel("looping-v1")]),
    config: { port: 0 },
    interpreters,
    log: createLog("silent"),
  });
  const wires: Wire[] = [];
  await using _wires = {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(wires.map((wire) => wire[Symbol.asyncDispose]()));
    },
  };
  const open = async (env: string) => {
    const wire = await Wire.open(server.url);
    wires.push(wire);
    const session = await begin(wire, env);
    return async (spin: boolean) => (await step(wire, session, { spin })).observation as { status: string };
  };
  const polite = await Promise.all([1, 2, 3, 4].map(() => open("polite-v1")));
  const looping = await Promise.all([1, 2, 3, 4].map(() => open("looping-v1")));

  /** @returns milliseconds within which 95 of 100 steps are done, and steps per second */
  const pace = async (ms: number) => {
    const times: number[] = [];
    const end = performance.now() + ms;
    await Promise.all(
      polite.map(async (turn) => {
        while (performance.now() < end) {
          const started = performance.now();
          expect(await turn(false)).toMatchObject({ status: "ok" });
          times.push(performance.now() - started);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }),
    );
    const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] as number;
    return { p95, perSecond: (1_000 * times.length) / ms };
  };

  await pace(1_000);
  const undisturbed = await pace(2_000);
  let over = false;
  const statuses: string[] = [];
  const loops = looping.map(async (spin) => {
    while (!over) statuses.push((await spin(true)).status);
  });
  await pace(2_000);
  const disturbed = await pace(5_000);
  const metrics = await (await fetch(server.url.replace("ws:", "http:").replace("/rpc", "/metrics"))).text();
  expect(metrics).toMatch(/^trailgym_interpreter_busy\{language="javascript"\} [1-8]$/m);
  expect(metrics).toMatch(/^trailgym_interpreter_processes\{language="javascript"\} [2-8]$/m);
  expect(metrics).toMatch(/^trailgym_interpreter_waiting\{language="python"\} 0$/m);
  over = true;
  await Promise.all(loops);
  // They get on as well, side by side: one by one there would be four.
  expect(new Set(statuses)).toEqual(new Set(["timeout"]));
  expect(statuses.length).toBeGreaterThan(6);
  // Cores are shared with the loops, and with other tests. With two processes for all, a step waited for whole loops.
  expect(disturbed.p95).toBeLessThan(5 * undisturbed.p95 + 60);
  expect(disturbed.perSecond).toBeGreaterThan(undisturbed.perSecond / 4);
  // More than two processes while loops run, never more than eight, and two again when they are over.
  expect(interpreters.pids("javascript").length).toBeLessThanOrEqual(8);
  await expect.poll(() => interpreters.pids("javascript").length, { timeout: 10_000 }).toBeLessThanOrEqual(2);
});
