import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchOf } from "../../../envs/mcp-tools/match.ts";

const of = (tools: string, reference: string, horizon?: number) => matchOf([...tools], [...reference], horizon);

describe("the match of two sequences of tools", () => {
  it.each<[string, string, number[], boolean]>([
    // positional, prefix, strict, lcsF1, edit, inclusion; exact
    ["abcd", "abcd", [1, 1, 1, 1, 1, 1], true],
    ["bcd", "abcd", [0, 0, 0, 6 / 7, 3 / 4, 3 / 4], false],
    ["abxcd", "abcd", [1 / 2, 1 / 2, 2 / 5, 8 / 9, 4 / 5, 1], false],
    ["abcdzz", "abcd", [1, 1, 2 / 3, 4 / 5, 2 / 3, 1], false],
    ["ab", "abcd", [1 / 2, 1, 1 / 2, 2 / 3, 1 / 2, 1 / 2], false],
    ["", "ab", [0, 0, 0, 0, 0, 0], false],
    ["dcba", "abcd", [0, 0, 0, 1 / 4, 0, 1], false],
    ["aab", "ab", [1 / 2, 1 / 2, 1 / 3, 4 / 5, 2 / 3, 1], false],
  ])("of %j and %j is worked by hand", (tools, reference, ratios, isExact) => {
    const { positional, prefix, strict, lcsF1, edit, exact, inclusion } = of(tools, reference);
    const digits = (values: number[]) => values.map((value) => value.toFixed(12));
    expect(digits([positional, prefix, strict, lcsF1, edit, inclusion])).toEqual(digits(ratios));
    expect(exact).toBe(isExact);
  });

  it("counts a prefix against the horizon, where the horizon is the shortest", () => {
    expect(of("abx", "abcdef", 2).prefix).toBe(1);
    expect(of("abx", "abcdef", 3).prefix).toBeCloseTo(2 / 3);
  });

  it("is 1 in every reading for the reference itself and from 0 to 1 for anything", () => {
    const tools = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 });
    fc.assert(
      fc.property(tools, fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 12 }), (xi, reference) => {
        const { exact, ...ratios } = matchOf(xi, reference);
        for (const ratio of Object.values(ratios)) expect(ratio >= 0 && ratio <= 1).toBe(true);
        expect(exact).toBe(JSON.stringify(xi) === JSON.stringify(reference));
        expect(ratios.strict).toBeLessThanOrEqual(Math.min(ratios.positional, ratios.prefix));
        const { exact: same, ...perfect } = matchOf(reference, reference);
        expect([same, ...Object.values(perfect)]).toEqual([true, 1, 1, 1, 1, 1, 1]);
      }),
    );
  });
});
