/** How likely were the actions, given logits? Log-probs, entropy, the distribution fused with the trail, and L_SL. */

import * as tf from "@tensorflow/tfjs-core";
import type { Decisions } from "./decisions.ts";

/** Added to the logit of what may not be chosen. Large, not infinite: −∞ · 0 is NaN in an entropy. */
export const forbidden = -1e9;

export class NoCandidates extends Error {
  override readonly name = "NoCandidates";
  readonly row: number;
  readonly step: number;
  constructor(row: number, step: number) {
    super(`trajectory ${row} has no action that is allowed at its decision ${step}`);
    this.row = row;
    this.step = step;
  }
}

/**
 * The mask to add to logits: 0 where allowed, {@link forbidden} elsewhere. Padding needs no candidates and gets zeros.
 * @param allowed [B·T, A], 1 where allowed. @param mask [B·T]
 * @throws NoCandidates
 */
export function candidateBias(allowed: Uint8Array, mask: Float32Array, steps: number): Float32Array {
  const actions = allowed.length / mask.length;
  const bias = new Float32Array(allowed.length);
  for (let row = 0; row < mask.length; row++) {
    if (mask[row] === 0) continue;
    let any = false;
    for (let i = row * actions; i < (row + 1) * actions; i++) {
      if (allowed[i] === 1) any = true;
      else bias[i] = forbidden;
    }
    if (!any) throw new NoCandidates(Math.floor(row / steps), row % steps);
  }
  return bias;
}

/** log softmax(logits / T_s), the last axis being actions; masked logits stay at a large negative, with probability 0. */
export function tempered(logits: tf.Tensor, temperature: number): tf.Tensor {
  return tf.logSoftmax(temperature === 1 ? logits : tf.div(logits, temperature));
}

/** Σ over actions of values · oneHot: one value for each row, with a gradient on every backend. @param chosen [R, A] one-hot */
export function chosenOf(values: tf.Tensor, chosen: tf.Tensor): tf.Tensor {
  return tf.sum(tf.mul(values, chosen), -1);
}

/** @param actions int32, any shape; -1 gives a row of zeros. @returns [..., depth] float32 */
export function oneHot(actions: Int32Array, depth: number): Float32Array {
  const out = new Float32Array(actions.length * depth);
  for (const [row, action] of actions.entries()) if (action >= 0) out[row * depth + action] = 1;
  return out;
}

/** As {@link oneHot}, made by the backend; actions ≥ 0. @returns [R, depth] */
export function oneHotRows(actions: Int32Array, depth: number): tf.Tensor2D {
  // Cast, because the WebAssembly backend writes the bits of integers when it is asked for float32.
  return tf.cast(tf.oneHot(tf.tensor1d(actions, "int32"), depth), "float32") as tf.Tensor2D;
}

/** H = −Σ p log p in nats over the last axis. @param logProbs as {@link tempered} gives them. */
export function entropyOf(logProbs: tf.Tensor): tf.Tensor {
  return tf.neg(tf.sum(tf.mul(tf.exp(logProbs), logProbs), -1));
}

/**
 * log π(a) and H(π) of softmax(logits / T) in one operation, for the many rows of an update. Its gradient is written out:
 * with g and h those of log π(a) and H, ∂/∂z_j = (g·(1[j=a] − p_j) − h·p_j·(log p_j + H)) / T. A masked logit gets exactly 0.
 * @param logits [R, A], masked. @param actions [R] int32. @returns two of [R]
 */
export function takenTerms(
  logits: tf.Tensor,
  actions: Int32Array,
  temperature: number,
): { logProbs: tf.Tensor; entropy: tf.Tensor } {
  const [rows, depth] = logits.shape as [number, number];
  const places = Int32Array.from(actions, (action, row) => row * depth + action);
  const op = tf.customGrad((...inputs) => {
    const save = inputs[1] as unknown as tf.GradSaveFunc;
    const all = tempered(inputs[0] as tf.Tensor, temperature);
    const taken = tf.tensor1d(places, "int32");
    const probabilities = tf.exp(all);
    const entropy = tf.neg(tf.sum(tf.mul(probabilities, all), 1));
    save([all, probabilities, entropy, taken]);
    return {
      value: tf.stack([tf.gather(tf.reshape(all, [rows * depth]), taken), entropy]),
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => {
        const [logs, p, mean, at] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor1D];
        const [g, h] = tf.unstack(tf.div(dy, temperature)) as [tf.Tensor, tf.Tensor];
        // p (h log p + h H + g), from which the taken action's g is left over.
        const level = tf.reshape(tf.add(tf.mul(h, mean), g), [rows, 1]);
        const spread = tf.mul(p, tf.add(tf.mul(logs, tf.reshape(h, [rows, 1])), level));
        return tf.sub(tf.reshape(tf.unsortedSegmentSum(g, at, rows * depth), [rows, depth]), spread);
      },
    };
  });
  const [logProbs, entropy] = tf.unstack(op(logits)) as [tf.Tensor, tf.Tensor];
  return { logProbs, entropy };
}

/**
 * PhGPO (7): log π̃ = log softmax(log π_T + bias), bias = β log τ̄ on the stored top-K and {@link forbidden} outside of it.
 * The temperature is in log π_T already and does not divide the trail.
 */
export function fused(logProbs: tf.Tensor, bias: tf.Tensor): tf.Tensor {
  return tf.logSoftmax(tf.add(logProbs, bias));
}

/**
 * The fused log-probs, but the plain ones for what the reference chose: the trail had no part in it, and the top-K need not
 * hold it. @param both of the taken actions, [B, T].
 */
export function exceptOracle(fusedLogProbs: tf.Tensor, logProbs: tf.Tensor, decisions: Decisions): tf.Tensor {
  const { oracle, batch, steps } = decisions;
  if (!oracle) return fusedLogProbs;
  return tf.where(
    tf.tensor2d(
      Array.from(oracle, (o) => o === 1),
      [batch, steps],
      "bool",
    ),
    logProbs,
    fusedLogProbs,
  );
}

/**
 * L_SL = −(1−s) log π(a*) − s · mean over the allowed actions of log π(a), at temperature 1 (PhGPO (6), label smoothing s).
 * @param target [R, A] one-hot. @param allowed [R, A] 1 where allowed; a forbidden action has no share in the mean.
 */
export function supervisedTerms(
  logProbs: tf.Tensor,
  target: tf.Tensor,
  smoothing: number,
  allowed: tf.Tensor,
): tf.Tensor {
  const exact = tf.neg(chosenOf(logProbs, target));
  if (smoothing === 0) return exact;
  const share = tf.div(allowed, tf.maximum(tf.sum(allowed, -1, true), 1));
  return tf.add(tf.mul(1 - smoothing, exact), tf.mul(-smoothing, chosenOf(logProbs, share)));
}
