/** The batch that the trainer's benchmark updates on: the same numbers for every engine, drawn from a seed. */

import { rng } from "trailgym/env";
import { type PlannerBatch, plannerBatch } from "../policy/batch.ts";
import type { PlannedTrajectory } from "../policy/planned.ts";
import { slotFeatures } from "../policy/arguments.ts";
import type { Decisions } from "../algorithms/decisions.ts";

export interface BenchSize {
  trajectories: number;
  steps: number;
  tools: number;
  clauses: number;
  embedding: number;
  /** Trajectories of one task. */
  group: number;
}

export function benchTrajectories(size: BenchSize): { tools: Float32Array[]; trajectories: PlannedTrajectory[] } {
  const random = rng(11);
  const text = () => {
    const values = Float32Array.from({ length: size.embedding }, () => random.normal());
    const norm = Math.hypot(...values);
    return values.map((v) => v / norm);
  };
  const tools = Array.from({ length: size.tools }, text);
  const tasks = Array.from({ length: Math.ceil(size.trajectories / size.group) }, () => ({
    task: text(),
    clauses: Array.from({ length: size.clauses }, text),
  }));
  const trajectories = Array.from({ length: size.trajectories }, (_, b) => ({
    ...tasks[Math.floor(b / size.group)]!,
    calls: Array.from({ length: size.steps }, () => ({
      tool: random.int(0, size.tools - 1),
      output: text(),
      outcome: [1, 0, 0, 0],
    })),
    candidates: Array.from({ length: size.steps }, () => undefined),
  }));
  return { tools, trajectories };
}

export function benchBatch(size: BenchSize): { batch: PlannerBatch; decisions: Decisions; actions: Int32Array } {
  const { tools, trajectories } = benchTrajectories(size);
  const batch = plannerBatch(trajectories, { tools, maxClauses: size.clauses, maxSteps: size.steps, slotFeatures });
  const random = rng(12);
  const count = size.trajectories * size.steps;
  return {
    batch,
    actions: Int32Array.from(trajectories.flatMap(({ calls }) => calls.map(({ tool }) => tool))),
    decisions: {
      batch: size.trajectories,
      steps: size.steps,
      mask: new Float32Array(count).fill(1),
      groups: Int32Array.from({ length: size.trajectories }, (_, b) => Math.floor(b / size.group)),
      oldLogProbs: new Float32Array(count).fill(-Math.log(size.tools)),
      advantages: Float32Array.from({ length: count }, () => random.normal()),
    },
  };
}
