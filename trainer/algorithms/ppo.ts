/**
 * Proximal policy optimisation: a value head says what was to be expected. Schulman et al. (2017); GAE: Schulman et al.
 * (2016). PhGPO (21) has one advantage for a trajectory, from a learned baseline of the task; both forms are here.
 */

import * as tf from "@tensorflow/tfjs-core";
import { type Decisions, type PolicyTerms, required } from "./decisions.ts";
import { klTerms } from "./kl.ts";
import type { PolicyOptions } from "./objective.ts";
import { clippedSurrogate, logRatios } from "./surrogate.ts";

/** One played episode, as the value head saw it. */
export interface Played {
  /** r_t of every decision. Not finite: the episode failed. */
  rewards: readonly number[];
  /** V(s_t) before every decision. */
  values: readonly number[];
  /** V of the state after the last decision when the episode was cut from outside; 0 when the task ended it. */
  bootstrap: number;
}

export interface GaeOptions {
  gamma: number;
  lambda: number;
}

/**
 * δ_t = r_t + γ V(s_{t+1}) − V(s_t), A_t = δ_t + γλ A_{t+1}, target_t = A_t + V(s_t). A truncated episode bootstraps from V
 * of the state it was cut in, and nothing flows from one episode into another.
 */
export function gae(
  { rewards, values, bootstrap }: Played,
  { gamma, lambda }: GaeOptions,
): { advantages: number[]; targets: number[] } {
  const advantages = new Array<number>(rewards.length);
  let next = 0;
  for (let t = rewards.length - 1; t >= 0; t--) {
    const following = t === rewards.length - 1 ? bootstrap : (values[t + 1] as number);
    next = (rewards[t] as number) + gamma * following - (values[t] as number) + gamma * lambda * next;
    advantages[t] = next;
  }
  return { advantages, targets: advantages.map((advantage, t) => advantage + (values[t] as number)) };
}

/**
 * A_m = R_m − V(s_1) for every decision, R_m = Σ γ^t r_t (+ γ^T bootstrap); the value head learns R_m at the first decision.
 */
export function trajectoryAdvantages(
  { rewards, values, bootstrap }: Played,
  gamma = 1,
): { advantages: number[]; targets: number[] } {
  const episodeReturn = rewards.reduceRight((rest, reward) => reward + gamma * rest, bootstrap);
  const advantage = episodeReturn - (values[0] ?? 0);
  return { advantages: rewards.map(() => advantage), targets: rewards.map(() => episodeReturn) };
}

/**
 * (A − mean) / (std + 1e-8) over the decisions that count, sample std. Left as it is when there are fewer than two or all are
 * alike: a batch of one would become 0 or NaN.
 */
export function whiten(advantages: Float32Array, mask: Float32Array): Float32Array {
  const count = mask.reduce((total, m) => total + m, 0);
  if (count < 2) return advantages;
  const mean = advantages.reduce((total, value, i) => total + value * (mask[i] as number), 0) / count;
  const squares = advantages.reduce((total, value, i) => total + (mask[i] as number) * (value - mean) ** 2, 0);
  const spread = Math.sqrt(squares / (count - 1));
  if (spread <= 1e-12 * Math.max(1, Math.abs(mean))) return advantages;
  return advantages.map((value, i) => (mask[i] === 0 ? 0 : (value - mean) / (spread + 1e-8)));
}

/** ℓ = −min(r A, clip(r) A) + β KL. @returns [B, T], before masks and means. */
export function ppoTerms(terms: PolicyTerms, decisions: Decisions, options: PolicyOptions): tf.Tensor {
  const { batch, steps } = decisions;
  const ratio = tf.exp(logRatios(options.ratio, terms, decisions));
  const loss = clippedSurrogate(ratio, tf.tensor2d(decisions.advantages, [batch, steps]), options);
  if (options.klCoef === 0) return loss;
  const ref = tf.tensor2d(required(decisions.refLogProbs, "refLogProbs", "klCoef"), [batch, steps]);
  return tf.add(loss, tf.mul(options.klCoef, klTerms(options.klEstimator, terms.logProbs, ref)));
}

/**
 * ½ (V − R)², and with `clip` ½ max((V − R)², (V_old + clip(V − V_old, ±clip) − R)²).
 * @param values [B, T]. @returns [B, T], before masks and means.
 */
export function valueTerms(values: tf.Tensor, decisions: Decisions, clip?: number): tf.Tensor {
  const { batch, steps } = decisions;
  const shape: [number, number] = [batch, steps];
  const targets = tf.tensor2d(required(decisions.valueTargets, "valueTargets", "the value loss"), shape);
  const plain = tf.square(tf.sub(values, targets));
  if (clip === undefined) return tf.mul(0.5, plain);
  const old = tf.tensor2d(required(decisions.oldValues, "oldValues", "clipping the value loss"), shape);
  const near = tf.add(old, tf.clipByValue(tf.sub(values, old), -clip, clip));
  return tf.mul(0.5, tf.maximum(plain, tf.square(tf.sub(near, targets))));
}

/** 1 − Var(R − V)/Var(R) over the decisions that count; 0 when R does not vary. */
export function explainedVariance(values: Float32Array, targets: Float32Array, mask: Float32Array): number {
  const rows = [...mask.keys()].filter((i) => mask[i] !== 0);
  const variance = (of: (i: number) => number) => {
    const mean = rows.reduce((total, i) => total + of(i), 0) / rows.length;
    return rows.reduce((total, i) => total + (of(i) - mean) ** 2, 0) / rows.length;
  };
  const whole = rows.length === 0 ? 0 : variance((i) => targets[i] as number);
  return whole === 0 ? 0 : 1 - variance((i) => (targets[i] as number) - (values[i] as number)) / whole;
}
