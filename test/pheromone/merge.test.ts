import fc from "fast-check";
import { type Deposit, load, merge, PheromoneError, PheromoneTable, save, START } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";
import { anyDeposit } from "./arbitrary.ts";

/** No limit is met, and memories hold all: what merging cannot know is out of the way. */
const config = { min: 1e-6, max: 1e6, memory: { capacity: 1000 }, w: 0.5 };

const anyRounds = fc.array(fc.array(anyDeposit, { maxLength: 3 }), { maxLength: 8 });

function played(rounds: readonly (readonly Deposit[])[], more = {}): PheromoneTable {
  const table = new PheromoneTable({ ...config, ...more });
  for (const deposits of rounds) table.round(deposits);
  return table;
}

/** τ̄ and confidence at every edge of both levels. */
function answers(table: PheromoneTable): number[] {
  const recall = table.recall([0.4, 0.3, 0.2]);
  return (["tool", "argument"] as const).flatMap((level) =>
    [START, ..."abcd"].flatMap((from) => {
      const row = table.row({ level, from, candidates: [..."abcd", "x", "y"], recall });
      return [...row.tau, ...row.confidence];
    }),
  );
}

const alike = (found: PheromoneTable, expected: PheromoneTable) => {
  const [a, b] = [answers(found), answers(expected)];
  for (const [i, x] of a.entries()) expect(Math.abs(x - b[i]!)).toBeLessThanOrEqual(1e-9 * Math.abs(b[i]!));
};

describe("a merged table", () => {
  test("is that of both replicas' deposits in the same rounds", () => {
    fc.assert(
      fc.property(anyRounds, anyRounds, (left, right) => {
        const length = Math.max(left.length, right.length);
        const both = Array.from({ length }, (_, i) => [...(left[i] ?? []), ...(right[i] ?? [])]);
        const idle = (rounds: typeof left) => both.map((_, i) => rounds[i] ?? []);
        const [merged, one] = [merge(played(idle(left)), played(idle(right))), played(both)];
        alike(merged, one);
        expect(merged.rounds).toBe(length);
        expect(merged.counts).toEqual(one.counts);
        expect(new Set(merged.tools)).toEqual(one.tools);
      }),
      { numRuns: 200 },
    );
  });

  test("does not depend on which comes first, and one with an empty one is itself", () => {
    fc.assert(
      fc.property(anyRounds, anyRounds, (left, right) => {
        const [a, b] = [played(left), played(right)];
        alike(merge(a, b), merge(b, a));
        alike(merge(a, played([])), a);
      }),
      { numRuns: 100 },
    );
  });

  test("can be saved, stays within limits and capacity, and has both open rounds", () => {
    fc.assert(
      fc.property(anyRounds, anyRounds, anyDeposit, (left, right, open) => {
        const more = { min: 0.5, max: 2, memory: { capacity: 2 }, roundSize: null };
        const [a, b] = [played(left, more), played(right, more)];
        a.offer(open);
        b.offer(open);
        const merged = merge(a, b);
        expect(save(load(save(merged)))).toBe(save(merged));
        expect(merged.offers).toBe(2);
        expect(merged.pending).toEqual([...a.pending, ...b.pending]);
        expect(merged.version).toBeGreaterThan(Math.max(a.version, b.version));
      }),
      { numRuns: 100 },
    );
  });

  test("is refused where two encoders were at work, also in rounds that are still open", () => {
    const of = (embedding: number[]) => {
      const table = new PheromoneTable({ roundSize: null });
      table.offer({ tools: ["a"], quality: 1, deposit: true, remember: true, embedding });
      return table;
    };
    expect(() => merge(of([1, 0]), of([1, 0, 0]))).toThrow(/one text encoder/);
    expect(merge(of([1, 0]), new PheromoneTable({ roundSize: null })).tasks.dimension).toBe(2);
    expect(merge(new PheromoneTable({ roundSize: null }), of([1, 0])).tasks.dimension).toBe(2);
  });

  test("is refused where the rules differ", () => {
    const problem = () => merge(played([]), played([], { max: 30 }));
    expect(problem).toThrow(PheromoneError);
    expect(problem).toThrow(/same ones/);
  });
});
