/**
 * How many decisions a second does inference make in lock-step rollouts? Run as a process of its own:
 * `inference.ts SETTINGS`, JSON as `InferenceSettings`. Prints one line of JSON.
 */

import { rng } from "trailgym/env";
import { PlannerInference } from "../policy/inference/inference.ts";
import { plannerDefaults, plannerLayout } from "../policy/planner.ts";
import { type BenchSize, benchTrajectories } from "./batch.ts";

export interface InferenceSettings {
  width: number;
  size: BenchSize;
  rounds: number;
}

export interface InferenceReport {
  /** Of each round, by the clock: tasks read, decisions made, calls observed. */
  decisionsPerSecond: number[];
}

if (import.meta.main) {
  const settings = JSON.parse(process.argv[2] ?? "{}") as InferenceSettings;
  process.stdout.write(`${JSON.stringify(measure(settings))}\n`);
}

function measure({ width, size, rounds }: InferenceSettings): InferenceReport {
  const { tools, trajectories } = benchTrajectories(size);
  const config = { ...plannerDefaults, width, maxSteps: size.steps, maxClauses: size.clauses };
  const weights = plannerLayout(config).initial(rng(1));
  const policy = new PlannerInference(config, weights, { tools, capacity: size.trajectories });
  const decisionsPerSecond = Array.from({ length: rounds }, () => {
    const started = performance.now();
    const slots: number[] = [];
    for (let b = 0; b < trajectories.length; b += size.group) slots.push(...policy.begin(trajectories[b]!, size.group));
    let decisions = 0;
    for (let t = 0; t < size.steps; t++) {
      decisions += policy.decide(slots).length;
      const calls = trajectories.map((each) => each.calls[t]!);
      if (t + 1 < size.steps) policy.observe(slots, calls);
    }
    for (const slot of slots) policy.end(slot);
    return (1000 * decisions) / (performance.now() - started);
  });
  return { decisionsPerSecond };
}
