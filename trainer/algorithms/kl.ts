/** How far is the policy from a frozen one, on the actions that were taken? Estimators of KL(π_θ‖π_ref) by J. Schulman. */

import * as tf from "@tensorflow/tfjs-core";

/**
 * With log r = log π_ref(a) − log π_θ(a): `k1` −log r, unbiased and of high variance; `k2` ½ log² r, whose gradient on the
 * policy's own samples is that of the KL; `k3` r − 1 − log r, never negative. In a loss, the gradient of a sampled k1 is 0
 * in the mean and that of k3 is KL(π_ref‖π_θ)'s: take k2 there for the true one, or k1 in the reward.
 */
export type KlEstimator = "k1" | "k2" | "k3";

/** @param logProbs, refLogProbs of the taken actions, any shape. @returns the same shape, differentiable. */
export function klTerms(estimator: KlEstimator, logProbs: tf.Tensor, refLogProbs: tf.Tensor): tf.Tensor {
  const logRatio = tf.sub(refLogProbs, logProbs);
  switch (estimator) {
    case "k1":
      return tf.neg(logRatio);
    case "k2":
      return tf.mul(0.5, tf.square(logRatio));
    case "k3":
      return tf.sub(tf.sub(tf.exp(logRatio), 1), logRatio);
  }
}

/** As {@link klTerms}, of one action and without a gradient. */
export function klOf(estimator: KlEstimator, logProb: number, refLogProb: number): number {
  const logRatio = refLogProb - logProb;
  switch (estimator) {
    case "k1":
      return -logRatio;
    case "k2":
      return 0.5 * logRatio * logRatio;
    case "k3":
      return Math.exp(logRatio) - 1 - logRatio;
  }
}

/** r_t − β k1_t: the penalty in the reward, for PPO and RLOO. Rows of any length. @returns new rows. */
export function penalised(
  rewards: readonly (readonly number[])[],
  logProbs: readonly (readonly number[])[],
  refLogProbs: readonly (readonly number[])[],
  klCoef: number,
): number[][] {
  return rewards.map((row, i) =>
    row.map((reward, t) => reward - klCoef * klOf("k1", logProbs[i]?.[t] as number, refLogProbs[i]?.[t] as number)),
  );
}
