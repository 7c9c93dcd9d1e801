import fc from "fast-check";
import { describe, expect, test } from "vitest";
import golden from "../../../fixtures/numbers/advantages.json" with { type: "json" };
import gaeGolden from "../../../fixtures/numbers/gae.json" with { type: "json" };
import { grpoAdvantages, type GrpoAdvantageOptions } from "../../../trainer/algorithms/grpo.ts";
import { penalised } from "../../../trainer/algorithms/kl.ts";
import { explainedVariance, gae, trajectoryAdvantages, whiten } from "../../../trainer/algorithms/ppo.ts";
import { discounted, informativeGroups, zeroSpreadShare } from "../../../trainer/algorithms/returns.ts";
import { rlooAdvantages } from "../../../trainer/algorithms/rloo.ts";

const returns = golden.returns.flat();
const groups = golden.returns.flatMap((row, group) => row.map(() => group));

const conventions: Record<string, Partial<GrpoAdvantageOptions>> = {
  "sample std, eps 1e-4": { stdDdof: 1, epsAdv: 1e-4 },
  "sample std, eps 1e-6": { stdDdof: 1, epsAdv: 1e-6 },
  "population std, eps 1e-8": {},
  "no std": { scale: "none" },
  "std of the batch, eps 1e-4": { scale: "batch", stdDdof: 1, epsAdv: 1e-4 },
};

const grpo = (values: readonly number[], of: readonly number[], options: Partial<GrpoAdvantageOptions> = {}) =>
  grpoAdvantages(values, of, { scale: "group", stdDdof: 0, epsAdv: 1e-8, ...options });

const near = (values: Iterable<number>, digits = 8) => Array.from(values, (x) => expect.closeTo(x, digits) as number);
/** A few groups with a few returns each. */
const batches = fc.array(fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 5,
});
const flat = (batch: number[][]) => ({ values: batch.flat(), of: batch.flatMap((row, group) => row.map(() => group)) });

describe("GRPO's advantages", () => {
  test.each(Object.keys(conventions))("%s: PyTorch's values", (name) => {
    const expected = golden[name as keyof typeof golden] as number[][];
    expect(Array.from(grpo(returns, groups, conventions[name]).advantages)).toEqual(near(expected.flat()));
  });

  test("sum to 0 in each group, and do not depend on the order of the trajectories", () => {
    fc.assert(
      fc.property(batches, fc.integer(), (batch, seed) => {
        const { values, of } = flat(batch);
        const { advantages } = grpo(values, of);
        for (const group of new Set(of)) {
          expect(advantages.filter((_, i) => of[i] === group).reduce((a, b) => a + b, 0)).toBeCloseTo(0, 6);
        }
        const order = [...values.keys()].sort((a, b) => ((a * 7919 + seed) % 13) - ((b * 7919 + seed) % 13));
        const shuffled = grpo(
          order.map((i) => values[i]!),
          order.map((i) => of[i]!),
        ).advantages;
        expect(Array.from(shuffled)).toEqual(
          near(
            order.map((i) => advantages[i]!),
            6,
          ),
        );
      }),
    );
  });

  test("are exactly 0 for constant returns, whose mean is rounded, and for a group of one", () => {
    const constant = new Array<number>(7).fill(0.1 + 0.2);
    for (const options of Object.values(conventions)) {
      expect(Array.from(grpo(constant, new Array<number>(7).fill(0), options).advantages)).toEqual(
        new Array(7).fill(0),
      );
      expect(Array.from(grpo([5, 1, 2], [0, 1, 1], options).advantages)[0]).toBe(0);
    }
  });

  test("leave a failed episode out: it gets 0, is not kept, and changes nobody's", () => {
    for (const bad of [NaN, Infinity, -Infinity]) {
      const { advantages, kept } = grpo([1, bad, 3, 0], [0, 0, 0, 0]);
      expect(kept).toEqual([true, false, true, true]);
      expect(advantages[1]).toBe(0);
      expect([0, 2, 3].map((i) => advantages[i])).toEqual(near(grpo([1, 3, 0], [0, 0, 0]).advantages));
    }
    expect(grpo([NaN, NaN], [0, 0]).kept).toEqual([false, false]);
  });
});

describe("RLOO's advantages", () => {
  test("have PyTorch's values", () => {
    expect(Array.from(rlooAdvantages(returns, groups).advantages)).toEqual(near(golden["leave one out"].flat()));
  });

  test("are M/(M−1) times the centred returns", () => {
    fc.assert(
      fc.property(batches, (batch) => {
        const { values, of } = flat(batch);
        const { advantages } = rlooAdvantages(values, of);
        const centred = grpo(values, of, { scale: "none" }).advantages;
        for (const [i, group] of of.entries()) {
          const size = of.filter((other) => other === group).length;
          expect(advantages[i]).toBeCloseTo(size === 1 ? 0 : (centred[i]! * size) / (size - 1), 6);
        }
      }),
    );
  });

  test("of a group of one: no signal, or the return itself when asked for", () => {
    expect(Array.from(rlooAdvantages([5, 1, 3], [0, 1, 1]).advantages)).toEqual([0, -2, 2]);
    expect(Array.from(rlooAdvantages([5, 1, 3], [0, 1, 1], "return").advantages)).toEqual([5, -2, 2]);
    // What is left when the others failed is a group of one.
    expect(Array.from(rlooAdvantages([5, NaN], [0, 0]).advantages)).toEqual([0, 0]);
  });
});

describe("GAE", () => {
  const { rewards, values, bootstrap, gamma, lambda } = gaeGolden;
  const expectAll = (found: ReturnType<typeof gae>, expected: ReturnType<typeof gae>) => {
    expect(found.advantages).toEqual(near(expected.advantages));
    expect(found.targets).toEqual(near(expected.targets));
  };

  test("of an episode that the task ended", () => {
    expectAll(gae({ rewards, values, bootstrap: 0 }, { gamma, lambda }), gaeGolden.terminated);
    expectAll(gae({ rewards, values, bootstrap: 0 }, { gamma: 1, lambda }), gaeGolden["terminated, gamma 1"]);
  });

  test("of one that was cut: it bootstraps", () => {
    expectAll(gae({ rewards, values, bootstrap }, { gamma, lambda }), gaeGolden.truncated);
  });

  test("λ = 1 is the return minus the value; λ = 0 the one-step error", () => {
    const all = gae({ rewards, values, bootstrap: 0 }, { gamma: 1, lambda: 1 }).advantages;
    expect(all).toEqual(near(rewards.map((_, t) => rewards.slice(t).reduce((a, b) => a + b, 0) - values[t]!)));
    const one = gae({ rewards, values, bootstrap }, { gamma, lambda: 0 }).advantages;
    expect(one).toEqual(near(rewards.map((r, t) => r + gamma * (values[t + 1] ?? bootstrap) - values[t]!)));
  });

  test("whitened: PyTorch's values; padding stays 0 and has no say", () => {
    const { advantages } = gae({ rewards, values, bootstrap: 0 }, { gamma, lambda });
    const padded = Float32Array.from([...advantages, 99, -99]);
    const found = whiten(padded, Float32Array.from([1, 1, 1, 1, 1, 0, 0]));
    expect(Array.from(found)).toEqual(near([...gaeGolden["terminated, whitened"], 0, 0], 5));
  });

  test("whitening one decision, or equal ones, leaves them", () => {
    expect(whiten(Float32Array.from([3, 7]), Float32Array.from([1, 0]))).toEqual(Float32Array.from([3, 7]));
    expect(whiten(Float32Array.from([2, 2]), Float32Array.from([1, 1]))).toEqual(Float32Array.from([2, 2]));
  });

  test("one advantage for a trajectory: the return minus the first value", () => {
    const found = trajectoryAdvantages({ rewards, values, bootstrap: 0 });
    expect(found.advantages).toEqual(near(rewards.map(() => 2.5 - 0.5)));
    expect(found.targets).toEqual(near(rewards.map(() => 2.5)));
    expect(trajectoryAdvantages({ rewards, values, bootstrap: 0.7 }, 0.5).targets[0]).toBeCloseTo(
      1 - 0.25 + 2 / 8 + 0.5 / 16 + 0.7 / 32,
      9,
    );
  });

  test("explained variance", () => {
    const { targets, oldValues, explainedVariance: expected } = gaeGolden.valueLoss;
    const found = explainedVariance(
      Float32Array.from(oldValues),
      Float32Array.from(targets),
      new Float32Array(4).fill(1),
    );
    expect(found).toBeCloseTo(expected, 5);
    expect(explainedVariance(new Float32Array(2), new Float32Array(2), new Float32Array(2).fill(1))).toBe(0);
  });
});

test("dynamic sampling looks at whole groups, with an epsilon, and not at failed episodes", () => {
  const [values, of] = [
    [1, 1, 0, 2, 2, 2 + 1e-9, 7, 3, NaN, NaN],
    [0, 0, 0, 1, 1, 1, 2, 3, 3, 4],
  ];
  expect([...informativeGroups(values, of)]).toEqual([0]);
  expect([...informativeGroups(values, of, 1e-10)]).toEqual([0, 1]);
  expect(zeroSpreadShare([1, 1, 0, 2], [0, 0, 1, 1])).toBe(0.5);
});

test("returns are discounted; the KL in the reward is k1", () => {
  expect(discounted([[1, 2, 4], []], 0.5)).toEqual([3, 0]);
  expect(discounted([[1, 2, 4]])).toEqual([7]);
  expect(penalised([[1, 0]], [[-1, -2]], [[-1.5, -1]], 0.1)[0]).toEqual(near([1 - 0.05, 0.1]));
});
