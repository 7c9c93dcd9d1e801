import { judge, matchOf, modelMatchOf, pheromoneOptions, type PheromoneConfig, type Play } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";

const reference = ["a", "b", "c", "d"];
const verdict = (play: Play, gate: PheromoneConfig["gate"] = {}) => judge(play, pheromoneOptions.parse({ gate }));

describe("the match", () => {
  test("counts right tools at the right place, over the reference's length", () => {
    expect(matchOf(["a", "b", "x", "d", "e"], reference)).toBe(0.75);
    expect(matchOf(["b", "c", "d"], reference)).toBe(0);
    expect(matchOf([], reference)).toBe(0);
  });

  test("of the policy's own steps leaves out what the reference chose", () => {
    expect(modelMatchOf({ tools: ["a", "b", "x", "d"], reference, oracle: [1, 1, 0, 0] })).toBe(0.5);
    expect(modelMatchOf({ tools: ["a", "b", "c", "d", "e"], reference })).toBe(0.8);
    expect(modelMatchOf({ tools: ["a", "b"], reference, oracle: [true, true] })).toBeUndefined();
  });
});

describe("a deposit", () => {
  const good = { tools: ["a", "b", "c", "x"], reference };

  test("is made by a match from .7 whose own steps reach .3, of the match", () => {
    expect(verdict(good)).toEqual({ quality: 0.75, deposit: true, remember: true, match: 0.75, modelMatch: 0.75 });
    expect(verdict({ ...good, oracle: [1, 1, 0, 0] })).toMatchObject({ quality: 0.75, deposit: true, modelMatch: 0.5 });
  });

  test("is refused below that, when the reference itself failed, and when the policy did not earn it", () => {
    expect(verdict({ ...good, tools: ["a", "b", "x", "x"] })).toMatchObject({ deposit: false, refusal: "UNVERIFIED" });
    expect(verdict({ ...good, referenceSucceeded: false })).toMatchObject({ deposit: false, refusal: "UNVERIFIED" });
    expect(verdict({ ...good, oracle: [1, 1, 1, 1] })).toMatchObject({ deposit: false, refusal: "ORACLE_ONLY" });
    expect(verdict({ ...good, oracle: [1, 1, 1, 0] })).toMatchObject({ deposit: false, refusal: "MODEL_WEAK" });
    expect(verdict(good, { match: 0.8 })).toMatchObject({ refusal: "UNVERIFIED" });
    expect(verdict({ ...good, oracle: [1, 1, 0, 0] }, { modelMatch: 0.6 })).toMatchObject({ refusal: "MODEL_WEAK" });
  });

  test("may be worth only what the policy itself got right", () => {
    const half = { ...good, oracle: [1, 1, 0, 0] };
    expect(verdict(half, { score: "modelMatch" })).toMatchObject({ quality: 0.5, deposit: true });
  });

  test("follows the environment's own word where there is one, in both directions", () => {
    expect(verdict({ ...good, tools: ["a", "x", "c", "x"], verified: true })).toMatchObject({
      deposit: true,
      quality: 0.5,
    });
    expect(verdict({ ...good, tools: reference, verified: false })).toMatchObject({ deposit: false });
    expect(verdict({ ...good, verified: true, referenceSucceeded: false })).toMatchObject({ deposit: true });
  });

  test("without a reference needs that word, and is of quality 1 unless another is given", () => {
    expect(verdict({ tools: ["a"] })).toEqual({ quality: 1, deposit: false, remember: false, refusal: "UNVERIFIED" });
    expect(verdict({ tools: ["a"], verified: true })).toEqual({ quality: 1, deposit: true, remember: true });
    expect(verdict({ tools: ["a"], verified: true, quality: 0.2 })).toEqual({
      ...{ quality: 0.2, deposit: true, remember: false },
    });
  });

  test("takes no quality that is none, and no empty reference", () => {
    for (const quality of [NaN, -0.1, 1.1, Infinity]) expect(() => verdict({ ...good, quality })).toThrow(RangeError);
    expect(() => verdict({ tools: ["a"], reference: [] })).toThrow(RangeError);
    expect(verdict({ ...good, quality: 0.9 })).toMatchObject({ quality: 0.9 });
  });
});

describe("a memory is written", () => {
  const of = (tools: string[], more: Partial<Play> = {}, gate?: PheromoneConfig["gate"]) =>
    verdict({ tools, reference, ...more }, gate).remember;

  test("from a match of .5 where it was verified, of .7 where it was not", () => {
    expect(of(["a", "b"], { verified: true })).toBe(true);
    expect(of(["a"], { verified: true })).toBe(false);
    expect(of(["a", "b", "c"], { verified: false })).toBe(true);
    expect(of(["a", "b"], { verified: false })).toBe(false);
    expect(of(["a", "b", "c"], { verified: false }, { remember: { unverified: null } })).toBe(false);
  });

  test("only with a quality from .3", () => {
    expect(of(reference, { verified: true, quality: 0.29 })).toBe(false);
    expect(of(reference, { verified: true, quality: 0.3 })).toBe(true);
  });
});
