/**
 * Group-relative policy optimisation: what is better than the other tries at the same task becomes more likely. Shao et al.,
 * "DeepSeekMath" (2024); variants by their `mean` and `std`: Dr. GRPO (Liu et al. 2025), DAPO (Yu et al. 2025), PhGPO (8), (12).
 */

import * as tf from "@tensorflow/tfjs-core";
import { type Decisions, type PolicyTerms, required } from "./decisions.ts";
import { klTerms } from "./kl.ts";
import { groupReturns, isConstant, mean, std } from "./returns.ts";
import { clippedSurrogate, logRatios } from "./surrogate.ts";
import type { PolicyOptions } from "./objective.ts";

export interface GrpoAdvantageOptions {
  /** Divide by the spread of the group, of the batch, or not at all (Dr. GRPO). */
  scale: "group" | "batch" | "none";
  /** 0: population (PhGPO), 1: sample (TRL, verl). */
  stdDdof: 0 | 1;
  /** PhGPO 1e-8, verl 1e-6, TRL 1e-4. */
  epsAdv: number;
}

export const grpoAdvantageDefaults: GrpoAdvantageOptions = { scale: "group", stdDdof: 0, epsAdv: 1e-8 };

/**
 * A_m = (R_m − R̄) / (σ_R + ε) within each group. 0 for a group without spread and for one of a single trajectory, which has
 * nothing to be compared with; the rows of a group sum to 0.
 * @param returns [B]; not finite: that episode failed. It gets 0, is no part of R̄ and σ, and must be masked (`kept`).
 * @param groups [B]
 */
export function grpoAdvantages(
  returns: readonly number[],
  groups: ArrayLike<number>,
  { scale, stdDdof, epsAdv }: GrpoAdvantageOptions = grpoAdvantageDefaults,
): { advantages: Float64Array; kept: boolean[] } {
  const { members, kept } = groupReturns(returns, groups);
  const advantages = new Float64Array(returns.length);
  const batchSpread = std(returns.filter(Number.isFinite), stdDdof);
  for (const rows of members.values()) {
    const values = rows.map((row) => returns[row] as number);
    if (isConstant(values)) continue;
    const center = mean(values);
    const spread = { group: () => std(values, stdDdof) + epsAdv, batch: () => batchSpread + epsAdv, none: () => 1 };
    const divisor = spread[scale]();
    for (const row of rows) advantages[row] = ((returns[row] as number) - center) / divisor;
  }
  return { advantages, kept };
}

/**
 * ℓ = −min(r A, clip(r) A) + β KL, for every decision.
 * @returns [B, T], before masks and means.
 */
export function grpoTerms(terms: PolicyTerms, decisions: Decisions, options: PolicyOptions): tf.Tensor {
  const { batch, steps } = decisions;
  const ratio = tf.exp(logRatios(options.ratio, terms, decisions));
  const loss = clippedSurrogate(ratio, tf.tensor2d(decisions.advantages, [batch, steps]), options);
  if (options.klCoef === 0) return loss;
  const ref = tf.tensor2d(required(decisions.refLogProbs, "refLogProbs", "klCoef"), [batch, steps]);
  return tf.add(loss, tf.mul(options.klCoef, klTerms(options.klEstimator, terms.logProbs, ref)));
}
