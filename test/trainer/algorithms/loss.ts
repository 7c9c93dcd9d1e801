/** The batch of fixtures/numbers/policy-loss.json, and what the losses make of its logits. */

import * as tf from "@tensorflow/tfjs-core";
import type { Decisions, PolicyTerms } from "../../../trainer/algorithms/decisions.ts";
import {
  chosenOf,
  entropyOf,
  exceptOracle,
  fused,
  oneHot,
  supervisedTerms,
  tempered,
} from "../../../trainer/algorithms/likelihood.ts";
import { objective, objectiveDefaults, type ObjectiveOptions, weigh } from "../../../trainer/algorithms/objective.ts";
import golden from "../../../fixtures/numbers/policy-loss.json" with { type: "json" };

export { golden };

export interface Case {
  logits: number[][][];
  actions: number[][];
  targets: number[][];
  decisions: Decisions;
}

export function goldenCase(): Case {
  const batch = golden.mask.length;
  const steps = golden.mask[0]!.length;
  return {
    logits: golden.logits,
    actions: golden.actions,
    targets: golden.targets,
    decisions: {
      batch,
      steps,
      mask: Float32Array.from(golden.mask.flat()),
      groups: Int32Array.from([0, 0, 1, 1]),
      oldLogProbs: Float32Array.from(golden.oldLogProbs.flat()),
      refLogProbs: Float32Array.from(golden.refLogProbs.flat()),
      supervised: new Float32Array(batch * steps).fill(1),
      advantages: Float32Array.from(golden.advantages.flatMap((a) => new Array<number>(steps).fill(a))),
    },
  };
}

export interface Variation {
  lambda?: number;
  smoothing?: number;
  temperature?: number;
  /** [B][T][A]: masked actions, as what is added to logits. */
  mask?: number[][][];
  /** [B][T][A]: β log τ, and the top-K mask. */
  trail?: number[][][];
}

/** Differentiable terms of plain logits. */
export function termsOf(
  logits: tf.Tensor,
  { actions, targets, decisions }: Case,
  { smoothing = 0, temperature = 1, mask, trail }: Variation = {},
): PolicyTerms {
  const [batch, steps, depth] = logits.shape as [number, number, number];
  const shape: [number, number, number] = [batch, steps, depth];
  const masked = mask === undefined ? logits : tf.add(logits, tf.tensor3d(mask));
  const logProbs = tempered(masked, temperature);
  const chosen = tf.tensor3d(oneHot(Int32Array.from(actions.flat()), depth), shape);
  const target = tf.tensor3d(oneHot(Int32Array.from(targets.flat()), depth), shape);
  const allowed = mask === undefined ? tf.ones(shape) : tf.cast(tf.greater(tf.tensor3d(mask), -1), "float32");
  const plain = chosenOf(logProbs, chosen);
  return {
    logProbs: plain,
    entropy: entropyOf(logProbs),
    supervised: supervisedTerms(tempered(masked, 1), target, smoothing, allowed),
    fusedLogProbs:
      trail === undefined
        ? undefined
        : exceptOracle(chosenOf(fused(logProbs, tf.tensor3d(trail)), chosen), plain, decisions),
  };
}

export interface Outcome {
  loss: number;
  gradient: Float32Array;
}

export function lossOf(each: Case, options: Partial<ObjectiveOptions>, variation: Variation = {}): Outcome {
  const all = { ...objectiveDefaults, entropyCoef: 0, ...options };
  const weighed = weigh(each.decisions, all);
  return tf.tidy(() => {
    const { value, grad } = tf.valueAndGrad(
      (logits: tf.Tensor) => objective(termsOf(logits, each, variation), weighed, variation.lambda ?? 0, all).total,
    )(tf.tensor3d(each.logits));
    return { loss: value.dataSync()[0]!, gradient: grad.dataSync() as Float32Array };
  });
}

/** The greatest |a − b|. */
export function distance(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  return Array.from(a).reduce((most, value, i) => {
    const apart = Math.abs(value - (b[i] as number));
    return apart <= most ? most : apart;
  }, 0);
}
