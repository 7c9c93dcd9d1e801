/** A causal transformer before whose attention and MLP the input is normalised: its parameters, and its pass over sequences. */

import * as tf from "@tensorflow/tfjs-core";
import { attention, layerNorm, linear, type LinearOptions } from "./layers.ts";
import { linearSpecs, type ParameterSpec, type Tensors } from "./parameters.ts";

export interface TrunkConfig {
  /** D; a multiple of `heads`. */
  width: number;
  layers: number;
  heads: number;
}

export function trunkSpecs({ width, layers }: TrunkConfig): ParameterSpec[] {
  // The sum of 2·layers branches keeps the variance of one.
  const branch = 1 / Math.sqrt(2 * layers);
  return [
    ...Array.from({ length: layers }, (_, layer) => [
      ...linearSpecs(`trunk/${layer}/qkv`, width, 3 * width),
      ...linearSpecs(`trunk/${layer}/out`, width, width, branch),
      ...linearSpecs(`trunk/${layer}/up`, width, 4 * width),
      ...linearSpecs(`trunk/${layer}/down`, 4 * width, width, branch),
    ]).flat(),
  ];
}

/**
 * @param x [B·L, D]. @param mask [B, 1, L, L]: 0 where a position may look, a large negative elsewhere.
 * @param last how many positions at the end of each sequence are asked for: the last layer computes no others.
 * @returns [B·last, D], normalised.
 */
export function trunk(
  p: Tensors,
  x: tf.Tensor,
  mask: tf.Tensor,
  { batch, last }: { batch: number; last: number },
  { width, layers, heads }: TrunkConfig,
): tf.Tensor {
  const length = x.shape[0] / batch;
  const dense = (input: tf.Tensor, name: string, options: LinearOptions = {}) =>
    linear(input, p[`${name}/weights`] as tf.Tensor, p[`${name}/bias`] as tf.Tensor, options);

  for (let layer = 0; layer < layers; layer++) {
    const at = `trunk/${layer}`;
    const qkv = dense(layerNorm(x), `${at}/qkv`);
    // [B·L, 3D] → three of [B, heads, L, d].
    const split = tf.transpose(tf.reshape(qkv, [batch, length, 3, heads, width / heads]), [2, 0, 3, 1, 4]);
    const [q, k, v] = tf.unstack(split) as [tf.Tensor, tf.Tensor, tf.Tensor];
    const rows = layer === layers - 1 ? last : length;
    const tail = (of: tf.Tensor, axis: number) => tailOf(of, axis, rows);
    const seen = attention(tail(q, 2), k, v, tail(mask, 2));
    const flat = tf.reshape(tf.transpose(seen, [0, 2, 1, 3]), [batch * rows, width]);
    x = tf.reshape(tail(tf.reshape(x, [batch, length, width]), 1), [batch * rows, width]);
    x = tf.add(x, dense(flat, `${at}/out`));
    x = tf.add(x, dense(dense(layerNorm(x), `${at}/up`, { activation: "relu" }), `${at}/down`));
  }
  return layerNorm(x);
}

/** The last `count` along an axis. */
function tailOf(x: tf.Tensor, axis: number, count: number): tf.Tensor {
  const length = x.shape[axis] as number;
  if (length === count) return x;
  const begin = x.shape.map((_, i) => (i === axis ? length - count : 0));
  return tf.slice(
    x,
    begin,
    x.shape.map((size, i) => (i === axis ? count : size)),
  );
}

/** [B, 1, L, L]: each position looks at itself and what precedes it, of what is there. @param present [B, L], 1 or 0 */
export function causalMask(present: Uint8Array, batch: number): Float32Array {
  const length = present.length / batch;
  const mask = new Float32Array(batch * length * length);
  for (let b = 0; b < batch; b++) {
    for (let i = 0; i < length; i++) {
      for (let j = 0; j < length; j++) {
        // A position that is not there looks at itself: a softmax over nothing has no value.
        const sees = j === i || (j < i && present[b * length + j] === 1);
        if (!sees) mask[(b * length + i) * length + j] = -1e9;
      }
    }
  }
  return mask;
}
