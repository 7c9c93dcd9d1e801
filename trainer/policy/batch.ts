/**
 * What does the planner see of a batch? Texts as embeddings, once each, and indices into them. B trajectories padded to T
 * decisions, N tools (all of the batch's; STOP is action N), S the clauses of the batch's longest task, the task itself last.
 */

import { candidateBias } from "../algorithms/likelihood.ts";
import { type Choices, collector } from "./choices.ts";
import type { PlannedTrajectory } from "./planned.ts";
import { flatten, table } from "./texts.ts";

export interface PlannerBatch {
  size: number;
  steps: number;
  /** S ≥ 1. */
  clauses: number;
  /** [N, E] descriptions. */
  tools: Float32Array;
  /** [N] each tool's own vector, when the policy has any, and how much of it counts: 1, 0 for a tool without one, 1/(1−p) under dropout. */
  knownRows: Int32Array;
  knownKeep: Float32Array;
  /** [X, E] clauses and tasks. */
  prefixTexts: Float32Array;
  /** [B·S]; clauses first, then padding (any index), the task last. */
  prefix: Int32Array;
  /** [B, S+T-1]: 1 for a clause, the task or a call that is there. */
  present: Uint8Array;
  /** [B·(T-1)] of the calls before the last decision; padding has any index. */
  previousTools: Int32Array;
  previousPatterns: Int32Array;
  previousOutputs: Int32Array;
  /** [P, E] and [O, E]; row 0 is zeros, for calls without one. */
  patternTexts: Float32Array;
  outputTexts: Float32Array;
  /** [B·(T-1), 4], see `outcomeFlags`. */
  outcomes: Float32Array;
  /** [B, T, N+1]: 0 for a candidate, −1e9 else. Undefined: everything is one. */
  candidates: Float32Array | undefined;
  /** What was chosen of patterns and values, and what the reference chose. */
  choices?: Choices;
  targetChoices?: Choices;
  /** [V, E] texts of patterns' and slots' options and of properties; row 0 is zeros. */
  optionTexts: Float32Array;
}

export interface BatchOptions {
  /** [N] embeddings of the descriptions. */
  tools: readonly Float32Array[];
  /** [N] place of the tool's own vector, −1: none. Undefined: no tool has one. */
  knownRows?: readonly number[] | undefined;
  /** [N] 1 or 0: a dropout mask; default all 1. */
  knownKeep?: readonly number[] | undefined;
  maxClauses: number;
  maxSteps: number;
  slotFeatures: number;
}

/**
 * @param trajectories at least one, each with at least one decision and at most `maxSteps`.
 * @throws NoCandidates, RangeError
 */
export function plannerBatch(trajectories: readonly PlannedTrajectory[], options: BatchOptions): PlannerBatch {
  const { tools, maxClauses, maxSteps } = options;
  const size = trajectories.length;
  const steps = Math.max(...trajectories.map(({ calls }) => calls.length));
  if (!(size > 0 && steps > 0)) throw new RangeError("a batch needs a trajectory with a decision");
  if (steps > maxSteps)
    throw new RangeError(`${steps} decisions are more than the ${maxSteps} that this planner can place`);
  const kept = trajectories.map(({ clauses }) => clauses.slice(0, maxClauses));
  const clauses = 1 + Math.max(...kept.map((each) => each.length));
  const length = clauses + steps - 1;
  const actions = tools.length + 1;
  const width = tools[0]?.length ?? 0;

  const prefixTable = table(width, false);
  const patternTable = table(width, true);
  const outputTable = table(width, true);
  const optionTable = table(width, true);
  const prefix = new Int32Array(size * clauses);
  const present = new Uint8Array(size * length);
  const before = size * (steps - 1);
  const [previousTools, previousPatterns, previousOutputs] = [0, 1, 2].map(() => new Int32Array(before)) as [
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const flags = 4;
  const outcomes = new Float32Array(before * flags);
  const open = trajectories.every(({ candidates }) => candidates.every((each) => each === undefined));
  const allowed = new Uint8Array(open ? 0 : size * steps * actions);
  const mask = new Float32Array(size * steps);
  const chosen = collector(optionTable, options.slotFeatures);
  const targets = collector(optionTable, options.slotFeatures);

  for (const [b, { task, calls, candidates, targets: taught }] of trajectories.entries()) {
    for (const [s, clause] of (kept[b] as readonly Float32Array[]).entries()) {
      prefix[b * clauses + s] = prefixTable.add(clause);
      present[b * length + s] = 1;
    }
    prefix[b * clauses + clauses - 1] = prefixTable.add(task);
    present.fill(1, b * length + clauses - 1, b * length + clauses - 1 + calls.length);
    for (const [t, call] of calls.entries()) {
      const row = b * steps + t;
      mask[row] = 1;
      const some = candidates[t];
      if (some) for (const tool of some) allowed[row * actions + tool] = 1;
      else allowed.fill(1, row * actions, (row + 1) * actions);
      if (call.arguments) chosen.add(row, call.tool, call.arguments);
      if (taught?.[t]) targets.add(row, call.tool, taught[t]);
      if (t + 1 >= calls.length) continue;
      const at = b * (steps - 1) + t;
      previousTools[at] = call.tool;
      previousPatterns[at] = patternTable.add(call.pattern);
      previousOutputs[at] = outputTable.add(call.output);
      outcomes.set(call.outcome, at * flags);
    }
  }

  const known = options.knownRows ?? tools.map(() => -1);
  return {
    size,
    steps,
    clauses,
    tools: flatten(tools, width),
    knownRows: Int32Array.from(known, (row) => Math.max(0, row)),
    knownKeep: Float32Array.from(known, (row, j) => (row < 0 ? 0 : (options.knownKeep?.[j] ?? 1))),
    prefixTexts: prefixTable.values(),
    prefix,
    present,
    previousTools,
    previousPatterns,
    previousOutputs,
    patternTexts: patternTable.values(),
    outputTexts: outputTable.values(),
    outcomes,
    candidates: open ? undefined : candidateBias(allowed, mask, steps),
    ...(chosen.empty ? {} : { choices: chosen.choices() }),
    ...(targets.empty ? {} : { targetChoices: targets.choices() }),
    optionTexts: optionTable.values(),
  };
}
