import { type AnyEnv, checkEnv, type CheckReport, defineToolEnv, type Interpreter, type Rule } from "trailgym/env";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import countdown from "../../../envs/countdown/countdown.env.ts";
import { broken, sound, take } from "./check/base.ts";
import { zoo } from "./check/zoo.ts";

/** Short, so that an environment that hangs or never ends does not hold up the tests. */
const quick = { callMs: 200, maxSteps: 30 };

function show(report: CheckReport): string {
  return report.findings.map(({ severity, rule, message }) => `${severity} ${rule}: ${message}`).join("\n");
}

/** What a check listens on, as it is at this moment. */
function sources(): (PropertyDescriptor | undefined)[] {
  const places: [object, string][] = [
    [Math, "random"],
    [Date, "now"],
    [globalThis, "Date"],
    [performance, "now"],
    [crypto, "randomUUID"],
    [crypto, "getRandomValues"],
  ];
  return places.map(([object, key]) => Object.getOwnPropertyDescriptor(object, key));
}

const untouched = sources();
afterEach(() => {
  expect(sources()).toEqual(untouched);
});

describe("a sound environment has no findings", () => {
  const counter = defineToolEnv({
    id: "counter-v1",
    summary: "Reach the target.",
    state: z.object({ value: z.int() }),
    options: z.object({ target: z.int().default(3) }),
    maxCalls: 6,
    tools: {
      add: {
        description: "Adds n.",
        parameters: { n: z.int().min(1).max(2) },
        run: (_ctx, { value }, { n }) => ({
          content: value + n,
          state: { value: value + n },
          terminated: value + n >= 3,
        }),
      },
    },
    reset: () => ({ state: { value: 0 }, content: "Reach 3." }),
    reference: () => ({
      actions: [
        { tool: "add", arguments: { n: 2 } },
        { tool: "add", arguments: { n: 1 } },
      ],
      episodeReturn: 0,
    }),
  });
  test.each<[string, AnyEnv]>([
    ["the zoo's", sound],
    ["countdown", countdown],
    ["a tool environment", counter],
    ["an asynchronous one", broken({ step: (_ctx: unknown, state: { left: number }) => Promise.resolve(take(state)) })],
    [
      "one that builds dates from numbers",
      broken({
        step: (_ctx: unknown, s: { left: number }) => ({ ...take(s), info: { day: new Date(s.left).toISOString() } }),
      }),
    ],
    ["one without a reference", broken({ reference: undefined as never })],
    [
      "one that never ends by itself",
      broken({
        maxEpisodeSteps: 9,
        reference: undefined as never,
        step: (_ctx: unknown, s: { left: number }) => ({ state: s, observation: s }),
      }),
    ],
  ])("%s", async (_name, env) => {
    const report = await checkEnv(env, quick);
    expect(show(report)).toBe("");
    expect(report).toMatchObject({ id: env.id, ok: true });
    expect(report.episodes).toBeGreaterThan(0);
    expect(report.steps).toBeGreaterThan(0);
  });
});

describe("each fault is found by its rule, and by no other", () => {
  test.each(zoo.map((animal) => [animal.fault, animal] as const))(
    "%s",
    async (_fault, { env, rule, severity = "error", says, step }) => {
      const report = await checkEnv(env, quick);
      expect([...new Set(report.findings.map((finding) => finding.rule))], show(report)).toEqual([rule]);
      const finding = report.findings.find(({ message }) => says.test(message));
      expect(finding, show(report)).toMatchObject({ severity, rule });
      if (step !== undefined) expect(finding?.at?.step).toBe(step);
      expect(report.ok).toBe(severity === "warning");
    },
  );

  test("every rule has an animal", () => {
    const rules: Record<Rule, true> = {
      definition: true,
      "json-schema": true,
      "options-defaults": true,
      tools: true,
      tasks: true,
      "task-pages": true,
      "task-secret": true,
      throws: true,
      timeout: true,
      outcome: true,
      "state-schema": true,
      "observation-schema": true,
      "action-schema": true,
      reward: true,
      codec: true,
      "state-identity": true,
      "keeps-state": true,
      "mutates-input": true,
      chance: true,
      replay: true,
      "no-end": true,
      reference: true,
      "undeclared-need": true,
      "not-played": true,
    };
    expect([...new Set(zoo.map(({ rule }) => rule))].toSorted()).toEqual(Object.keys(rules).toSorted());
  });
});

describe("the check itself", () => {
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["an empty object", {}],
    ["a function", () => 1],
    [
      "a definition whose schema throws",
      broken({
        options: z.unknown().transform(() => {
          throw new Error("no");
        }) as never,
      }),
    ],
    [
      "a definition with an asynchronous schema",
      broken({ state: z.object({ left: z.int() }).refine(() => Promise.resolve(true)) }),
    ],
    [
      "an environment that throws no Error",
      broken({
        step: () => {
          throw "text" as unknown;
        },
      }),
    ],
  ])("does not throw for %s, but says what is wrong", async (_name, env) => {
    const report = await checkEnv(env as AnyEnv, quick);
    expect(report.ok).toBe(false);
    expect(report.findings[0]?.message).toMatch(/.{10,}/);
  });

  test("gives the same report again", async () => {
    const env = zoo.find(({ rule }) => rule === "reward")?.env as AnyEnv;
    expect(await checkEnv(env, quick)).toEqual(await checkEnv(env, quick));
  });

  test("says a fault once, and where it was first seen", async () => {
    const env = broken({ step: (_ctx: unknown, s: { left: number }) => ({ ...take(s), reward: NaN }) });
    const report = await checkEnv(env, { seeds: [5, 6, 7] });
    expect(report.findings).toEqual([expect.objectContaining({ rule: "reward", at: { seed: 5, step: 1 } })]);
  });

  test("checks side by side do not hear one another", async () => {
    const noisy = broken({
      step: async (_ctx: unknown, s: { left: number }) => {
        await Promise.resolve();
        Math.random();
        return take(s);
      },
    });
    const [quiet, loud] = await Promise.all([checkEnv(sound, quick), checkEnv(noisy, quick)]);
    expect(quiet.findings).toEqual([]);
    expect(loud.findings.map(({ rule }) => rule)).toEqual(["chance"]);
  });

  test("passes on the interpreters that it is lent, once, and does not hear their clocks", async () => {
    const interpreter: Interpreter = {
      language: "javascript",
      call: async ({ args }) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        Date.now();
        return { status: "ok", value: args?.[0], state: new Uint8Array(0), output: "" };
      },
    };
    const env = broken({
      needs: ["interpreter:javascript"],
      step: async (ctx, state: { left: number }) => {
        const outcome = await ctx
          .interpreter("javascript")
          .call({ program: [], entry: "f", args: [state.left] }, ctx.signal);
        return { ...take(state), info: { outcome: outcome.status } };
      },
    });
    const lent: unknown[] = [];
    const lend = (needs: unknown) => {
      lent.push(needs);
      return { interpreter: () => interpreter };
    };
    const report = await checkEnv(env, { lend, seeds: [0] });
    expect(show(report)).toBe("");
    expect(lent).toEqual([["interpreter:javascript"]]);
  });

  test("plays the first, the last and the tasks between of each split, as it is told", async () => {
    const played = new Set<unknown>();
    const list = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => ({ id: `${prefix}${i}` }));
    const env = broken({
      tasks: async () => {
        const { taskList } = await import("trailgym/env");
        return taskList({ train: list("a", 9), test: list("b", 1) });
      },
      reset: (ctx, options: unknown) => {
        played.add((ctx.task as { id: string }).id);
        return sound.reset(ctx, options);
      },
    });
    const report = await checkEnv(env, { tasks: 3, seeds: [0], episodes: 2 });
    expect(show(report)).toBe("");
    expect([...played].toSorted()).toEqual(["a0", "a4", "a8", "b0"]);
    expect(report.episodes).toBe(4 * 3);
  });

  test("plays with the caller's actions, and holds them against the schema", async () => {
    const env = broken({ action: z.object({ take: z.int() }).refine((action) => action.take === 1) });
    const actions = () => ({ take: 1 });
    expect((await checkEnv(env, { ...quick, actions })).findings).toEqual([]);
    const wrong = await checkEnv(env, { ...quick, actions: () => ({ take: 2 }) });
    expect(wrong.findings.map(({ rule }) => rule)).toEqual(["action-schema"]);
  });
});
