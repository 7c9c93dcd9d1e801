import { describe, expect, test } from "vitest";
import { plan } from "../../../clients/cli/eval/plan.ts";
import type { Outcome } from "../../../clients/cli/eval/record.ts";
import { summarise } from "../../../clients/cli/eval/summary.ts";

const tasks = [
  { id: "a", family: "x" },
  { id: "b", family: "x" },
  { id: "c", family: "y" },
];
const planned = plan(tasks, 2, 0);

function outcomes(returns: Record<string, number>, error: Outcome["error"] = null): Map<string, Outcome> {
  return new Map(
    planned.flatMap(({ key, task, episode, seed, agentSeed }) => {
      const value = returns[key];
      if (value === undefined) return [];
      const family = typeof task?.family === "string" ? task.family : null;
      const rest = { steps: 3, terminated: true, truncated: false, error };
      return [[key, { key, task: task?.id ?? null, family, episode, seed, agentSeed, return: value, ...rest }]];
    }),
  );
}

const lost = (key: string, name: string) => ({ key, attempt: 1, steps: 0, error: { name, message: "" } });

describe("a summary", () => {
  test("leaves out what failed for no fault of the agent, instead of counting it as 0", () => {
    const played = outcomes({ "a#0": 1, "a#1": 1, "b#0": 1 });
    const failures = [lost("b#1", "SANDBOX_LOST"), lost("c#0", "CAPACITY"), lost("c#0", "DEADLINE")];
    const summary = summarise({ planned, outcomes: played, failures, solvedAt: 1 });
    expect(summary.return?.mean).toBe(1);
    expect(summary.solved).toMatchObject({ count: 3, rate: 1 });
    expect(summary).toMatchObject({ complete: false, planned: 6, counted: 3, tasks: 3 });
    expect(summary.infrastructure).toEqual({
      missing: 3,
      errors: { DEADLINE: 1, NOT_PLAYED: 1, SANDBOX_LOST: 1 },
      attempts: 3,
    });
  });

  test("has no mean at all where nothing counts", () => {
    const summary = summarise({ planned, outcomes: new Map(), failures: [], solvedAt: 1 });
    expect([summary.return, summary.solved, summary.steps]).toEqual([null, null, null]);
  });

  test("counts the agent's own failures, with the return they had, and never as solved", () => {
    const played = outcomes({ "a#0": 1, "a#1": 0 }, { name: "AGENT_CRASHED", message: "" });
    const summary = summarise({ planned: planned.slice(0, 2), outcomes: played, failures: [], solvedAt: 1 });
    expect(summary).toMatchObject({
      complete: true,
      agentErrors: { AGENT_CRASHED: 2 },
      infrastructure: { missing: 0 },
    });
    expect(summary.return?.mean).toBe(0.5);
    expect(summary.solved?.count).toBe(0);
  });

  test("takes its interval over tasks, because the episodes of one resemble each other", () => {
    const played = outcomes({ "a#0": 1, "a#1": 1, "b#0": 0, "b#1": 0, "c#0": 1, "c#1": 0 });
    const summary = summarise({ planned, outcomes: played, failures: [], solvedAt: 1 });
    // Task means 1, 0, ½: deviation ½, t(2) = 4.3027.
    const half = (4.302653 * 0.5) / Math.sqrt(3);
    expect(summary.return?.method).toMatch(/task means/);
    expect(summary.return?.low).toBeCloseTo(0.5 - half, 5);
    expect(summary.return?.high).toBeCloseTo(0.5 + half, 5);
  });

  test("says the same of each family", () => {
    const played = outcomes({ "a#0": 1, "b#0": 0, "c#0": 1 });
    const { families } = summarise({ planned, outcomes: played, failures: [], solvedAt: 1 });
    expect(Object.keys(families)).toEqual(["x", "y"]);
    expect(families.x?.return?.mean).toBe(0.5);
    expect(families.y?.solved?.count).toBe(1);
  });
});

describe("a plan", () => {
  test("gives a task the same seeds whatever else is planned", () => {
    const alone = plan([{ id: "c", family: "y" }], 1, 0);
    expect(alone[0]).toEqual(planned.find(({ key }) => key === "c#0"));
    expect(plan(tasks, 2, 1).map(({ seed }) => seed)).not.toContain(alone[0]?.seed);
  });

  test("gives the agent another seed than the environment", () => {
    const seeds = planned.flatMap(({ seed, agentSeed }) => [seed, agentSeed]);
    expect(new Set(seeds).size).toBe(12);
    for (const seed of seeds) expect(seed).toSatisfy((n: number) => Number.isSafeInteger(n) && n >= 0 && n < 2 ** 47);
  });
});
