import * as tf from "@tensorflow/tfjs-core";
import { rng } from "trailgym/env";
import { beforeAll, describe, expect, test } from "vitest";
import gaeGolden from "../../../fixtures/numbers/gae.json" with { type: "json" };
import { type Decisions, MissingTerm, rowsOf } from "../../../trainer/algorithms/decisions.ts";
import { candidateBias, NoCandidates } from "../../../trainer/algorithms/likelihood.ts";
import { objective, objectiveDefaults, type ObjectiveOptions, weigh } from "../../../trainer/algorithms/objective.ts";
import { valueTerms } from "../../../trainer/algorithms/ppo.ts";
import type { Mean } from "../../../trainer/algorithms/weights.ts";
import { useBackend } from "../../../trainer/backend/backend.ts";
import { availableBackends } from "../backend.ts";
import { type Case, distance, goldenCase, lossOf, termsOf, type Variation } from "./loss.ts";
import { twinGradient, twinLoss } from "./twin.ts";

const means: Mean[] = ["sequence-mean", "token-mean", "sequence-sum", "fixed-length", "group-mean"];

/** The golden batch with everything else that an option may need; actions 4 and 5 of some decisions are masked. */
function richCase(): { each: Case; variation: Required<Omit<Variation, "lambda" | "smoothing">> } {
  const each = goldenCase();
  const random = rng(7);
  const { batch, steps } = each.decisions;
  const noisy = (values: Float32Array, by: number) => values.map((v) => v + by * random.normal());
  const oracle = Float32Array.from({ length: batch * steps }, (_, i) => (i % 4 === 1 ? 1 : 0));
  Object.assign(each.decisions, {
    oracle,
    supervised: Float32Array.from({ length: batch * steps }, (_, i) => (i % 3 === 0 ? 0 : 1)),
    behaviourLogProbs: noisy(each.decisions.oldLogProbs, 0.4),
    oldFusedLogProbs: noisy(each.decisions.oldLogProbs, 0.3),
  } satisfies Partial<Decisions>);
  const perAction = (value: (b: number, t: number, a: number) => number) =>
    each.logits.map((row, b) => row.map((z, t) => z.map((_, a) => value(b, t, a))));
  const free = (b: number, t: number, a: number) => a < 4 || a === each.actions[b]![t] || a === each.targets[b]![t];
  return {
    each,
    variation: {
      temperature: 0.7,
      mask: perAction((b, t, a) => ((b + t) % 2 === 0 && !free(b, t, a) ? -1e9 : 0)),
      trail: perAction((b, t, a) =>
        a === 0 && each.actions[b]![t] !== 0 ? -1e9 : 0.7 * Math.log(0.5 + random.float() * 19),
      ),
    },
  };
}

const combinations: [string, Partial<ObjectiveOptions>, Variation?][] = [
  ...means.map((mean): [string, Partial<ObjectiveOptions>] => [`the mean ${mean}`, { mean, maxSteps: 7 }]),
  ...(["paper", "fused", "tis", "behaviour"] as const).map((ratio): [string, Partial<ObjectiveOptions>] => [
    `the ratio ${ratio}`,
    { ratio, pgOnOracleSteps: ratio !== "tis" },
  ]),
  ...(["k1", "k2", "k3"] as const).map((klEstimator): [string, Partial<ObjectiveOptions>] => [
    `the KL ${klEstimator}`,
    { klEstimator, klCoef: 0.3 },
  ]),
  ["no policy gradient on oracle steps", { pgOnOracleSteps: false, mean: "sequence-mean" }],
  ["clip-higher and dual clip", { clipLow: 0.1, clipHigh: 0.4, dualClip: 1.5 }],
  ["RLOO by sequences", { algorithm: "rloo", level: "sequence", mean: "sequence-sum" }],
  ["RLOO by sequences, fused", { algorithm: "rloo", level: "sequence", mean: "sequence-sum", ratio: "fused" }],
  ["plain REINFORCE", { algorithm: "rloo", level: "reinforce", mean: "group-mean" }],
  ["imitation, smoothed", {}, { lambda: 1, smoothing: 0.1 }],
  [
    "everything at once",
    { ratio: "tis", klCoef: 0.1, klEstimator: "k2", entropyCoef: 0.05 },
    { lambda: 0.3, smoothing: 0.05 },
  ],
];

const backends = await availableBackends();

describe.each(backends)(
  "on %s, loss and gradient are those of the float64 twin and its central differences:",
  (backend) => {
    beforeAll(async () => void (await useBackend(backend)));

    test.each(combinations)("%s", (_name, options, extra = {}) => {
      const { each, variation } = richCase();
      const all = { ...objectiveDefaults, entropyCoef: 0, ...options };
      const twinExtra = { lambda: 0, smoothing: 0, ...variation, ...extra };
      const found = lossOf(each, options, { ...variation, ...extra });
      expect(found.loss).toBeCloseTo(twinLoss(each, each.logits, all, twinExtra), 4);
      expect(distance(found.gradient, twinGradient(each, all, twinExtra))).toBeLessThan(2e-5);
    });
  },
);

describe("the loss", () => {
  beforeAll(async () => void (await useBackend("cpu")));

  test("gives masked actions a gradient of exactly 0, smoothing and entropy included", () => {
    const { each, variation } = richCase();
    const { gradient } = lossOf(each, { entropyCoef: 0.1 }, { ...variation, lambda: 0.5, smoothing: 0.1 });
    const masked = variation.mask.flat(2);
    expect(masked.filter((m) => m !== 0).length).toBeGreaterThan(5);
    for (const [i, m] of masked.entries()) if (m !== 0) expect(Math.abs(gradient[i]!)).toBe(0);
  });

  test("at ratio 1 has the gradient of A · log π", () => {
    const each = goldenCase();
    const { batch, steps, mask, advantages } = each.decisions;
    each.decisions.oldLogProbs = tf.tidy(() =>
      termsOf(tf.tensor3d(each.logits), each).logProbs.dataSync(),
    ) as Float32Array;
    const plain = tf.tidy(() =>
      tf
        .grad((logits: tf.Tensor) => {
          const weights = mask.map((m, i) => -m * advantages[i]!);
          const total = mask.reduce((a, b) => a + b);
          return tf.div(tf.sum(tf.mul(termsOf(logits, each).logProbs, tf.tensor2d(weights, [batch, steps]))), total);
        })(tf.tensor3d(each.logits))
        .dataSync(),
    );
    for (const algorithm of ["grpo", "rloo"] as const) {
      expect(distance(lossOf(each, { algorithm }).gradient, plain)).toBeLessThan(1e-6);
    }
  });

  test("of an entropy bonus pushes the greatest logit down and the least up", () => {
    const each = goldenCase();
    each.decisions.advantages.fill(0);
    const { gradient } = lossOf(each, { entropyCoef: 1 });
    for (const [i, logits] of each.logits.flat().entries()) {
      if (each.decisions.mask[i] === 0) continue;
      const of = Array.from(gradient.subarray(i * 6, i * 6 + 6));
      expect(of[logits.indexOf(Math.max(...logits))]).toBeGreaterThan(0);
      expect(of[logits.indexOf(Math.min(...logits))]).toBeLessThan(0);
      expect(of.reduce((a, b) => a + b)).toBeCloseTo(0, 6);
    }
  });

  test.each(means)("under %s does not change with padding or with the order of the trajectories", (mean) => {
    const options: Partial<ObjectiveOptions> = { mean, maxSteps: 5, entropyCoef: 0.1 };
    const each = goldenCase();
    const plain = lossOf(each, options, { lambda: 0.4 });
    const padded = lossOf(pad(each, 3), options, { lambda: 0.4 });
    expect(padded.loss).toBeCloseTo(plain.loss, 5);
    const kept = each.logits.map((row) => row.length * 6);
    const unpadded = kept.flatMap((width, b) => Array.from(padded.gradient.subarray(b * 48, b * 48 + width)));
    expect(distance(unpadded, plain.gradient)).toBeLessThan(1e-6);

    const order = [2, 0, 3, 1];
    const permuted = lossOf(permute(each, order), options, { lambda: 0.4 });
    expect(permuted.loss).toBeCloseTo(plain.loss, 5);
    const back = order.flatMap((from) => Array.from(plain.gradient.subarray(from * 30, from * 30 + 30)));
    expect(distance(permuted.gradient, back)).toBeLessThan(1e-6);
  });

  test.each(means)("under %s adds up over parts of the batch", (mean) => {
    const options = { ...objectiveDefaults, mean };
    const each = goldenCase();
    const whole = lossOf(each, options, { lambda: 0.4 }).gradient;
    const weighed = weigh(each.decisions, options);
    const parts = [
      [0, 1],
      [1, 4],
    ].flatMap(([from, to]) => {
      const slice = <T>(rows: T[]) => rows.slice(from, to);
      const part = {
        logits: slice(each.logits),
        actions: slice(each.actions),
        targets: slice(each.targets),
        decisions: each.decisions,
      };
      return tf.tidy(() =>
        Array.from(
          tf
            .grad(
              (logits: tf.Tensor) => objective(termsOf(logits, part), rowsOf(weighed, from!, to!), 0.4, options).total,
            )(tf.tensor3d(part.logits))
            .dataSync(),
        ),
      );
    });
    const reference = lossOf(each, { ...options, entropyCoef: 0.02 }, { lambda: 0.4 }).gradient;
    expect(distance(parts, reference)).toBeLessThan(1e-6);
    expect(distance(whole, reference)).toBe(0);
  });

  test("of constant returns has a gradient of exactly 0", () => {
    const each = goldenCase();
    each.decisions.advantages.fill(0);
    const { loss, gradient } = lossOf(each, {});
    expect(Math.abs(loss)).toBe(0);
    expect(gradient.every((g) => g === 0)).toBe(true);
  });

  test("of a failed episode, masked as a whole, is that of the others; nothing of it spreads, not even NaN", () => {
    const each = goldenCase();
    each.decisions.mask.fill(0, 5, 10);
    const plain = lossOf(each, { mean: "sequence-mean" });
    const wild = structuredClone(each);
    wild.decisions.oldLogProbs.fill(-300, 5, 10);
    wild.decisions.advantages.fill(1e6, 5, 10);
    const found = lossOf(wild, { mean: "sequence-mean" });
    expect(found.loss).toBe(plain.loss);
    expect(distance(found.gradient, plain.gradient)).toBe(0);
    expect(found.gradient.subarray(30, 60).every((g) => g === 0)).toBe(true);
    expect(found.gradient.some((g) => g !== 0)).toBe(true);
  });

  test("of a ratio that overflows is finite", () => {
    const each = goldenCase();
    each.decisions.oldLogProbs.fill(-500);
    const { loss, gradient } = lossOf(each, {});
    expect(Number.isFinite(loss)).toBe(true);
    expect(gradient.every(Number.isFinite)).toBe(true);
  });

  test("says what is missing", () => {
    const each = goldenCase();
    expect(() => lossOf(each, { ratio: "fused" })).toThrow(MissingTerm);
    expect(() => lossOf(each, { ratio: "behaviour" })).toThrow(/behaviourLogProbs/);
    expect(() => lossOf(each, { ratio: "tis" })).toThrow(/the ratio tis needs behaviourLogProbs/);
    expect(() => lossOf(each, { algorithm: "ppo" })).toThrow(/PPO needs values/);
    delete each.decisions.refLogProbs;
    expect(() => lossOf(each, { klCoef: 0.1 })).toThrow(/refLogProbs/);
  });
});

describe("the value loss", () => {
  beforeAll(async () => void (await useBackend("cpu")));
  const { values, oldValues, targets, loss, gradient } = gaeGolden.valueLoss;
  const decisions = {
    ...goldenCase().decisions,
    batch: 1,
    steps: 4,
    valueTargets: Float32Array.from(targets),
    oldValues: Float32Array.from(oldValues),
  };
  const found = (at: number[], clip?: number, of = decisions) =>
    tf.tidy(() => {
      const { value, grad } = tf.valueAndGrad((v: tf.Tensor) => tf.mean(valueTerms(v, of, clip)))(tf.tensor2d([at]));
      return { loss: value.dataSync()[0]!, gradient: Array.from(grad.dataSync()) };
    });

  test("has PyTorch's value and gradient, clipped or not", () => {
    for (const clip of [undefined, 0.2]) {
      expect(found(values, clip).loss).toBeCloseTo(loss, 5);
      expect(distance(found(values, clip).gradient, gradient)).toBeLessThan(1e-6);
    }
  });

  test("when clipped, takes the worse of both, and has no gradient where that is the clipped one", () => {
    // V moved past its target, by more than the clip: |V_old + clip − R| = 0.8 > |V − R| = 0.5.
    const of = {
      ...decisions,
      oldValues: Float32Array.from([0, 0, 0, 0]),
      valueTargets: Float32Array.from([1, 1, 1, 1]),
    };
    const clipped = found([1.5, 1.5, 1.5, 1.5], 0.2, of);
    expect(clipped.loss).toBeCloseTo(0.32, 5);
    expect(clipped.gradient).toEqual([0, 0, 0, 0]);
    expect(found([1.5, 1.5, 1.5, 1.5], undefined, of).loss).toBeCloseTo(0.125, 5);
  });
});

test("a decision without a candidate is a typed error; padding needs none", () => {
  const allowed = Uint8Array.from([1, 0, 0, 0, 0, 0]);
  expect(Array.from(candidateBias(allowed, Float32Array.from([1, 0, 0]), 3))).toEqual([0, -1e9, 0, 0, 0, 0]);
  const problem = (() => {
    try {
      candidateBias(allowed, Float32Array.from([1, 0, 1]), 1);
      return undefined;
    } catch (error) {
      return error as NoCandidates;
    }
  })();
  expect(problem).toBeInstanceOf(NoCandidates);
  expect(problem).toMatchObject({ row: 2, step: 0 });
});

/** Decisions that do not count, at the end of each trajectory, with values of their own. */
function pad(each: Case, by: number): Case {
  const { decisions } = each;
  const steps = decisions.steps + by;
  const wider = (values: Float32Array, fill: number) =>
    Float32Array.from({ length: decisions.batch * steps }, (_, i) =>
      i % steps < decisions.steps ? values[Math.floor(i / steps) * decisions.steps + (i % steps)]! : fill,
    );
  const more = <T>(rows: T[][], value: T) => rows.map((row) => [...row, ...new Array<T>(by).fill(value)]);
  return {
    logits: more(each.logits, [5, -5, 1, 2, 3, 4]),
    actions: more(each.actions, 1),
    targets: more(each.targets, 2),
    decisions: {
      ...decisions,
      steps,
      mask: wider(decisions.mask, 0),
      oldLogProbs: wider(decisions.oldLogProbs, -3),
      refLogProbs: wider(decisions.refLogProbs!, -2),
      supervised: wider(decisions.supervised!, 1),
      advantages: wider(decisions.advantages, 50),
    },
  };
}

function permute(each: Case, order: number[]): Case {
  const { decisions: d } = each;
  const rows = (values: Float32Array) =>
    Float32Array.from(order.flatMap((b) => [...values.subarray(b * d.steps, (b + 1) * d.steps)]));
  return {
    logits: order.map((b) => each.logits[b]!),
    actions: order.map((b) => each.actions[b]!),
    targets: order.map((b) => each.targets[b]!),
    decisions: {
      ...d,
      mask: rows(d.mask),
      groups: Int32Array.from(order, (b) => d.groups[b]!),
      oldLogProbs: rows(d.oldLogProbs),
      refLogProbs: rows(d.refLogProbs!),
      supervised: rows(d.supervised!),
      advantages: rows(d.advantages),
    },
  };
}
