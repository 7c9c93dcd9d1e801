import * as tf from "@tensorflow/tfjs-core";
import { rng } from "trailgym/env";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { takenTerms } from "../../../trainer/algorithms/likelihood.ts";
import { type BackendName, useBackend } from "../../../trainer/backend/backend.ts";
import { plannerBatch, type PlannerBatch } from "../../../trainer/policy/batch.ts";
import { type Tensors } from "../../../trainer/policy/parameters.ts";
import { plannerForward, plannerLayout } from "../../../trainer/policy/planner.ts";
import { evaluate, gradientOf } from "../../../trainer/update.ts";
import { distance } from "../algorithms/loss.ts";
import { availableBackends } from "../backend.ts";
import { smallBatch, smallConfig, smallTrajectories, tools, unitText } from "./planner-case.ts";
import { slotFeatures } from "../../../trainer/policy/arguments.ts";

const layout = plannerLayout(smallConfig);
/** Weights that are nowhere 0, so that every path matters. */
const weights = layout.initial(rng(5)).map((w, i) => w + 0.05 * Math.sin(i));
const trajectories = smallTrajectories();
const batch = smallBatch(trajectories);
const actions = Int32Array.from(
  trajectories.flatMap(({ calls }) => Array.from({ length: batch.steps }, (_, t) => calls[t]?.tool ?? 0)),
);
const mask = Float32Array.from(
  trajectories.flatMap(({ calls }) => Array.from({ length: batch.steps }, (_, t) => (t < calls.length ? 1 : 0))),
);

/** A loss that every output has a part in. */
function loss(p: Tensors, of: PlannerBatch = batch) {
  const out = plannerForward(p, of, smallConfig, 0.7);
  const { logProbs, entropy } = takenTerms(tf.reshape(out.logits, [-1, tools.length + 1]), actions, 0.7);
  const weighed = (x: tf.Tensor, by: number) =>
    tf.mul(by, tf.sum(tf.mul(tf.reshape(x, [-1]), tf.tensor1d(mask.map((m, i) => m * Math.cos(i))))));
  const total = tf.addN([
    weighed(logProbs, 1),
    weighed(entropy, 0.3),
    weighed(out.values, 0.2),
    weighed(out.arguments!, 0.5),
    weighed(out.fusedArguments!, 0.4),
    weighed(out.targetArguments!, 0.3),
  ]) as tf.Scalar;
  return { total, logProbs, entropy, values: out.values, arguments: out.arguments!, fused: out.fusedArguments! };
}

const results = new Map<BackendName, ReturnType<typeof gradientOf>>();
const backends = await availableBackends();

describe.each(backends)("on %s, the planner", (backend) => {
  beforeAll(async () => void (await useBackend(backend)));
  afterEach(() => expect(tf.memory().numTensors).toBe(0));

  test("has a gradient for every parameter", () => {
    const found = gradientOf(layout, weights, [loss]);
    results.set(backend, found);
    expect(Number.isFinite(found.loss)).toBe(true);
    for (const { name } of layout.parameters) {
      expect(Math.hypot(...layout.part(found.gradient, name)), name).toBeGreaterThan(1e-5);
    }
  });

  test("says what the other backends say, and has their gradients", () => {
    const mine = results.get(backend)!;
    for (const other of results.values()) {
      expect(mine.loss).toBeCloseTo(other.loss, 4);
      expect(distance(mine.gradient, other.gradient) / Math.hypot(...other.gradient)).toBeLessThan(1e-5);
      for (const [name, values] of Object.entries(other.reported[0]!)) {
        expect(distance(mine.reported[0]![name]!, values), name).toBeLessThan(1e-4);
      }
    }
  });
});

describe("the planner", () => {
  beforeAll(async () => void (await useBackend("cpu")));

  test("has the gradients of central differences, along a random direction of each parameter", () => {
    const { gradient } = gradientOf(layout, weights, [loss]);
    const random = rng(9);
    const h = 5e-4;
    for (const { name, offset, size } of layout.parameters) {
      const direction = Array.from({ length: size }, () => random.normal());
      const norm = Math.hypot(...direction);
      const at = (by: number) => {
        const moved = weights.slice();
        for (let i = 0; i < size; i++) moved[offset + i]! += (by * direction[i]!) / norm;
        return evaluate(layout, moved, (p) => ({ total: loss(p).total })).total![0]!;
      };
      const slope = direction.reduce((sum, d, i) => sum + (d / norm) * gradient[offset + i]!, 0);
      const difference = (at(h) - at(-h)) / (2 * h);
      expect(Math.abs(difference - slope), name).toBeLessThan(0.02 * Math.abs(slope) + 3e-3);
    }
  });

  const say = (of: PlannerBatch) =>
    evaluate(layout, weights, (p) => {
      const out = plannerForward(p, of, smallConfig);
      return { logits: out.logits, values: out.values, arguments: out.arguments! };
    });

  test("does not look ahead: what comes later changes nothing before it", () => {
    const changed = smallTrajectories();
    const plain = say(smallBatch(changed));
    const later = changed.map((each) => ({
      ...each,
      calls: each.calls.map((call, t) =>
        t === 1 ? { ...call, tool: 3, output: unitText(), outcome: [0, 1, 0, 0] } : call,
      ),
    }));
    const found = say(smallBatch(later));
    const [steps, width] = [5, tools.length + 1];
    for (const b of [0, 1, 2]) {
      const row = (values: Float32Array, t: number) =>
        values.subarray((b * steps + t) * width, (b * steps + t + 1) * width);
      for (const t of [0, 1]) expect(distance(row(found.logits!, t), row(plain.logits!, t))).toBeLessThan(1e-6);
    }
    expect(
      distance(found.logits!.subarray(2 * width, 3 * width), plain.logits!.subarray(2 * width, 3 * width)),
    ).toBeGreaterThan(1e-3);
  });

  test("says the same of a trajectory alone and beside others: neither padding nor neighbours matter", () => {
    const all = smallTrajectories();
    const together = say(smallBatch(all));
    for (const [b, each] of all.entries()) {
      const alone = say(smallBatch([each]));
      const count = each.calls.length * (tools.length + 1);
      const from = b * 5 * (tools.length + 1);
      expect(distance(together.logits!.subarray(from, from + count), alone.logits!)).toBeLessThan(1e-5);
      expect(distance(together.arguments!.subarray(b * 5, b * 5 + each.calls.length), alone.arguments!)).toBeLessThan(
        1e-5,
      );
    }
  });

  test("scores a tool that it has never seen, by its description", () => {
    const fresh = unitText();
    const more = plannerBatch(trajectories, {
      tools: [...tools, fresh],
      knownRows: [0, 1, 2, 3, -1, -1],
      maxClauses: 3,
      maxSteps: 6,
      slotFeatures,
    });
    const found = say(more).logits!;
    expect(found.every(Number.isFinite)).toBe(true);
    // The other tools' logits at a decision where all are candidates (STOP moved by one).
    const before = say(smallBatch(trajectories)).logits!.subarray(6, 6 + 5);
    expect(distance(found.subarray(7, 7 + 5), before)).toBeLessThan(1e-5);
  });

  test("at the start trusts the clause that matches a description", () => {
    const config = { ...smallConfig, matchPrior: 50 };
    const start = plannerLayout(config).initial(rng(1));
    const only = [
      { clauses: [], task: tools[3]!, calls: [{ tool: 3, outcome: [1, 0, 0, 0] }], candidates: [undefined] },
    ];
    const { logits } = evaluate(plannerLayout(config), start, (p) => ({
      logits: plannerForward(p, smallBatch(only), config).logits,
    }));
    expect(logits!.indexOf(Math.max(...logits!))).toBe(3);
  });
});
