/**
 * REINFORCE leave-one-out: each trajectory against the mean of the others of its task. Kool et al. (2019); Ahmadian et al.,
 * "Back to Basics" (2024). PhGPO (22) clips it decision by decision; TRL takes the ratio of whole sequences.
 */

import * as tf from "@tensorflow/tfjs-core";
import { type Decisions, type PolicyTerms, required } from "./decisions.ts";
import { klTerms } from "./kl.ts";
import type { PolicyOptions } from "./objective.ts";
import { groupReturns, isConstant, mean } from "./returns.ts";
import { clippedSurrogate, logRatios } from "./surrogate.ts";

/**
 * A_m = R_m − (1/(M−1)) Σ_{j≠m} R_j = M/(M−1) (R_m − R̄); the rows of a group sum to 0.
 * @param returns [B]; not finite: that episode failed, counts for nobody's baseline, and must be masked (`kept`).
 * @param singleton what a group of one gets, whose baseline is empty: 0 (no signal), or R itself (plain REINFORCE).
 */
export function rlooAdvantages(
  returns: readonly number[],
  groups: ArrayLike<number>,
  singleton: "zero" | "return" = "zero",
): { advantages: Float64Array; kept: boolean[] } {
  const { members, kept } = groupReturns(returns, groups);
  const advantages = new Float64Array(returns.length);
  for (const rows of members.values()) {
    const values = rows.map((row) => returns[row] as number);
    if (rows.length === 1) {
      advantages[rows[0] as number] = singleton === "return" ? (values[0] as number) : 0;
    } else if (!isConstant(values)) {
      const center = mean(values);
      const factor = rows.length / (rows.length - 1);
      for (const row of rows) advantages[row] = factor * ((returns[row] as number) - center);
    }
  }
  return { advantages, kept };
}

/** Whose ratio: each decision's own, that of the whole sequence, or none (plain REINFORCE, on fresh samples only). */
export type RlooLevel = "decision" | "sequence" | "reinforce";

/**
 * `decision`: ℓ = −min(r_t A, clip(r_t) A). `sequence`: the same with r = Π_t r_t for all decisions, shared out so that the
 * sum over a sequence is its loss. `reinforce`: ℓ = −A log π_θ(a_t).
 * @returns [B, T]; for `sequence` and `reinforce` meant for the mean `sequence-sum`.
 */
export function rlooTerms(
  terms: PolicyTerms,
  decisions: Decisions,
  options: PolicyOptions & { level: RlooLevel },
): tf.Tensor {
  const { batch, steps, mask } = decisions;
  const advantages = tf.tensor2d(decisions.advantages, [batch, steps]);
  const loss = (() => {
    if (options.level === "reinforce") return tf.neg(tf.mul(terms.logProbs, advantages));
    const logRatio = logRatios(options.ratio, terms, decisions);
    if (options.level === "decision") return clippedSurrogate(tf.exp(logRatio), advantages, options);
    const sequence = tf.exp(tf.clipByValue(tf.sum(logRatio, 1, true), -20, 20));
    const share = tf.tensor2d(sharesOf(mask, steps), [batch, steps]);
    return tf.mul(clippedSurrogate(tf.tile(sequence, [1, steps]), advantages, options), share);
  })();
  if (options.klCoef === 0) return loss;
  const ref = tf.tensor2d(required(decisions.refLogProbs, "refLogProbs", "klCoef"), [batch, steps]);
  return tf.add(loss, tf.mul(options.klCoef, klTerms(options.klEstimator, terms.logProbs, ref)));
}

/** 1/length for every decision of a sequence. */
function sharesOf(mask: Float32Array, steps: number): Float32Array {
  const shares = new Float32Array(mask.length);
  for (let row = 0; row < mask.length; row += steps) {
    const length = mask.subarray(row, row + steps).reduce((total, m) => total + m, 0);
    for (let t = row; t < row + steps; t++) shares[t] = (mask[t] as number) / Math.max(1, length);
  }
  return shares;
}
