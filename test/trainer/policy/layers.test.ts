import * as tf from "@tensorflow/tfjs-core";
import { rng } from "trailgym/env";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { oneHotRows } from "../../../trainer/algorithms/likelihood.ts";
import { useBackend } from "../../../trainer/backend/backend.ts";
import {
  attention,
  layerNorm,
  linear,
  plainAttention,
  plainLayerNorm,
  plainLinear,
  rowsOfTable,
  segmentSums,
} from "../../../trainer/policy/layers.ts";
import { distance } from "../algorithms/loss.ts";
import { availableBackends } from "../backend.ts";

const random = rng(3);
const normals = (...shape: number[]) =>
  tf.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.normal()),
    shape,
  );

/** Value and gradients of Σ out · w for a fixed w, so that every element of the output has a say of its own. */
function outcome(layer: (...x: tf.Tensor[]) => tf.Tensor, inputs: tf.Tensor[]): Float32Array[] {
  const found = tf.tidy(() => {
    const { value, grads } = tf.valueAndGrads((...x: tf.Tensor[]) => {
      const out = layer(...x);
      const weights = tf.tensor(
        Float32Array.from({ length: out.size }, (_, i) => Math.sin(i + 1)),
        out.shape,
      );
      return tf.sum(tf.mul(out, weights));
    })(inputs);
    return [value, ...grads, layer(...inputs)].map((t) => Float32Array.from(t.dataSync()));
  });
  tf.dispose(inputs);
  return found;
}

function expectEqual(
  own: (...x: tf.Tensor[]) => tf.Tensor,
  plain: (...x: tf.Tensor[]) => tf.Tensor,
  inputs: () => tf.Tensor[],
): void {
  const shared = inputs();
  const copies = shared.map((t) => t.clone());
  const [found, expected] = [outcome(own, shared), outcome(plain, copies)];
  for (const [i, values] of found.entries()) {
    const size = Math.max(1, ...expected[i]!.map(Math.abs));
    expect(distance(values, expected[i]!) / size).toBeLessThan(1e-5);
  }
}

/** Of what is computed by an update, which operations did a backend run? Each must have had its gradient. */
describe.each(await availableBackends())("on %s", (backend) => {
  beforeAll(async () => void (await useBackend(backend)));
  afterEach(() => expect(tf.memory().numTensors).toBe(0));

  test.each([undefined, "relu"] as const)("linear (%s) equals its plain form, gradients included", (activation) => {
    const options = activation === undefined ? {} : { activation };
    expectEqual(
      (x, w, b) => linear(x, w, b, options),
      (x, w, b) => plainLinear(x, w, b, options),
      () => [normals(7, 5), normals(5, 3), normals(3)],
    );
  });

  test("linear of a constant has the same value and weights' gradients", () => {
    const [x, w, b] = [normals(7, 5), normals(5, 3), normals(3)];
    const whole = outcome((m, c) => linear(x, m, c), [w.clone(), b.clone()]);
    const constant = outcome((m, c) => linear(x, m, c, { constant: true }), [w, b]);
    for (const [i, values] of constant.entries()) expect(distance(values, whole[i]!)).toBeLessThan(1e-5);
    x.dispose();
  });

  test("attention equals its plain form, with a mask", () => {
    const mask = Float32Array.from({ length: 2 * 4 * 4 }, (_, i) => (i % 4 > Math.floor(i / 4) % 4 ? -1e9 : 0));
    expectEqual(
      (q, k, v) => attention(q, k, v, tf.tensor4d(mask, [2, 1, 4, 4])),
      (q, k, v) => plainAttention(q, k, v, tf.tensor4d(mask, [2, 1, 4, 4])),
      () => [normals(2, 3, 4, 5), normals(2, 3, 4, 5), normals(2, 3, 4, 5)],
    );
  });

  test("layer norm equals its plain form, and normalises", () => {
    expectEqual(
      (x) => layerNorm(x),
      (x) => plainLayerNorm(x),
      () => [tf.tidy(() => tf.mul(normals(6, 8), 3))],
    );
    const row = Array.from(tf.tidy(() => layerNorm(normals(1, 64)).dataSync()));
    expect(row.reduce((a, b) => a + b) / 64).toBeCloseTo(0, 5);
    expect(row.reduce((a, b) => a + b * b, 0) / 64).toBeCloseTo(1, 3);
  });

  test("rows of a table, and sums of segments, equal one-hot products", () => {
    const ids = Int32Array.from([2, 0, 2, 2, 1]);
    const hot = () => oneHotRows(ids, 4);
    expectEqual(
      (table) => rowsOfTable(table, tf.tensor1d(ids, "int32")),
      (table) => tf.matMul(hot(), table),
      () => [normals(4, 3)],
    );
    expectEqual(
      (x) => segmentSums(x, tf.tensor1d(ids, "int32"), 4),
      (x) => tf.matMul(hot(), x, true, false),
      () => [normals(5, 3)],
    );
  });
});
