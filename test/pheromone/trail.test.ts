import fc from "fast-check";
import { Trail, type TrailOptions } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";
import golden from "../../fixtures/numbers/pheromone.json" with { type: "json" };

const { initial, min, max, alpha, rho, quality } = golden.trail;
const options: TrailOptions = { initial, min, max, alpha, rho };

const one = (from: string, to: string, q: number) => new Map([[from, new Map([[to, q]])]]);
const none = new Map<string, Map<string, number>>();

describe("a trail", () => {
  test("has PyTorch's values over 60 rounds, deposited on and never deposited on", () => {
    const trail = new Trail(options);
    for (let round = 0; round < 60; round++) {
      trail.close(round % 2 === 0 ? one("a", "b", quality) : none);
      const at = String(round) as keyof typeof golden.trail.neverDeposited;
      if (!(at in golden.trail.neverDeposited)) continue;
      expect(Math.abs(trail.at("a", "b") - golden.trail.depositedOnEvenRounds[at])).toBeLessThan(1e-12);
      expect(Math.abs(trail.at("b", "d") - golden.trail.neverDeposited[at])).toBeLessThan(1e-12);
    }
  });

  test("that nobody walks for 40 rounds is what one power says", () => {
    const trail = new Trail(options);
    const { from, to } = golden.trail.after40Rounds;
    trail.put("a", "b", { tau: from, round: 0 });
    for (let round = 0; round < 40; round++) trail.close(none);
    expect(Math.abs(trail.at("a", "b") - to)).toBeLessThan(1e-12);
  });

  test("under the same deposit every round goes to α q/ρ, or to the upper limit when that is less", () => {
    const [free, limited] = [new Trail({ ...options, max: 1000 }), new Trail(options)];
    for (let round = 0; round < 3000; round++) {
      free.close(one("a", "b", quality));
      limited.close(one("a", "b", quality));
    }
    expect(free.at("a", "b")).toBeCloseTo(golden.trail.fixedPoint, 9);
    expect(limited.at("a", "b")).toBe(max);
  });

  test("meets the upper limit after some 50 deposits of quality 1, as the paper's constants have it", () => {
    const trail = new Trail(options);
    let rounds = 0;
    for (; trail.at("a", "b") < max; rounds++) trail.close(one("a", "b", 1));
    expect(rounds).toBe(49);
  });

  test("costs memory for edges that were deposited on, and for nothing else", () => {
    const trail = new Trail(options);
    for (let round = 0; round < 500; round++) trail.close(one("a", "b", 1));
    for (let i = 0; i < 100; i++) trail.at(`x${i}`, "y");
    expect([...trail.edges()]).toHaveLength(1);
  });
});

/** The same rule as it is written in the paper: every edge there could be, in every round. */
class EagerTrail {
  readonly tau: Map<string, number>;
  readonly options: TrailOptions;
  constructor(keys: readonly string[], options: TrailOptions) {
    this.options = options;
    this.tau = new Map(keys.map((key) => [key, options.initial]));
  }
  close(sums: Record<string, number>): void {
    const { min, max, alpha, rho } = this.options;
    for (const [key, tau] of this.tau) {
      this.tau.set(key, Math.min(max, Math.max(min, (1 - rho) * tau + alpha * (sums[key] ?? 0))));
    }
  }
}

const nodes = ["", "a", "b", "c"];
const keys = nodes.flatMap((from) => nodes.slice(1).map((to) => `${from}>${to}`));

const anyOptions = fc
  .tuple(
    fc.double({ min: 0.01, max: 3, noNaN: true }),
    fc.double({ min: 0, max: 5, noNaN: true }),
    fc.double({ min: 0, max: 20, noNaN: true }),
    fc.double({ min: 0, max: 2, noNaN: true }),
    fc.oneof(fc.constantFrom(0, 0.01, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  )
  .map(([min, up, more, alpha, rho]) => ({ min, initial: min + up, max: min + up + more, alpha, rho }));

/** Most rounds touch nothing, so that edges lie idle for long. */
const anyRounds = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...keys), fc.double({ min: 0, max: 3, noNaN: true })) },
  ),
  { maxLength: 120 },
);

test("lazy evaporation is eager evaporation, at every edge after every round, and stays within the limits", () => {
  fc.assert(
    fc.property(anyOptions, anyRounds, (options, rounds) => {
      const [lazy, eager] = [new Trail(options), new EagerTrail(keys, options)];
      for (const sums of rounds) {
        const deposits = new Map<string, Map<string, number>>();
        for (const [key, sum] of Object.entries(sums)) {
          const [from, to] = key.split(">") as [string, string];
          deposits.set(from, (deposits.get(from) ?? new Map<string, number>()).set(to, sum));
        }
        lazy.close(deposits);
        eager.close(sums);
        for (const [key, tau] of eager.tau) {
          const [from, to] = key.split(">") as [string, string];
          const found = lazy.at(from, to);
          expect(Math.abs(found - tau)).toBeLessThanOrEqual(1e-12 * tau);
          expect(found).toBeGreaterThanOrEqual(options.min);
          expect(found).toBeLessThanOrEqual(options.max);
        }
      }
    }),
    { numRuns: 300 },
  );
});
