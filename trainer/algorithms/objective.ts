/**
 * What is minimised? PhGPO (10): L = λ L_SL + (1−λ) L_PG − α_H H, plus the value head's loss for PPO. Every mean is made of
 * weights over the whole batch (`weights.ts`), so parts of a batch can be accumulated.
 */

import * as tf from "@tensorflow/tfjs-core";
import { type Decisions, type PolicyTerms, required } from "./decisions.ts";
import { grpoTerms } from "./grpo.ts";
import type { KlEstimator } from "./kl.ts";
import { ppoTerms, valueTerms } from "./ppo.ts";
import { type RlooLevel, rlooTerms } from "./rloo.ts";
import { type ClipOptions, type RatioMode, truncatedWeights } from "./surrogate.ts";
import { type Mean, meanWeights } from "./weights.ts";

export interface PolicyOptions extends ClipOptions {
  ratio: RatioMode;
  /** Cap of the weight of `tis`. */
  tisCap: number;
  /** β of the KL to a frozen policy, in the loss; 0: none. */
  klCoef: number;
  klEstimator: KlEstimator;
  mean: Mean;
  /** L of `fixed-length`; default T of the batch. */
  maxSteps?: number | undefined;
  /** False: what the reference chose is learned by L_SL only, where no clip cuts its gradient. */
  pgOnOracleSteps: boolean;
}

export interface ObjectiveOptions extends PolicyOptions {
  algorithm: "grpo" | "ppo" | "rloo";
  /** Of RLOO. */
  level: RlooLevel;
  /** α_H. */
  entropyCoef: number;
  /** Of PPO. */
  valueCoef: number;
  valueClip?: number | undefined;
}

export const objectiveDefaults: ObjectiveOptions = {
  algorithm: "grpo",
  ratio: "paper",
  tisCap: 2,
  clipLow: 0.2,
  clipHigh: 0.2,
  klCoef: 0,
  klEstimator: "k3",
  mean: "token-mean",
  pgOnOracleSteps: true,
  level: "decision",
  entropyCoef: 0.02,
  valueCoef: 0.5,
};

/** Decisions with the weights of every mean; [B, T]. */
export interface Weighed extends Decisions {
  policyWeights: Float32Array;
  supervisedWeights: Float32Array;
  entropyWeights: Float32Array;
  valueWeights: Float32Array;
}

/** Once for a whole batch; parts of it come from `rowsOf`. @throws MissingTerm */
export function weigh(decisions: Decisions, options: ObjectiveOptions): Weighed {
  const { mask, groups, oracle, supervised } = decisions;
  const sampled = options.pgOnOracleSteps || !oracle ? mask : mask.map((m, i) => (oracle[i] === 1 ? 0 : m));
  const policyWeights = meanWeights(options.mean, sampled, groups, options.maxSteps);
  if (options.ratio === "tis") {
    const truncated = truncatedWeights(decisions, options.tisCap);
    for (const [i, weight] of truncated.entries()) policyWeights[i]! *= weight;
  }
  const taught = mask.map((m, i) => m * (supervised?.[i] ?? 0));
  return {
    ...decisions,
    policyWeights,
    supervisedWeights: meanWeights("token-mean", taught, groups),
    entropyWeights: meanWeights("token-mean", mask, groups),
    valueWeights: meanWeights("token-mean", decisions.valueMask ?? mask, groups),
  };
}

export interface Losses {
  /** What is differentiated. */
  total: tf.Scalar;
  policy: tf.Scalar;
  supervised: tf.Scalar;
  /** H in nats; a part's share of the batch's mean, as all of these. */
  entropy: tf.Scalar;
  value: tf.Scalar;
}

/**
 * @param lambda λ ∈ [0, 1]: 1 is pure imitation, for which no advantages or old log-probs are looked at.
 * @throws MissingTerm when λ > 0 without a reference, or an option needs what was not stored.
 */
export function objective(
  terms: PolicyTerms,
  decisions: Weighed,
  lambda: number,
  options: ObjectiveOptions = objectiveDefaults,
): Losses {
  const shape: [number, number] = [decisions.batch, decisions.steps];
  const weighted = (values: tf.Tensor, weights: Float32Array): tf.Scalar =>
    tf.sum(tf.mul(values, tf.tensor2d(weights, shape)));
  const zero = () => tf.scalar(0);

  const policy = lambda === 1 ? zero() : weighted(policyTerms(terms, decisions, options), decisions.policyWeights);
  const supervised =
    lambda === 0 ? zero() : weighted(required(terms.supervised, "supervised", "λ > 0"), decisions.supervisedWeights);
  const entropy = weighted(terms.entropy, decisions.entropyWeights);
  const value =
    options.algorithm === "ppo" && lambda !== 1
      ? weighted(
          valueTerms(required(terms.values, "values", "PPO"), decisions, options.valueClip),
          decisions.valueWeights,
        )
      : zero();

  const total = sum([
    lambda === 0 ? undefined : tf.mul(lambda, supervised),
    lambda === 1 ? undefined : tf.mul(1 - lambda, policy),
    options.entropyCoef === 0 ? undefined : tf.mul(-options.entropyCoef, entropy),
    options.algorithm === "ppo" && lambda !== 1 ? tf.mul(options.valueCoef, value) : undefined,
  ]);
  return { total, policy, supervised, entropy, value };
}

/** No term at all is 0, of which nothing depends on the policy. */
function sum(parts: (tf.Tensor | undefined)[]): tf.Scalar {
  return parts.filter((part) => part !== undefined).reduce((a, b) => tf.add(a, b), tf.scalar(0)) as tf.Scalar;
}

function policyTerms(terms: PolicyTerms, decisions: Decisions, options: ObjectiveOptions): tf.Tensor {
  switch (options.algorithm) {
    case "grpo":
      return grpoTerms(terms, decisions, options);
    case "ppo":
      return ppoTerms(terms, decisions, options);
    case "rloo":
      return rlooTerms(terms, decisions, options);
  }
}
