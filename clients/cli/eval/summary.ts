/** What do the episodes of an evaluation add up to? */

import type { Planned } from "./plan.ts";
import type { InfrastructureFailure, Outcome } from "./record.ts";
import { mean, meanInterval, median, wilsonInterval } from "./statistics.ts";

export interface Figures {
  /** Episodes that count: played to an end, or to the agent's own failure. */
  counted: number;
  /** Null where nothing counts: an infrastructure failure is not a return of 0. */
  return: { mean: number; low: number | null; high: number | null; method: string } | null;
  solved: { count: number; rate: number; low: number; high: number; method: string } | null;
  steps: { mean: number; median: number } | null;
  terminated: number;
  truncated: number;
}

export interface Summary extends Figures {
  /** Every planned episode counts. */
  complete: boolean;
  planned: number;
  tasks: number;
  /** Failures of the agent, by name; their episodes count. */
  agentErrors: Record<string, number>;
  /** What the first of each name said. */
  agentErrorExamples: Record<string, string>;
  /** `missing`: episodes that do not count, by the name of their last failure. `attempts`: all failures of this run. */
  infrastructure: { missing: number; errors: Record<string, number>; attempts: number };
  families: Record<string, Figures>;
}

export interface Played {
  planned: readonly Planned[];
  outcomes: ReadonlyMap<string, Outcome>;
  failures: readonly InfrastructureFailure[];
  solvedAt: number;
}

export function summarise({ planned, outcomes, failures, solvedAt }: Played): Summary {
  const counted = planned.flatMap(({ key }) => outcomes.get(key) ?? []);
  const lastFailure = new Map(failures.map(({ key, error }) => [key, error.name]));
  const missing = planned.filter(({ key }) => !outcomes.has(key));
  const families = Map.groupBy(
    counted.filter(({ family }) => family !== null),
    ({ family }) => family as string,
  );
  return {
    complete: missing.length === 0,
    planned: planned.length,
    tasks: new Set(planned.map(({ task }) => task?.id)).size,
    ...figures(counted, solvedAt),
    agentErrors: count(counted.flatMap(({ error }) => error?.name ?? [])),
    agentErrorExamples: Object.fromEntries(
      counted.toReversed().flatMap(({ error }) => (error === null ? [] : [[error.name, error.message]])),
    ),
    infrastructure: {
      missing: missing.length,
      errors: count(missing.map(({ key }) => lastFailure.get(key) ?? "NOT_PLAYED")),
      attempts: failures.length,
    },
    families: Object.fromEntries(
      [...families].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, list]) => [name, figures(list, solvedAt)]),
    ),
  };
}

export function isSolved({ return: value, error }: Outcome, solvedAt: number): boolean {
  return error === null && value >= solvedAt - 1e-9;
}

function figures(outcomes: readonly Outcome[], solvedAt: number): Figures {
  const n = outcomes.length;
  const common = {
    counted: n,
    terminated: outcomes.filter(({ terminated }) => terminated).length,
    truncated: outcomes.filter(({ truncated }) => truncated).length,
  };
  if (n === 0) return { ...common, return: null, solved: null, steps: null };
  const solved = outcomes.filter((outcome) => isSolved(outcome, solvedAt)).length;
  const steps = outcomes.map((outcome) => outcome.steps);
  const rate = wilsonInterval(solved, n) as { low: number; high: number };
  return {
    ...common,
    return: returns(outcomes),
    solved: { count: solved, rate: solved / n, ...rate, method: "Wilson score over episodes" },
    steps: { mean: mean(steps), median: median(steps) },
  };
}

/** Episodes of one task resemble each other; what is independent, and so what carries the interval, are the tasks. */
function returns(outcomes: readonly Outcome[]): Figures["return"] {
  const byTask = [...Map.groupBy(outcomes, ({ task }) => task).values()].map((list) => list.map((one) => one.return));
  const overTasks = byTask.length > 1 && byTask.length < outcomes.length;
  const samples = overTasks ? byTask.map(mean) : outcomes.map((outcome) => outcome.return);
  const { low = null, high = null } = meanInterval(samples) ?? {};
  return { mean: mean(samples), low, high, method: `Student t over ${overTasks ? "task means" : "episodes"}` };
}

function count(names: readonly string[]): Record<string, number> {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, list]) => [name, list.length] as const);
  return Object.fromEntries(counts.sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)));
}
