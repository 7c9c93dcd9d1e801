import { describe, expect, test } from "vitest";
import {
  mean,
  meanInterval,
  median,
  standardDeviation,
  studentQuantile,
  wilsonInterval,
} from "../../../clients/cli/eval/statistics.ts";

describe("the numbers of an evaluation", () => {
  test("mean, median and deviation, by hand", () => {
    expect(mean([1, 2, 6])).toBe(3);
    expect(median([9, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    // (4 + 1 + 9) / 2 = 7
    expect(standardDeviation([1, 2, 6])).toBeCloseTo(Math.sqrt(7), 12);
  });

  // From the printed tables.
  test.each([
    [1, 12.7062],
    [2, 4.3027],
    [4, 2.7764],
    [9, 2.2622],
    [30, 2.0423],
    [120, 1.9799],
    [100_000, 1.96],
  ])("Student's t at %i degrees is %d", (degrees, quantile) => {
    expect(studentQuantile(degrees)).toBeCloseTo(quantile, 3);
  });

  test("a mean's interval, by hand: 5 samples, deviation √2.5, t 2.7764", () => {
    const half = (2.7764451 * Math.sqrt(2.5)) / Math.sqrt(5);
    const interval = meanInterval([1, 2, 3, 4, 5]);
    expect(interval?.low).toBeCloseTo(3 - half, 5);
    expect(interval?.high).toBeCloseTo(3 + half, 5);
  });

  test("there is no interval where no spread was seen", () => {
    expect(meanInterval([1])).toBeUndefined();
    expect(meanInterval([1, 1, 1])).toBeUndefined();
  });

  // Newcombe 1998, table I, method 3.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("Wilson's interval of %i of %i is %d to %d", (successes, n, low, high) => {
    const interval = wilsonInterval(successes, n);
    expect(interval?.low).toBeCloseTo(low, 4);
    expect(interval?.high).toBeCloseTo(high, 4);
  });
});
