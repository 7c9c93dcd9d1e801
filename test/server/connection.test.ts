import { expect, test } from "vitest";
import { verifies } from "../e2e/verifies.ts";
import { trouble } from "../resources/envs.ts";
import { begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import type { AnyEnv } from "trailgym/env";
import { notifications } from "trailgym/protocol";
import { defineEnv } from "trailgym/env";
import { z } from "zod";

/** Reports at once whenever told, with real time in between. */
function reporter(reports: number, everyMs: number): AnyEnv {
  return defineEnv({
    id: "reporter-v1",
    summary: "Reports progress.",
    state: z.null(),
    action: z.null(),
    observation: z.null(),
    options: z.object({}),
    reset: () => ({ state: null, observation: null }),
    async step(ctx) {
      for (let i = 1; i <= reports; i++) {
        ctx.progress(i / reports, `${i}`);
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
      return { state: null, observation: null };
    },
  });
}

verifies("progress/rate", async () => {
  await using server = await serverResource({ envs: [reporter(70, 5)] });
  const wire = await server.wire();
  const sessions = [await begin(wire, "reporter-v1"), await begin(wire, "reporter-v1")];
  const started = performance.now();
  const ids = [wire.nextId(), wire.nextId()];
  await Promise.all(ids.map((id, i) => wire.request("env/step", { session: sessions[i], action: null }, id)));
  const seconds = (performance.now() - started) / 1000;
  for (const id of ids) {
    const mine = wire.notifications.filter(({ params }) => params.id === id);
    expect(mine.length).toBeGreaterThanOrEqual(2);
    expect(mine.length).toBeLessThanOrEqual(Math.ceil(seconds * 10) + 1);
    const fractions = mine.map(({ params }) => params.fraction as number);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  }
});

test("progress has the shape that its method promises, whatever the environment reports", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const tag = (value: string) => ({ $type: "float", value });
  for (const fraction of [0.5, -3, 7, tag("NaN"), tag("Infinity"), tag("-Infinity")]) {
    const session = await begin(wire, "trouble-v1");
    const n = wire.notifications.length;
    await step(wire, session, { do: "report", fractions: [fraction] });
    const { method, params } = wire.notifications[n] as { method: string; params: unknown };
    expect(method).toBe("$/progress");
    const [, progress] = notifications;
    expect(progress.params.safeParse(params).success).toBe(true);
  }
});

test("no progress is sent for a call without an id, nor after its reply", async () => {
  let late: (() => void) | undefined;
  const clinging = defineEnv({
    id: "clinging-v1",
    summary: "Keeps its context, which it must not.",
    state: z.null(),
    action: z.null(),
    observation: z.null(),
    options: z.object({}),
    reset: () => ({ state: null, observation: null }),
    step(ctx) {
      late = () => ctx.progress(1, "too late");
      return { state: null, observation: null };
    },
  });
  const env = trouble();
  await using server = await serverResource({ envs: [clinging, env.env] });
  const wire = await server.wire();
  await step(wire, await begin(wire, "clinging-v1"), null);
  late?.();
  const session = await begin(wire, "trouble-v1");
  wire.notify("env/step", { session, action: { do: "report", fractions: [0.5] } });
  await wire.call("env/list", {});
  expect(env.runs).toBe(1);
  expect(wire.notifications).toEqual([]);
});
