/** How does a loss become a gradient, over one or more parts of a batch, and leave no tensor behind? */

import * as tf from "@tensorflow/tfjs-core";
import type { Layout, Tensors } from "./policy/parameters.ts";

/** What a part of a batch comes to. Everything named beside `total` is reported. */
export interface PartLoss {
  total: tf.Scalar;
  [reported: string]: tf.Tensor;
}

export interface Gradient {
  /** ∂(Σ of the parts' totals)/∂weights, flat as the weights. */
  gradient: Float32Array;
  /** Σ of the parts' totals. */
  loss: number;
  /** For each part, what it named. */
  reported: Record<string, Float32Array>[];
}

/**
 * The parts' losses add up, so a mean over the batch must be in their weights already (`weigh`).
 * @param parts made when it is their turn, so that only one part's tensors are alive.
 * @param gradient where it goes; default a new array.
 */
export function gradientOf(
  layout: Layout,
  weights: Float32Array,
  parts: readonly ((p: Tensors) => PartLoss)[],
  gradient: Float32Array = new Float32Array(layout.size),
): Gradient {
  gradient.fill(0);
  const reported: Record<string, Float32Array>[] = [];
  let loss = 0;
  const tensors = layout.tensors(weights);
  try {
    for (const [at, part] of parts.entries()) {
      tf.tidy(() => {
        const kept: Record<string, tf.Tensor> = {};
        const { value, grads } = tf.engine().gradients(
          () => {
            const { total, ...others } = part(layout.byName(tensors));
            // The tape's own scope would dispose them.
            for (const [name, tensor] of Object.entries(others)) kept[name] = tf.keep(tensor);
            return total;
          },
          tensors,
          undefined,
          true,
        );
        loss += value.dataSync()[0] as number;
        reported.push(Object.fromEntries(Object.entries(kept).map(([name, tensor]) => [name, read(tensor)])));
        for (const tensor of Object.values(kept)) tensor.dispose();
        add(layout, gradient, grads, at === 0);
      });
    }
  } catch (error) {
    forgetTape();
    throw error;
  } finally {
    tf.dispose(tensors);
  }
  return { gradient, loss, reported };
}

/** What a forward pass that threw had saved for the backward pass: tfjs disposes it only after that pass. */
function forgetTape(): void {
  for (const { saved } of tf.engine().state.activeTape) tf.dispose(saved ?? []);
}

function read(tensor: tf.Tensor): Float32Array {
  return Float32Array.from(tensor.dataSync());
}

/** A parameter that no part used has no gradient, which is a gradient of 0. */
function add(
  { parameters }: Layout,
  into: Float32Array,
  grads: readonly (tf.Tensor | null | undefined)[],
  first: boolean,
): void {
  for (const [i, { offset }] of parameters.entries()) {
    const values = grads[i]?.dataSync() as Float32Array | undefined;
    if (values === undefined) continue;
    if (first) into.set(values, offset);
    else for (let k = 0; k < values.length; k++) into[offset + k]! += values[k] as number;
  }
}

/** What a policy says of a batch, without gradients; each named tensor as an array. */
export function evaluate(
  layout: Layout,
  weights: Float32Array,
  pass: (p: Tensors) => Record<string, tf.Tensor>,
): Record<string, Float32Array> {
  return tf.tidy(() => {
    const out = pass(layout.byName(layout.tensors(weights)));
    return Object.fromEntries(Object.entries(out).map(([name, tensor]) => [name, read(tensor)]));
  });
}
