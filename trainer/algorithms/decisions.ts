/** What does a loss see of a batch of trajectories? Plain arrays, [B, T] row-major: B trajectories padded to T decisions. */

import type * as tf from "@tensorflow/tfjs-core";

/** What was decided, and what came of it. Padding has mask 0 and finite values elsewhere. */
export interface Decisions {
  batch: number;
  steps: number;
  /** 1: a decision that counts. 0: padding, and every decision of an episode that failed. */
  mask: Float32Array;
  /** [B]: which trajectories are of one task. */
  groups: Int32Array;
  /** log π_θold(a|s) at the sampling temperature, of oracle steps too. */
  oldLogProbs: Float32Array;
  /** log b(a|s): what really sampled, trail and random choice included. For the ratios `tis` and `behaviour`. */
  behaviourLogProbs?: Float32Array;
  /** log π̃_θold(a|s) of the distribution fused with the trail. For the ratio `fused`. */
  oldFusedLogProbs?: Float32Array;
  /** log π_ref(a|s) of a frozen policy, for the KL penalty. */
  refLogProbs?: Float32Array;
  /** 1: the reference chose the action, not the policy. */
  oracle?: Float32Array;
  /** 1: the reference names an action here, so L_SL counts. */
  supervised?: Float32Array;
  advantages: Float32Array;
  /** What the value head should say, and what it said when the episodes were played. */
  valueTargets?: Float32Array;
  oldValues?: Float32Array;
  /** 1: the value loss counts here; default `mask`. */
  valueMask?: Float32Array;
}

/** What the policy says of them now; [B, T], differentiable. */
export interface PolicyTerms {
  /** log π_θ(a|s) at the sampling temperature. */
  logProbs: tf.Tensor;
  /** log π̃_θ(a|s), with the stored trail and top-K mask. */
  fusedLogProbs?: tf.Tensor | undefined;
  /** H(π_θ(·|s)). */
  entropy: tf.Tensor;
  /** −log π_θ(a*|s) at temperature 1, smoothed when asked for. */
  supervised?: tf.Tensor | undefined;
  values?: tf.Tensor | undefined;
}

export class MissingTerm extends Error {
  override readonly name = "MissingTerm";
  constructor(term: string, needed: string) {
    super(`${needed} needs ${term}`);
  }
}

/** @throws MissingTerm */
export function required<T>(value: T | undefined, term: string, needed: string): T {
  if (value === undefined) throw new MissingTerm(term, needed);
  return value;
}

/** Rows `from` … `to`-1 of everything: a part of a batch that is accumulated. */
export function rowsOf<D extends Decisions>(decisions: D, from: number, to: number): D {
  const part = { ...decisions, batch: to - from } as D;
  for (const [name, value] of Object.entries(decisions)) {
    if (!ArrayBuffer.isView(value)) continue;
    const width = name === "groups" ? 1 : decisions.steps;
    (part as Record<string, unknown>)[name] = (value as Float32Array).slice(from * width, to * width);
  }
  return part;
}
