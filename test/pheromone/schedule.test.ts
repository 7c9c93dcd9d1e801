import { type Schedule, schedule, scheduled } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";

const at = (each: Schedule, update: number) => scheduled(each, { update, epoch: 3, verifiedCount: 50 });

const near = (x: number): unknown => expect.closeTo(x, 9);

describe("a schedule", () => {
  test("may be a constant, in short or in full", () => {
    expect([at(0.2, 99), at({ kind: "const", value: 0.2 }, 99)]).toEqual([0.2, 0.2]);
  });

  test("linear: w of PhGPO rises from .2 to .5 over 20 and stays there", () => {
    const w = { kind: "linear", from: 0.2, to: 0.5, over: 20, unit: "update" } as const;
    expect([0, 5, 10].map((n) => at(w, n))).toEqual([0.2, 0.275, 0.35].map(near));
    expect([20, 300].map((n) => at(w, n))).toEqual([0.5, 0.5]);
    expect(at({ ...w, start: 10 }, 3)).toBe(0.2);
    expect(at({ ...w, start: 10 }, 20)).toBeCloseTo(0.35, 12);
  });

  test("ends exactly where it should, which from + (to − from) does not always", () => {
    expect(0.2 + (0.9 - 0.2)).not.toBe(0.9);
    expect(at({ kind: "linear", from: 0.2, to: 0.9, over: 3, unit: "update" }, 3)).toBe(0.9);
  });

  test("cosine: slow at both ends", () => {
    const cosine = { kind: "cosine", from: 1, to: 0, over: 4, unit: "update" } as const;
    const expected = [1, 0.85355339059, 0.5, 0.14644660941, 0, 0];
    expect([0, 1, 2, 3, 4, 9].map((n) => at(cosine, n))).toEqual(expected.map(near));
  });

  test("steps: the horizon of PhGPO is 3, 5, 7, 10 for 6, 6, 6, 7 epochs", () => {
    const horizon = { kind: "steps", values: [3, 5, 7, 10], at: [6, 12, 18], unit: "epoch" } as const;
    const found = [0, 5, 6, 11, 12, 17, 18, 24].map((epoch) =>
      scheduled(horizon, { update: 0, epoch, verifiedCount: 0 }),
    );
    expect(found).toEqual([3, 3, 5, 5, 7, 7, 10, 10]);
  });

  test("over nothing jumps", () => {
    const jump = { kind: "linear", from: 0, to: 1, over: 0, start: 5, unit: "update" } as const;
    expect([4, 5].map((n) => at(jump, n))).toEqual([0, 1]);
  });

  test("counts what it says: verified trajectories, not updates", () => {
    expect(at({ kind: "linear", from: 0, to: 1, over: 100, unit: "verifiedCount" }, 7)).toBe(0.5);
  });

  test.each([
    [{ kind: "linear", from: 0, to: 1, over: -1, unit: "update" }],
    [{ kind: "linear", from: 0, to: 1, over: 5, unit: "step" }],
    [{ kind: "steps", values: [1, 2], at: [3, 4], unit: "update" }],
    [{ kind: "steps", values: [1, 2, 3], at: [4, 3], unit: "update" }],
    [{ kind: "linear", from: NaN, to: 1, over: 5, unit: "update" }],
  ])("that has no sense is refused: %j", (each) => {
    expect(schedule.safeParse(each).success).toBe(false);
  });
});
