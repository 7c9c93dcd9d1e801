/** The policy for plain environments: observations as vectors, a fixed set of actions, two heads on one multi-layer perceptron. */

import * as tf from "@tensorflow/tfjs-core";
import { linear } from "./layers.ts";
import { Layout, linearSpecs, type Tensors } from "./parameters.ts";

export interface MlpConfig {
  inputs: number;
  actions: number;
  /** Widths of the hidden layers, relu after each. */
  hidden: readonly number[];
  /** True: the value head has hidden layers of its own, as PPO likes; false: it shares the policy's. */
  separateValue: boolean;
}

export const mlpDefaults = { hidden: [64, 64], separateValue: true } as const;

export function mlpLayout({ inputs, actions, hidden, separateValue }: MlpConfig): Layout {
  const body = (name: string) =>
    hidden.flatMap((width, i) => linearSpecs(`${name}/${i}`, hidden[i - 1] ?? inputs, width, Math.SQRT2));
  const last = hidden.at(-1) ?? inputs;
  return new Layout([
    ...body("policy"),
    ...(separateValue ? body("value") : []),
    // Small: nearly even at the start.
    ...linearSpecs("logits", last, actions, 0.01),
    ...linearSpecs("values", last, 1),
  ]);
}

export interface MlpOutput {
  /** [R, A], unmasked, at temperature 1. */
  logits: tf.Tensor;
  /** [R] */
  values: tf.Tensor;
}

/** @param observations [R, inputs] */
export function mlpForward(p: Tensors, observations: Float32Array, config: MlpConfig): MlpOutput {
  const rows = observations.length / config.inputs;
  const x = tf.tensor2d(observations, [rows, config.inputs]);
  const dense = (input: tf.Tensor, name: string, options = {}) =>
    linear(input, p[`${name}/weights`] as tf.Tensor, p[`${name}/bias`] as tf.Tensor, options);
  const body = (name: string) =>
    config.hidden.reduce<tf.Tensor>(
      (input, _, i) => dense(input, `${name}/${i}`, { activation: "relu", constant: i === 0 }),
      x,
    );
  const policy = body("policy");
  const value = config.separateValue ? body("value") : policy;
  return { logits: dense(policy, "logits"), values: tf.reshape(dense(value, "values"), [rows]) };
}

/** The same without a backend, one observation at a time, for rollouts. Copies the weights. */
export class MlpInference {
  readonly #config: MlpConfig;
  readonly #part: (name: string) => Float32Array;

  constructor(config: MlpConfig, weights: Float32Array) {
    const layout = mlpLayout(config);
    const copy = weights.slice();
    const parts = new Map(layout.parameters.map(({ name }) => [name, layout.part(copy, name)]));
    this.#config = config;
    this.#part = (name) => parts.get(name) as Float32Array;
  }

  /** @param observation [inputs]. @returns logits [A], unmasked, and V. */
  decide(observation: Float32Array): { logits: Float32Array; value: number } {
    const { hidden, separateValue } = this.#config;
    const body = (name: string) => hidden.reduce((x, _, i) => this.#dense(x, `${name}/${i}`, true), observation);
    const policy = body("policy");
    const value = separateValue ? body("value") : policy;
    return { logits: this.#dense(policy, "logits"), value: this.#dense(value, "values")[0] as number };
  }

  #dense(x: Float32Array, name: string, relu = false): Float32Array {
    const weights = this.#part(`${name}/weights`);
    const out = this.#part(`${name}/bias`).slice();
    for (let k = 0; k < x.length; k++) {
      const value = x[k]!;
      for (let j = 0, at = k * out.length; j < out.length; j++, at++) out[j]! += value * weights[at]!;
    }
    if (relu) for (let j = 0; j < out.length; j++) out[j] = Math.max(0, out[j]!);
    return out;
  }
}
