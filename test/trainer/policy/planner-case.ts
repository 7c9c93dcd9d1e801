/** A small planner and a batch for it with everything in it: tasks of several clauses, STOP, patterns, slots, candidates. */

import { rng } from "trailgym/env";
import { slotFeatures } from "../../../trainer/policy/arguments.ts";
import { type PlannerBatch, plannerBatch } from "../../../trainer/policy/batch.ts";
import type { PlannedArguments, PlannedTrajectory } from "../../../trainer/policy/planned.ts";
import { type PlannerConfig, plannerDefaults } from "../../../trainer/policy/planner.ts";

export const smallConfig: PlannerConfig = {
  ...plannerDefaults,
  width: 16,
  heads: 2,
  embedding: 12,
  maxSteps: 6,
  maxClauses: 3,
  knownTools: 4,
};

const random = rng(21);

export function unitText(): Float32Array {
  const values = Float32Array.from({ length: smallConfig.embedding }, () => random.normal());
  const norm = Math.hypot(...values);
  return values.map((v) => v / norm);
}

export const tools = Array.from({ length: 5 }, unitText);
/** The last tool is not known. */
export const knownRows = [0, 1, 2, 3, -1];

function args(patterns: number, slots: number): PlannedArguments {
  return {
    pattern: {
      taken: patterns - 1,
      options: Array.from({ length: patterns }, unitText),
      bias: Array.from({ length: patterns }, (_, k) => 0.3 * k),
    },
    slots: Array.from({ length: slots }, (_, s) => ({
      property: unitText(),
      taken: s % 2,
      options: Array.from({ length: 2 + s }, () => ({
        text: unitText(),
        features: Array.from({ length: slotFeatures }, () => random.float()),
      })),
    })),
  };
}

export function smallTrajectories(): PlannedTrajectory[] {
  const STOP = tools.length;
  const plays = [
    { clauses: 2, calls: [0, 3, 4, STOP] },
    { clauses: 3, calls: [1, 1] },
    { clauses: 0, calls: [2, 0, 3, 1, STOP] },
  ];
  return plays.map(({ clauses, calls }) => ({
    clauses: Array.from({ length: clauses }, unitText),
    task: unitText(),
    calls: calls.map((tool, t) => ({
      tool,
      pattern: t % 2 === 0 ? unitText() : undefined,
      output: unitText(),
      outcome: [1, 0, t % 2, 0],
      arguments: tool === STOP ? undefined : args(1 + (t % 3), t % 3),
    })),
    candidates: calls.map((tool, t) => (t === 0 ? [tool, 0, 1, 2] : undefined)),
    targets: calls.map((tool) => (tool === STOP ? undefined : args(2, 1))),
  }));
}

export function smallBatch(trajectories = smallTrajectories()): PlannerBatch {
  return plannerBatch(trajectories, { tools, knownRows, maxClauses: 3, maxSteps: 6, slotFeatures });
}
