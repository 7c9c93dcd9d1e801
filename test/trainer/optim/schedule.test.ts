import { describe, expect, test } from "vitest";
import { type Schedule, scheduled } from "../../../trainer/optim/schedule.ts";

const near = (values: number[]) => values.map((x) => expect.closeTo(x, 5) as number);
const at = (schedule: Schedule, update: number) => scheduled(schedule, { update, epoch: 3, verifiedCount: 50 });

describe("a schedule", () => {
  test("that is a number is that number", () => expect(at(0.2, 99)).toBe(0.2));

  test("linear: λ of PhGPO falls from .7 to .3 over 20 and stays there", () => {
    const lambda = { kind: "linear", from: 0.7, to: 0.3, over: 20, unit: "update" } as const;
    expect([0, 5, 10, 20, 300].map((n) => at(lambda, n))).toEqual(near([0.7, 0.6, 0.5, 0.3, 0.3]));
    expect(at({ ...lambda, start: 10 }, 20)).toBeCloseTo(0.5, 9);
    expect(at({ ...lambda, start: 10 }, 3)).toBe(0.7);
  });

  test("cosine: slow at both ends", () => {
    const cosine = { kind: "cosine", from: 1, to: 0, over: 4, unit: "update" } as const;
    expect([0, 1, 2, 3, 4, 9].map((n) => at(cosine, n))).toEqual(near([1, 0.853553, 0.5, 0.146447, 0, 0]));
  });

  test("steps: the horizon of PhGPO is 3, 5, 7, 10 for 6, 6, 6, 7 epochs", () => {
    const horizon = { kind: "steps", values: [3, 5, 7, 10], at: [6, 12, 18], unit: "epoch" } as const;
    const found = [0, 5, 6, 11, 12, 17, 18, 24].map((epoch) =>
      scheduled(horizon, { update: 0, epoch, verifiedCount: 0 }),
    );
    expect(found).toEqual([3, 3, 5, 5, 7, 7, 10, 10]);
    expect(() => at({ ...horizon, at: [6] }, 0)).toThrow(RangeError);
  });

  test("cosine with restarts begins anew, each time for longer", () => {
    const sgdr = { kind: "cosine-restarts", from: 1, to: 0, period: 2, growth: 2, unit: "update" } as const;
    expect([0, 1, 2, 4, 5, 6].map((n) => at(sgdr, n))).toEqual(near([1, 0.5, 1, 0.5, 0.146447, 1]));
  });

  test("warm-up leads to what follows, whose own count begins then", () => {
    const then = { kind: "linear", from: 1, to: 0, over: 10, unit: "update" } as const;
    const warm = { kind: "warmup", over: 5, unit: "update", then } as const;
    expect([0, 1, 5, 10, 15].map((n) => at(warm, n))).toEqual(near([0, 0.2, 1, 0.5, 0]));
  });

  test("counts what it says: verified trajectories, not updates", () => {
    expect(at({ kind: "linear", from: 0, to: 1, over: 100, unit: "verifiedCount" }, 7)).toBe(0.5);
  });
});
