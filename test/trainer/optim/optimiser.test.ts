import { describe, expect, test } from "vitest";
import golden from "../../../fixtures/numbers/optimisers.json" with { type: "json" };
import { globalNorm, GradientNotFinite, Optimiser } from "../../../trainer/optim/optimiser.ts";

describe.each(["adam", "adamw", "sgd"] as const)("%s", (kind) => {
  test("takes PyTorch's three steps, clipped by the global norm", () => {
    const optimiser = new Optimiser(3, { kind, maxGradNorm: 0.5, weightDecay: kind === "adamw" ? 0.01 : 0 });
    const weights = Float32Array.from([1, -2, 3]);
    for (const [k, expected] of golden[kind].entries()) {
      const norm = optimiser.update(
        weights,
        weights.map((w) => 2 * (k + 1) * w),
        0.1,
      );
      expect(norm).toBeCloseTo(expected.norm, 4);
      for (const [i, w] of expected.weights.entries()) expect(weights[i]).toBeCloseTo(w, 5);
    }
    expect(optimiser.state.step).toBe(3);
  });

  test("goes on from a copy of its state bit for bit", () => {
    const gradient = (k: number) => Float32Array.from([0.3 * k, -0.1, Math.sin(k)]);
    const whole = new Optimiser(3, { kind });
    const [a, b] = [Float32Array.from([1, 2, 3]), Float32Array.from([1, 2, 3])];
    const first = new Optimiser(3, { kind });
    for (let k = 0; k < 10; k++) whole.update(a, gradient(k), 0.01);
    for (let k = 0; k < 5; k++) first.update(b, gradient(k), 0.01);
    const second = new Optimiser(3, { kind });
    second.state = structuredClone(first.state);
    for (let k = 5; k < 10; k++) second.update(b, gradient(k), 0.01);
    expect(b).toEqual(a);
  });

  test("makes no update of a gradient that is not finite", () => {
    const optimiser = new Optimiser(2, { kind });
    const weights = Float32Array.from([1, 2]);
    for (const bad of [NaN, Infinity]) {
      expect(() => optimiser.update(weights, Float32Array.from([1, bad]), 0.1)).toThrow(GradientNotFinite);
    }
    expect(weights).toEqual(Float32Array.from([1, 2]));
    expect(optimiser.state).toEqual(new Optimiser(2, { kind }).state);
  });
});

test("a gradient below the limit is left as it is, one above has the limit as its norm", () => {
  const optimiser = new Optimiser(2, { kind: "sgd", maxGradNorm: 1 });
  const small = Float32Array.from([0.3, 0.4]);
  optimiser.update(new Float32Array(2), small, 0);
  expect(small).toEqual(Float32Array.from([0.3, 0.4]));
  const large = Float32Array.from([30, 40]);
  optimiser.update(new Float32Array(2), large, 0);
  expect(globalNorm(large)).toBeCloseTo(1, 5);
});

test("weight decay alone shrinks the weights of adamw and not those of adam", () => {
  for (const [kind, expected] of [
    ["adamw", 0.99],
    ["adam", 1],
  ] as const) {
    const weights = Float32Array.from([1]);
    new Optimiser(1, { kind, weightDecay: 0.1 }).update(weights, new Float32Array(1), 0.1);
    expect(weights[0]).toBeCloseTo(expected, 6);
  }
});
