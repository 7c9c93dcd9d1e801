import { rng } from "trailgym/env";
import { beforeAll, describe, expect, test } from "vitest";
import { useBackend } from "../../../trainer/backend/backend.ts";
import type { PlannedTrajectory } from "../../../trainer/policy/planned.ts";
import { PlannerInference } from "../../../trainer/policy/inference/inference.ts";
import { plannerForward, plannerLayout } from "../../../trainer/policy/planner.ts";
import { createKernel, hasSimd, pack } from "../../../trainer/policy/inference/simd.ts";
import { evaluate } from "../../../trainer/update.ts";
import { distance } from "../algorithms/loss.ts";
import { knownRows, smallBatch, smallConfig, smallTrajectories, tools } from "./planner-case.ts";

const layout = plannerLayout(smallConfig);
const weights = layout.initial(rng(5)).map((w, i) => w + 0.05 * Math.sin(i));
const width = tools.length + 1;

function inference(capacity = 4): PlannerInference {
  return new PlannerInference(smallConfig, weights, { tools, knownRows, capacity });
}

/** Plays what the trajectories did; [B][T] of logits and values. */
function replay(policy: PlannerInference, trajectories: readonly PlannedTrajectory[]) {
  const slots = trajectories.map((each) => policy.begin(each)[0]!);
  const said = trajectories.map((): { logits: number[]; value: number }[] => []);
  const steps = Math.max(...trajectories.map(({ calls }) => calls.length));
  for (let t = 0; t < steps; t++) {
    const live = [...trajectories.keys()].filter((b) => t < trajectories[b]!.calls.length);
    const decisions = policy.decide(live.map((b) => slots[b]!));
    for (const [i, b] of live.entries()) {
      said[b]!.push({ logits: [...decisions[i]!.logits], value: decisions[i]!.value });
    }
    const going = live.filter((b) => t + 1 < trajectories[b]!.calls.length);
    policy.observe(
      going.map((b) => slots[b]!),
      going.map((b) => trajectories[b]!.calls[t]!),
    );
  }
  for (const slot of slots) policy.end(slot);
  return said;
}

describe("inference", () => {
  beforeAll(async () => void (await useBackend("cpu")));

  test("equals the training pass to 1e-5: logits and values of every decision, several episodes in lock-step", () => {
    const trajectories = smallTrajectories().map((each) => ({ ...each, candidates: each.calls.map(() => undefined) }));
    const batch = smallBatch(trajectories);
    const { logits, values } = evaluate(layout, weights, (p) => {
      const out = plannerForward(p, batch, smallConfig);
      return { logits: out.logits, values: out.values };
    });
    const said = replay(inference(), trajectories);
    for (const [b, decisions] of said.entries()) {
      for (const [t, { logits: found, value }] of decisions.entries()) {
        const row = b * batch.steps + t;
        expect(distance(found, logits!.subarray(row * width, (row + 1) * width))).toBeLessThan(1e-5);
        expect(Math.abs(value - values![row]!)).toBeLessThan(1e-5);
      }
    }
    expect(said.flat().length).toBe(11);
  });

  test("of patterns and slots equals the training pass", () => {
    const trajectories = smallTrajectories();
    const batch = smallBatch(trajectories);
    const expected = evaluate(layout, weights, (p) => ({
      arguments: plannerForward(p, batch, smallConfig, 0.7).arguments!,
    })).arguments!;
    const policy = inference();
    for (const [b, each] of trajectories.entries()) {
      const [slot] = policy.begin(each);
      for (const [t, call] of each.calls.entries()) {
        let total = 0;
        if (call.arguments?.pattern) {
          const { options, taken } = call.arguments.pattern;
          total += logSoftmax(policy.patternScores(slot!, call.tool, options), 0.7)[taken]!;
        }
        for (const { property, options, taken } of call.arguments?.slots ?? []) {
          total += logSoftmax(policy.slotScores(slot!, property, options), 0.7)[taken]!;
        }
        expect(total).toBeCloseTo(expected[b * batch.steps + t]!, 5);
        if (t + 1 < each.calls.length) policy.observe([slot!], [call]);
      }
    }
    expect(Math.min(...expected)).toBeLessThan(-1);
  });

  test("reads a task once for all its copies, which then go their own ways", () => {
    const [, , each] = smallTrajectories();
    const policy = inference();
    const [a, b] = policy.begin(each!, 2) as [number, number];
    const logits = (slot: number) => [...policy.decide([slot])[0]!.logits];
    expect(logits(a)).toEqual(logits(b));
    policy.observe([a], [each!.calls[0]!]);
    expect(logits(a)).not.toEqual(logits(b));
    policy.observe([b], [each!.calls[0]!]);
    expect(logits(a)).toEqual(logits(b));
  });

  test("gives a slot back, refuses one too many, and one that has no episode", () => {
    const [each] = smallTrajectories();
    const policy = inference(2);
    const [a] = policy.begin(each!, 2);
    expect(() => policy.begin(each!)).toThrow(/0 of 1 slots/);
    policy.end(a!);
    expect(() => policy.decide([a!])).toThrow(RangeError);
    expect(policy.begin(each!)).toEqual([a]);
  });

  test("refuses to observe STOP, which nothing follows, and leaves all episodes as they were", () => {
    const [each] = smallTrajectories();
    const policy = inference();
    const [a, b] = policy.begin(each!, 2) as [number, number];
    const before = [...policy.decide([a])[0]!.logits];
    const call = each!.calls[0]!;
    expect(() => policy.observe([a, b], [call, { ...call, tool: tools.length }])).toThrow(RangeError);
    expect([...policy.decide([a])[0]!.logits]).toEqual(before);
  });

  test("refuses more calls than it has places for", () => {
    const [each] = smallTrajectories();
    const policy = inference();
    const [slot] = policy.begin(each!);
    const call = each!.calls[0]!;
    for (let t = 0; t < smallConfig.maxSteps; t++) policy.observe([slot!], [call]);
    expect(() => policy.observe([slot!], [call])).toThrow(/at most 6/);
  });
});

test("the matrix product is the same with SIMD and without, for any size", () => {
  expect(hasSimd()).toBe(true);
  const random = rng(1);
  for (const [rows, inputs, columns] of [
    [1, 3, 2],
    [4, 8, 8],
    [7, 5, 19],
    [33, 64, 100],
  ] as const) {
    const matrix = Float32Array.from({ length: inputs * columns }, () => random.normal());
    const bias = Float32Array.from({ length: columns }, () => random.normal());
    const x = Float32Array.from({ length: rows * inputs }, () => random.normal());
    for (const relu of [false, true]) {
      const [fast, plain] = [true, false].map((simd) => {
        const kernel = createKernel(1e6, simd);
        const packed = pack(kernel, matrix, bias, inputs, columns);
        const from = kernel.allocate(36 * inputs);
        const to = kernel.allocate(36 * packed.columns);
        from.set(x);
        kernel.product(from, packed, to, rows, relu);
        return Array.from(
          { length: rows * columns },
          (_, i) => to[Math.floor(i / columns) * packed.columns + (i % columns)]!,
        );
      });
      const expected = Array.from({ length: rows * columns }, (_, i) => {
        const [r, j] = [Math.floor(i / columns), i % columns];
        let sum = bias[j]!;
        for (let k = 0; k < inputs; k++) sum += x[r * inputs + k]! * matrix[k * columns + j]!;
        return relu ? Math.max(0, sum) : sum;
      });
      expect(distance(fast!, expected)).toBeLessThan(1e-5);
      expect(distance(plain!, expected)).toBeLessThan(1e-5);
    }
  }
});

function logSoftmax(scores: Float32Array, temperature: number): number[] {
  const scaled = Array.from(scores, (s) => s / temperature);
  const most = Math.max(...scaled);
  const total = most + Math.log(scaled.reduce((sum, s) => sum + Math.exp(s - most), 0));
  return scaled.map((s) => s - total);
}
