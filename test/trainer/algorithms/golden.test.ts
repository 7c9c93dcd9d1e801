import * as tf from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ratioMetrics, refKl } from "../../../trainer/algorithms/metrics.ts";
import type { ObjectiveOptions } from "../../../trainer/algorithms/objective.ts";
import { useBackend } from "../../../trainer/backend/backend.ts";
import { availableBackends } from "../backend.ts";
import { distance, golden, goldenCase, lossOf, termsOf, type Variation } from "./loss.ts";

const cases: Record<keyof typeof golden.losses, [Partial<ObjectiveOptions>, Variation?]> = {
  "sequence-mean": [{ mean: "sequence-mean" }],
  "token-mean": [{ mean: "token-mean" }],
  "fixed-length of 5": [{ mean: "fixed-length", maxSteps: 5 }],
  "token-mean, clipped at 0.2 and 0.28": [{ clipHigh: 0.28 }],
  "sequence-mean, KL k3 at 0.04": [{ mean: "sequence-mean", klCoef: 0.04, klEstimator: "k3" }],
  "token-mean, dual clip 3": [{ dualClip: 3 }],
  "sequence-sum": [{ mean: "sequence-sum" }],
  "ratio of the sequence": [{ algorithm: "rloo", level: "sequence", mean: "sequence-sum" }],
  reinforce: [{ algorithm: "rloo", level: "reinforce", mean: "sequence-sum" }],
  "entropy at 0.02": [{ entropyCoef: 0.02 }, { lambda: 0 }],
  "mixed, lambda 0.7, entropy 0.02": [{ entropyCoef: 0.02 }, { lambda: 0.7 }],
};

const backends = await availableBackends();

describe.each(backends)("on %s", (backend) => {
  beforeAll(async () => void (await useBackend(backend)));
  afterAll(() => expect(tf.memory().numTensors).toBe(0));

  test.each(Object.keys(cases) as (keyof typeof cases)[])("%s has PyTorch's value and gradient", (name) => {
    const [options, variation] = cases[name];
    const each = goldenCase();
    // The entropy alone: nothing is better or worse than anything.
    if (name === "entropy at 0.02") each.decisions.advantages.fill(0);
    const { loss, gradient } = lossOf(each, options, variation);
    const expected = golden.losses[name];
    expect(loss).toBeCloseTo(expected.loss, 5);
    expect(distance(gradient, expected.gradient.flat(2))).toBeLessThan(1e-5);
  });

  test("log-probs, entropy and L_SL, plain and smoothed, have PyTorch's values", () => {
    const each = goldenCase();
    const { mask } = each.decisions;
    const smoothing = { smoothing: 0.1 };
    const logits = tf.tensor3d(each.logits);
    const logProbs = tf.tidy(() => Array.from(termsOf(logits, each).logProbs.dataSync()));
    const smoothed = tf.tidy(() => Array.from(termsOf(logits, each, smoothing).supervised!.dataSync()));
    logits.dispose();
    expect(distance(logProbs, golden.logProbs.flat())).toBeLessThan(1e-5);
    expect(lossOf(each, {}, { lambda: 1 }).loss).toBeCloseTo(golden.supervised, 5);
    expect(lossOf(each, {}, { lambda: 1, smoothing: 0.1 }).loss).toBeCloseTo(golden.supervisedSmoothed, 5);
    const mean = smoothed.reduce((total, value, i) => total + value * mask[i]!, 0) / mask.reduce((a, b) => a + b);
    expect(mean).toBeCloseTo(golden.supervisedSmoothed, 5);
  });
});

test("ratio and KL metrics have PyTorch's values", () => {
  const { decisions } = goldenCase();
  const now = Float32Array.from(golden.logProbs.flat());
  const found = ratioMetrics(now, decisions.oldLogProbs, decisions, { clipLow: 0.2, clipHigh: 0.2 });
  expect(found.approxKlK1).toBeCloseTo(golden.metrics.approx_kl_k1, 5);
  expect(found.approxKlK3).toBeCloseTo(golden.metrics.approx_kl_k3, 5);
  expect(found.clipLow).toBeCloseTo(golden.metrics.clip_low_mean, 5);
  expect(found.clipHigh).toBeCloseTo(golden.metrics.clip_high_mean, 5);
  expect(found.clipFraction).toBeCloseTo(golden.metrics.clipfrac_cleanrl, 5);
  const kl = refKl(now, decisions.refLogProbs!, decisions.mask);
  expect(kl.k1).toBeCloseTo(golden.metrics.kl_ref_k1, 5);
  expect(kl.k2).toBeCloseTo(golden.metrics.kl_ref_k2, 5);
  expect(kl.k3).toBeCloseTo(golden.metrics.kl_ref_k3, 5);
});
