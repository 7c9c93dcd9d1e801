import { describe, expect, it } from "vitest";
import { matchOf } from "../../../envs/mcp-tools/match.ts";
import { options } from "../../../envs/mcp-tools/options.ts";
import { categoryOf, execReward, intentReward, outcomeReward } from "../../../envs/mcp-tools/reward.ts";

const defaults = options.parse({});

describe("the reward for choosing a tool, (15)", () => {
  it.each([
    ["fs-read", "fs-read", false, 0.5],
    ["fs-read", "fs-read", true, 1],
    ["fs-write", "fs-read", false, 0.15],
    ["fs-write", "fs-read", true, 0.15],
    ["git-read", "fs-read", false, -0.3],
    ["read", "read-only", false, 0.15],
    ["fs-read", undefined, false, -0.3],
    ["", "fs-read", true, -0.3],
  ])("of %j where the reference has %j, after a wrong step: %j, is %d", (tool, expected, wasWrong, reward) => {
    expect(intentReward(defaults, tool, expected, wasWrong)).toBe(reward);
  });

  it("knows categories by the separators that it is given", () => {
    expect(categoryOf("fs-read_file", "-")).toBe("fs");
    expect(categoryOf("fs.read-file", ".-")).toBe("fs");
    expect(categoryOf("read", "-")).toBe("read");
    const dots = options.parse({ intent: { separators: "." } });
    expect(intentReward(dots, "fs.write", "fs.read", false)).toBe(0.15);
    expect(intentReward(defaults, "fs.write", "fs.read", false)).toBe(-0.3);
  });
});

it("the reward for an output, (16), is 0.5 or −0.5", () => {
  expect([execReward(defaults, false), execReward(defaults, true)]).toEqual([0.5, -0.5]);
});

describe("the reward for the outcome, (17)", () => {
  /** The first `right` of 20 tools match, in the order that leaves the opening out or not. */
  function reward(right: number, { failed = false, opening = false, of = defaults } = {}): number {
    const reference = Array.from({ length: 20 }, (_, i) => `t${i}`);
    const tools = reference.map((tool, i) => ((opening ? i < right : i >= 20 - right) ? tool : "wrong"));
    return outcomeReward(of, matchOf(tools, reference), tools, reference, failed);
  }

  it.each([
    [18, 15, 10.5],
    [17, 10, 8],
    [14, 10, 8],
    [13, 6, 4.8],
    [10, 6, 4.8],
    [9, 3, 3],
    [6, 3, 3],
    [5, 1.5, 1.5],
    [4, 1.5, 1.5],
    [3, 0, 0],
    [0, 0, 0],
  ])("of %d matches in 20 is %d, and %d where the reference failed", (right, value, failed) => {
    expect(reward(right)).toBeCloseTo(value, 12);
    expect(reward(right, { failed: true })).toBeCloseTo(failed, 12);
  });

  it("has 2 more where the first 3 tools match, whatever the rest", () => {
    expect(reward(3, { opening: true })).toBe(2);
    expect(reward(2, { opening: true })).toBe(0);
    expect(reward(10, { opening: true })).toBe(8);
  });

  it("has the 2 for a shorter reference when all of it matches", () => {
    const of = (tools: string[]) => outcomeReward(defaults, matchOf(tools, ["a", "b"]), tools, ["a", "b"], false);
    expect(of(["a", "b"])).toBe(17);
    expect(of(["a", "b", "c"])).toBe(17);
    expect(of(["a"])).toBe(6);
  });

  it("takes the match, the levels and the opening that it is told", () => {
    const other = options.parse({
      outcome: {
        match: "strict",
        levels: [
          { from: 0, value: -1 },
          { from: 0.5, value: 4 },
        ],
        opening: 0.25,
        openingSteps: 1,
      },
    });
    const of = (tools: string[]) => outcomeReward(other, matchOf(tools, ["a", "b"]), tools, ["a", "b"], false);
    expect(of(["a", "b", "c", "d", "e"])).toBe(-0.75);
    expect(of(["a", "b", "c", "d"])).toBe(4.25);
  });
});
