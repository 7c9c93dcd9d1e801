/**
 * What are the policies made of? On TensorFlow's backend each layer has a gradient of its own, on TensorFlow's kernels; the
 * plain form, which every backend can differentiate, is the definition, and a test holds the two equal.
 */

import * as tf from "@tensorflow/tfjs-core";
import { attributes, type TensorflowBackend, tensorflowBackend } from "../backend/tensorflow.ts";

const { type, bool } = attributes;
const float = type("T", "float32");
const normEpsilon = 1e-5;

export interface LinearOptions {
  activation?: "relu";
  /** x does not depend on the weights, so nobody asks for its gradient, which costs a third of the work. */
  constant?: boolean;
}

/** x W + b, and max(0, that). @param x [R, I]. @param weights [I, O]. @param bias [O]. @returns [R, O] */
export function linear(x: tf.Tensor, weights: tf.Tensor, bias: tf.Tensor, options: LinearOptions = {}): tf.Tensor {
  const native = tensorflowBackend();
  return native ? nativeLinear(native, x, weights, bias, options) : plainLinear(x, weights, bias, options);
}

export function plainLinear(
  x: tf.Tensor,
  weights: tf.Tensor,
  bias: tf.Tensor,
  { activation }: LinearOptions = {},
): tf.Tensor {
  const y = tf.add(tf.matMul(x as tf.Tensor2D, weights as tf.Tensor2D), bias);
  return activation === "relu" ? tf.relu(y) : y;
}

function nativeLinear(
  native: TensorflowBackend,
  x: tf.Tensor,
  weights: tf.Tensor,
  bias: tf.Tensor,
  { activation, constant = false }: LinearOptions,
): tf.Tensor {
  const op = tf.customGrad((...inputs) => {
    const save = inputs.at(-1) as unknown as tf.GradSaveFunc;
    const matrix = inputs[0] as tf.Tensor;
    let y = native.executeSingleOutput("BiasAdd", [float], [product(native, x, matrix), inputs[1] as tf.Tensor]);
    if (activation === "relu") y = native.executeSingleOutput("Relu", [float], [y]);
    save([x, matrix, y]);
    return {
      value: y,
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => {
        const [from, by, out] = saved as [tf.Tensor, tf.Tensor, tf.Tensor];
        const d = activation === "relu" ? native.executeSingleOutput("ReluGrad", [float], [dy, out]) : dy;
        return [
          product(native, from, d, true, false),
          native.executeSingleOutput("BiasAddGrad", [float], [d]),
          ...(constant ? [] : [product(native, d, by, false, true)]),
        ];
      },
    };
  });
  return constant ? op(weights, bias) : op(weights, bias, x);
}

/**
 * softmax(q kᵀ / √d + mask) v.
 * @param q, k, v [B, heads, L, d]. @param mask broadcast to [B, heads, L, L], 0 or a large negative; has no gradient.
 */
export function attention(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor): tf.Tensor {
  const native = tensorflowBackend();
  return native ? nativeAttention(native, q, k, v, mask) : plainAttention(q, k, v, mask);
}

export function plainAttention(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor): tf.Tensor {
  const scale = 1 / Math.sqrt(q.shape[3] as number);
  const weights = tf.softmax(tf.add(tf.mul(tf.matMul(q, k, false, true), scale), mask));
  return tf.matMul(weights, v);
}

function nativeAttention(
  native: TensorflowBackend,
  q: tf.Tensor,
  k: tf.Tensor,
  v: tf.Tensor,
  mask: tf.Tensor,
): tf.Tensor {
  const scale = tf.scalar(1 / Math.sqrt(q.shape[3] as number));
  const run = (name: string, inputs: tf.Tensor[]) => native.executeSingleOutput(name, [float], inputs);
  const op = tf.customGrad((...inputs) => {
    const [query, key, value] = inputs.slice(0, 3) as [tf.Tensor, tf.Tensor, tf.Tensor];
    const save = inputs[3] as unknown as tf.GradSaveFunc;
    const scaled = run("Mul", [query, scale]);
    const weights = run("Softmax", [run("AddV2", [product(native, scaled, key, false, true), mask])]);
    // Saved as well: what the backward pass uses must outlive the forward pass.
    save([scaled, key, value, weights, scale]);
    return {
      value: product(native, weights, value),
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => {
        const [by, of, from, share, factor] = saved as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
        const dShare = product(native, dy, from, false, true);
        const inner = tf.sum(run("Mul", [dShare, share]), -1, true);
        const dScore = run("Mul", [run("Sub", [dShare, inner]), share]);
        return [
          run("Mul", [product(native, dScore, of), factor]),
          product(native, dScore, by, true, false),
          product(native, share, dy, true, false),
        ];
      },
    };
  });
  return op(q, k, v);
}

/** The last two axes' matrix product. Not TensorFlow's MatMul, whose transposed forms break the heap under a profiler's signals. */
function product(native: TensorflowBackend, a: tf.Tensor, b: tf.Tensor, transposeA = false, transposeB = false) {
  const flags = [bool("adj_x", transposeA), bool("adj_y", transposeB), float];
  return native.executeSingleOutput("BatchMatMulV2", flags, [a, b]);
}

/**
 * (x − mean) / √(var + 1e-5) over the last axis, population variance. Without a gain and a shift: a linear layer follows
 * everywhere, which has both. @param x [R, D]
 */
export function layerNorm(x: tf.Tensor): tf.Tensor {
  const native = tensorflowBackend();
  return native ? nativeLayerNorm(native, x) : plainLayerNorm(x);
}

export function plainLayerNorm(x: tf.Tensor): tf.Tensor {
  const centred = tf.sub(x, tf.mean(x, -1, true));
  const variance = tf.mean(tf.square(centred), -1, true);
  return tf.mul(centred, tf.rsqrt(tf.add(variance, normEpsilon)));
}

function nativeLayerNorm(native: TensorflowBackend, x: tf.Tensor): tf.Tensor {
  const run = (name: string, ...inputs: tf.Tensor[]) => native.executeSingleOutput(name, [float], inputs);
  const mean = (of: tf.Tensor, axis: tf.Tensor) =>
    native.executeSingleOutput("Mean", [bool("keep_dims", true), float, type("Tidx", "int32")], [of, axis]);
  const op = tf.customGrad((...inputs) => {
    const input = inputs[0] as tf.Tensor;
    const save = inputs[1] as unknown as tf.GradSaveFunc;
    const last = tf.tensor1d([1], "int32");
    const centred = run("Sub", input, mean(input, last));
    const variance = mean(run("Square", centred), last);
    const inverse = run("Rsqrt", run("AddV2", variance, tf.scalar(normEpsilon)));
    const normal = run("Mul", centred, inverse);
    // The axis as well: what the backward pass uses must outlive the forward pass.
    save([normal, inverse, last]);
    return {
      value: normal,
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => {
        const [z, scale, axis] = saved as [tf.Tensor, tf.Tensor, tf.Tensor];
        const across = mean(run("Mul", dy, z), axis);
        const rest = run("Sub", run("Sub", dy, mean(dy, axis)), run("Mul", z, across));
        return run("Mul", rest, scale);
      },
    };
  });
  return op(x);
}

/**
 * Rows of a table. Its gradient sums over the rows' uses, without the transpositions of the general gather.
 * @param table [N, D]. @param rows int32 [R], each in 0 … N-1. @returns [R, D]
 */
export function rowsOfTable(table: tf.Tensor, rows: tf.Tensor): tf.Tensor {
  const op = tf.customGrad((...inputs) => {
    const from = inputs[0] as tf.Tensor;
    const save = inputs[1] as unknown as tf.GradSaveFunc;
    save([rows]);
    return {
      value: tf.gather(from, rows),
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) =>
        tf.unsortedSegmentSum(dy, saved[0] as tf.Tensor1D, table.shape[0]),
    };
  });
  return op(table);
}

/**
 * Adds rows up into as many sums as there are segments; the opposite of {@link rowsOfTable}.
 * @param x [R, …]. @param segments int32 [R]. @returns [count, …]
 */
export function segmentSums(x: tf.Tensor, segments: tf.Tensor, count: number): tf.Tensor {
  const op = tf.customGrad((...inputs) => {
    const save = inputs[1] as unknown as tf.GradSaveFunc;
    save([segments]);
    return {
      value: tf.unsortedSegmentSum(inputs[0] as tf.Tensor, segments as tf.Tensor1D, count),
      gradFunc: (dy: tf.Tensor, saved: tf.Tensor[]) => tf.gather(dy, saved[0] as tf.Tensor1D),
    };
  });
  return op(x);
}
