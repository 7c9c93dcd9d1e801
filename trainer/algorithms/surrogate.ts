/** The part that GRPO, PPO and RLOO share: whose probability is compared with whose, and where is the ratio clipped? */

import * as tf from "@tensorflow/tfjs-core";
import { type Decisions, type PolicyTerms, required } from "./decisions.ts";

/**
 * - `paper`: π_θ/π_θold, both at the sampling temperature; 1 before the first update, whatever sampled.
 * - `fused`: π̃_θ/π̃_θold with the stored trail and top-K mask: the trail as a part of the policy.
 * - `tis`: `paper`, weighted by min(π_θold/b, tisCap): truncated importance sampling of what really sampled, b.
 * - `behaviour`: π_θ/b; biased wherever b was sharpened or cut. For ablations.
 */
export type RatioMode = "paper" | "fused" | "tis" | "behaviour";

export interface ClipOptions {
  /** ε below 1, and above; DAPO's clip-higher is 0.2 and 0.28. */
  clipLow: number;
  clipHigh: number;
  /** c > 1: for A < 0 the loss is at most −c·A (dual clip, Ye et al. 2020). */
  dualClip?: number | undefined;
}

// e^±20; beyond it the clip has long cut the gradient, and exp would overflow.
const logRatioLimit = 20;

/** log r for every decision; exactly 0 where the mask is. @throws MissingTerm */
export function logRatios(mode: RatioMode, terms: PolicyTerms, decisions: Decisions): tf.Tensor {
  const { batch, steps, mask } = decisions;
  const now = mode === "fused" ? required(terms.fusedLogProbs, "fusedLogProbs", "the ratio fused") : terms.logProbs;
  const then = oldLogProbs(mode, decisions);
  const difference = tf.mul(tf.sub(now, tf.tensor2d(then, [batch, steps])), tf.tensor2d(mask, [batch, steps]));
  return tf.clipByValue(difference, -logRatioLimit, logRatioLimit);
}

/** The denominator of the ratio. @throws MissingTerm */
export function oldLogProbs(mode: RatioMode, decisions: Decisions): Float32Array {
  switch (mode) {
    case "paper":
    case "tis":
      return decisions.oldLogProbs;
    case "fused":
      return required(decisions.oldFusedLogProbs, "oldFusedLogProbs", "the ratio fused");
    case "behaviour":
      return required(decisions.behaviourLogProbs, "behaviourLogProbs", "the ratio behaviour");
  }
}

/** min(π_θold/b, cap) of `tis`; [B, T], 1 for oracle steps, which nothing sampled. @throws MissingTerm */
export function truncatedWeights(decisions: Decisions, cap: number): Float32Array {
  const behaviour = required(decisions.behaviourLogProbs, "behaviourLogProbs", "the ratio tis");
  const { oracle, oldLogProbs: old } = decisions;
  return old.map((logProb, i) => (oracle?.[i] === 1 ? 1 : Math.min(Math.exp(logProb - (behaviour[i] as number)), cap)));
}

/**
 * −min(r A, clip(r, 1−ε_low, 1+ε_high) A), and with dual clip min(that, −c A) where A < 0.
 * @param ratio, advantages one shape.
 */
export function clippedSurrogate(
  ratio: tf.Tensor,
  advantages: tf.Tensor,
  { clipLow, clipHigh, dualClip }: ClipOptions,
): tf.Tensor {
  const clipped = tf.clipByValue(ratio, 1 - clipLow, 1 + clipHigh);
  const loss = tf.neg(tf.minimum(tf.mul(ratio, advantages), tf.mul(clipped, advantages)));
  if (dualClip === undefined) return loss;
  // For A ≥ 0 a bound that never binds.
  const bound = tf.where(tf.less(advantages, 0), tf.mul(advantages, -dualClip), tf.fill(advantages.shape, 3e38));
  return tf.minimum(loss, bound);
}
