import * as tf from "@tensorflow/tfjs-core";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { rng } from "trailgym/env";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BackendUnavailable, useBackend } from "../../../trainer/backend/backend.ts";
import { takenTerms } from "../../../trainer/algorithms/likelihood.ts";
import { mlpForward, mlpLayout } from "../../../trainer/policy/mlp.ts";
import { plannerForward, plannerLayout } from "../../../trainer/policy/planner.ts";
import { gradientOf } from "../../../trainer/update.ts";
import { goldenCase, lossOf } from "../algorithms/loss.ts";
import { smallBatch, smallConfig } from "../policy/planner-case.ts";
import { availableBackends } from "../backend.ts";

describe("the choice of a backend", () => {
  let empty: string;
  beforeAll(async () => void (empty = await mkdtemp(path.join(tmpdir(), "trailgym-backend-"))));
  afterAll(() => rm(empty, { recursive: true }));

  test("falls on WebAssembly where TensorFlow was not built, and says why in one line", async () => {
    const { name, line } = await useBackend("auto", empty);
    expect(name).toBe("wasm");
    expect(tf.getBackend()).toBe("wasm");
    expect(line).toBe(
      "backend wasm (WebAssembly, one thread); tensorflow is not available: `trailgym setup tensorflow` builds it",
    );
  });

  test("that was named is kept to, or refused", async () => {
    expect((await useBackend("cpu", empty)).name).toBe("cpu");
    const refused = useBackend("tensorflow", empty);
    await expect(refused).rejects.toThrow(BackendUnavailable);
    await expect(refused).rejects.toMatchObject({ backend: "tensorflow" });
  });
});

/** A gradient for each operation that the losses, layers and policies use, at one point, by central differences. */
const operations: [string, (x: tf.Tensor) => tf.Tensor][] = [
  ["add", (x) => tf.add(x, tf.mul(x, 2))],
  ["sub", (x) => tf.sub(1, x)],
  ["div", (x) => tf.div(x, tf.add(tf.square(x), 1))],
  ["neg, exp", (x) => tf.exp(tf.neg(x))],
  ["square, rsqrt", (x) => tf.rsqrt(tf.add(tf.square(x), 1))],
  ["sum, mean, keeping dimensions", (x) => tf.mul(tf.sum(x, -1, true), tf.mean(x, 0, true))],
  ["matMul, transposed", (x) => tf.matMul(x, x, false, true)],
  ["batched matMul", (x) => tf.matMul(tf.reshape(x, [3, 1, 4]), tf.reshape(x, [3, 4, 1]))],
  ["softmax", (x) => tf.softmax(x)],
  ["logSoftmax", (x) => tf.logSoftmax(x)],
  ["relu", (x) => tf.relu(x)],
  ["clipByValue", (x) => tf.clipByValue(x, -0.7, 0.9)],
  ["minimum, maximum", (x) => tf.minimum(tf.maximum(x, -0.5), tf.mul(x, x))],
  ["where, with a condition made outside", (x) => tf.where(tf.tensor2d(mask, [3, 4], "bool"), tf.square(x), x)],
  ["concat, split, slice", (x) => tf.concat([tf.split(x, 2, 1)[1]!, tf.slice(x, [0, 1], [3, 2])], 1)],
  ["stack, unstack", (x) => tf.stack(tf.unstack(x).toReversed())],
  ["reshape, transpose", (x) => tf.square(tf.transpose(tf.reshape(x, [1, 3, 2, 2, 1]), [2, 0, 3, 1, 4]))],
  ["expandDims, tile", (x) => tf.square(tf.tile(tf.expandDims(x, 1), [1, 2, 1]))],
  ["addN", (x) => tf.addN([x, tf.square(x)])],
  ["gather", (x) => tf.square(tf.gather(x, tf.tensor1d([2, 0, 2], "int32")))],
  ["unsortedSegmentSum", (x) => tf.square(tf.unsortedSegmentSum(x, tf.tensor1d([1, 0, 1], "int32"), 2))],
];
const mask = Array.from({ length: 12 }, (_, i) => i % 3 === 0);
const point = Float32Array.from({ length: 12 }, (_, i) => Math.sin(2.3 * i + 0.4) * 1.3);

/** Which kernels does this run, forward and backward? */
async function kernelsOf(work: () => unknown): Promise<Set<string>> {
  const { kernelNames } = await tf.profile(() => {
    work();
    return tf.scalar(0);
  });
  return new Set(kernelNames);
}

test("these operations are all that the policies and losses use", async () => {
  await useBackend("cpu");
  const listed = new Set<string>();
  for (const [, operation] of operations) {
    const run = () => tf.tidy(() => tf.grad((x: tf.Tensor) => tf.sum(operation(x)))(tf.tensor2d(point, [3, 4])));
    for (const name of await kernelsOf(run)) listed.add(name);
  }
  const layout = plannerLayout(smallConfig);
  const weights = layout.initial(rng(1));
  const batch = smallBatch();
  const mlp = { inputs: 3, actions: 2, hidden: [4], separateValue: true };
  const used = await kernelsOf(() => {
    gradientOf(layout, weights, [
      (p) => {
        const out = plannerForward(p, batch, smallConfig, 0.7);
        const { logProbs, entropy } = takenTerms(tf.reshape(out.logits, [-1, 6]), new Int32Array(15), 0.7);
        const parts = [logProbs, entropy, out.values, out.arguments!, out.fusedArguments!, out.targetArguments!];
        return { total: tf.addN(parts.map((part) => tf.sum(part))) };
      },
    ]);
    gradientOf(mlpLayout(mlp), mlpLayout(mlp).initial(rng(1)), [
      (p) => ({ total: tf.sum(mlpForward(p, new Float32Array(6).fill(1), mlp).logits) }),
    ]);
    const each = goldenCase();
    const { oldLogProbs } = each.decisions;
    Object.assign(each.decisions, {
      oldFusedLogProbs: oldLogProbs,
      behaviourLogProbs: oldLogProbs,
      oracle: oldLogProbs.map(() => 0),
    });
    const trail = each.logits;
    lossOf(
      each,
      { ratio: "fused", klCoef: 0.1, dualClip: 3, entropyCoef: 0.1 },
      { lambda: 0.5, smoothing: 0.1, trail },
    );
    lossOf(each, { algorithm: "rloo", level: "sequence", ratio: "tis", klCoef: 0.1, klEstimator: "k2" });
  });
  // Not differentiated: constants and comparisons. "forward" is what has a gradient of its own, which other tests hold.
  const constants = [
    "forward",
    "Cast",
    "Fill",
    "OneHot",
    "Identity",
    "Less",
    "Greater",
    "ZerosLike",
    "OnesLike",
    "Range",
    "Pack",
  ];
  expect([...used].filter((name) => !listed.has(name) && !constants.includes(name))).toEqual([]);
  expect(used.size).toBeGreaterThan(25);
});

describe.each(await availableBackends())("on %s", (backend) => {
  beforeAll(async () => void (await useBackend(backend)));

  test.each(operations)("%s has its gradient", (_name, operation) => {
    // A weight for each element of the output, so that none can stand in for another.
    const scored = (x: tf.Tensor) => {
      const out = operation(x);
      return tf.sum(tf.mul(out, tf.reshape(tf.range(1, out.size + 1), out.shape)));
    };
    const value = (values: Float32Array) => tf.tidy(() => scored(tf.tensor2d(values, [3, 4])).dataSync()[0]!);
    const gradient = tf.tidy(() =>
      tf
        .grad(scored)(tf.tensor2d(point, [3, 4]))
        .dataSync(),
    );
    const h = 1e-2;
    for (const [i, found] of gradient.entries()) {
      const [up, down] = [h, -h].map((by) => value(point.map((v, k) => (k === i ? v + by : v)))) as [number, number];
      expect(Math.abs((up - down) / (2 * h) - found)).toBeLessThan(0.02 * (1 + Math.abs(found)));
    }
    expect(gradient.some((g) => g !== 0)).toBe(true);
  });
});
