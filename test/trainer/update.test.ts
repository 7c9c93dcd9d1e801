import * as tf from "@tensorflow/tfjs-core";
import { rng } from "trailgym/env";
import { afterEach, beforeAll, expect, test } from "vitest";
import { useBackend } from "../../trainer/backend/backend.ts";
import { Learner } from "../../trainer/learner.ts";
import { GradientNotFinite, Optimiser } from "../../trainer/optim/optimiser.ts";
import { mlpForward, mlpLayout } from "../../trainer/policy/mlp.ts";
import type { Tensors } from "../../trainer/policy/parameters.ts";
import { evaluate, gradientOf } from "../../trainer/update.ts";
import { distance } from "./algorithms/loss.ts";

const config = { inputs: 3, actions: 4, hidden: [8], separateValue: false };
const layout = mlpLayout(config);
const random = rng(2);
const rows = 12;
const observations = Float32Array.from({ length: rows * 3 }, () => random.normal());
const wanted = Float32Array.from({ length: rows * 4 }, () => random.normal());

beforeAll(async () => void (await useBackend("cpu")));
afterEach(() => expect(tf.memory().numTensors).toBe(0));

/** The squared error of rows `from` … `to`-1, as their share of the mean over all. */
function part(from: number, to: number) {
  return (p: Tensors) => {
    const { logits } = mlpForward(p, observations.slice(from * 3, to * 3), config);
    const goal = tf.tensor2d(wanted.slice(from * 4, to * 4), [to - from, 4]);
    const total = tf.div<tf.Scalar>(tf.sum(tf.squaredDifference(logits, goal)), rows);
    return { total, logits };
  };
}

test("parts of a batch add up to the whole: loss, gradient and what they report", () => {
  const weights = layout.initial(rng(3));
  const whole = gradientOf(layout, weights, [part(0, rows)]);
  for (const cuts of [
    [0, 5, rows],
    [0, 1, 2, 11, rows],
  ]) {
    const parts = cuts.slice(1).map((to, i) => part(cuts[i]!, to));
    const found = gradientOf(layout, weights, parts);
    expect(found.loss).toBeCloseTo(whole.loss, 5);
    expect(distance(found.gradient, whole.gradient)).toBeLessThan(1e-6);
    expect(found.reported.flatMap(({ logits }) => [...logits!])).toEqual(
      [...whole.reported[0]!.logits!].map((x) => expect.closeTo(x, 5) as number),
    );
  }
});

test("a gradient goes where it is asked to, whatever was there", () => {
  const weights = layout.initial(rng(3));
  const into = new Float32Array(layout.size).fill(7);
  expect(gradientOf(layout, weights, [part(0, rows)], into).gradient).toBe(into);
  expect(into).toEqual(gradientOf(layout, weights, [part(0, rows)]).gradient);
});

test("a loss that is not a number changes nothing, and says so", () => {
  const learner = new Learner(layout, layout.initial(rng(3)), new Optimiser(layout.size));
  learner.update([part(0, rows)], 0.01);
  const before = learner.snapshot();
  const broken = (p: Tensors) => ({ total: tf.mul<tf.Scalar>(part(0, rows)(p).total, NaN) });
  expect(() => learner.update([broken], 0.01)).toThrow(GradientNotFinite);
  expect(learner.snapshot()).toEqual(before);
});

test("a loss that throws leaves no tensor behind", () => {
  const weights = layout.initial(rng(3));
  const thrower = (p: Tensors): never => {
    part(0, rows)(p);
    throw new Error("no");
  };
  expect(() => gradientOf(layout, weights, [thrower])).toThrow("no");
});

test("updates descend, with accumulation as without", () => {
  const train = (parts: ReturnType<typeof part>[]) => {
    const learner = new Learner(layout, layout.initial(rng(3)), new Optimiser(layout.size, { kind: "adam" }));
    for (let i = 0; i < 50; i++) learner.update(parts, 0.02);
    return evaluate(layout, learner.weights, (p) => ({ total: part(0, rows)(p).total })).total![0]!;
  };
  const start = evaluate(layout, layout.initial(rng(3)), (p) => ({ total: part(0, rows)(p).total })).total![0]!;
  expect(train([part(0, rows)])).toBeLessThan(0.6 * start);
  expect(train([part(0, 6), part(6, rows)])).toBeCloseTo(train([part(0, rows)]), 3);
});

test("weights and moments of another policy are refused", () => {
  expect(() => new Learner(layout, new Float32Array(3), new Optimiser(layout.size))).toThrow(RangeError);
  const learner = new Learner(layout, layout.initial(rng(3)), new Optimiser(layout.size, { kind: "sgd" }));
  const { optimiser } = new Learner(layout, layout.initial(rng(3)), new Optimiser(layout.size)).snapshot();
  expect(() => learner.restore({ weights: learner.weights, optimiser })).toThrow(RangeError);
});
