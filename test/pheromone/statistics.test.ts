import {
  type Deposit,
  heatMap,
  massOnReference,
  nodeEntropy,
  PheromoneTable,
  START,
  statisticsOf,
  Tally,
} from "trailgym/pheromone";
import { describe, expect, test } from "vitest";

const path = (tools: string[], more: Partial<Deposit> = {}): Deposit => ({
  ...{ tools, quality: 1, deposit: true, remember: false },
  ...more,
});

/** τ is set by hand, so that every figure below can be worked out on paper. */
function handmade(): PheromoneTable {
  const table = new PheromoneTable({ w: 1 });
  for (const tool of ["a", "b", "c", "d"]) table.tools.add(tool);
  table.tool.put(START, "a", { tau: 20, round: 0 });
  table.tool.put("a", "b", { tau: 6, round: 0 });
  table.tool.put("a", "c", { tau: 2, round: 0 });
  table.tool.put("b", "c", { tau: 0.5, round: 0 });
  table.argument.put("a", "x", { tau: 3, round: 0 });
  return table;
}

describe("the statistics", () => {
  test("of nothing are zeros and unknowns, not NaN", () => {
    const statistics = statisticsOf(new PheromoneTable());
    const level = {
      edges: 0,
      coverage: undefined,
      tau: undefined,
      saturated: 0,
      faded: 0,
      entropy: undefined,
      memories: 0,
    };
    expect(statistics).toEqual({
      ...{ tool: level, argument: level, tools: 0, tasks: 0, rounds: 0 },
      ...{ offered: 0, deposited: 0, remembered: 0, w: 0.2 },
    });
  });

  test("count edges, coverage and limits, and give the trails' range", () => {
    const { tool, argument } = statisticsOf(handmade(), {
      patterns: new Map([
        ["a", 2],
        ["b", 3],
      ]),
    });
    expect(tool).toMatchObject({ edges: 4, coverage: 4 / 20, saturated: 0.25, faded: 0.25, memories: 0 });
    expect(tool.tau).toEqual({ mean: 28.5 / 4, min: 0.5, max: 20 });
    expect(argument).toMatchObject({ edges: 1, coverage: 1 / 5 });
    expect(statisticsOf(handmade(), { tools: 9 }).tool.coverage).toBe(4 / 90);
    expect(statisticsOf(handmade()).argument.coverage).toBeUndefined();
  });

  test("say how open a node is: between a single way out and no trail at all", () => {
    const table = handmade();
    // 6, 2 and two untouched ones: shares .6, .2, .1, .1.
    const nats = -(0.6 * Math.log(0.6) + 0.2 * Math.log(0.2) + 0.2 * Math.log(0.1));
    expect(nodeEntropy(table.tool, "a", 4)).toBeCloseTo(nats / Math.log(4), 12);
    expect(nodeEntropy(table.tool, "nowhere", 4)).toBeCloseTo(1, 12);
    expect(nodeEntropy(table.tool, "a", 1)).toBeUndefined();
    expect(nodeEntropy(table.tool, "a", undefined)).toBeUndefined();
    const nodes = [START, "a", "b"].map((from) => nodeEntropy(table.tool, from, 4)!);
    expect(statisticsOf(table).tool.entropy).toBeCloseTo((nodes[0]! + nodes[1]! + nodes[2]!) / 3, 12);
    expect(statisticsOf(table, { patterns: new Map([["a", 2]]) }).argument.entropy).toBeCloseTo(
      -(0.75 * Math.log(0.75) + 0.25 * Math.log(0.25)) / Math.log(2),
      12,
    );
  });

  test("fall in entropy as one path is walked again and again", () => {
    const table = new PheromoneTable();
    const entropies = [1, 10, 40].map((rounds) => {
      while (table.rounds < rounds) table.round([path(["a", "b", "c"])]);
      return statisticsOf(table, { tools: 20 }).tool.entropy!;
    });
    expect(entropies.toSorted((a, b) => b - a)).toEqual(entropies);
    expect(entropies[2]).toBeLessThan(0.8);
  });

  test("count tasks and memories by what is still there", () => {
    const table = new PheromoneTable({ memory: { decay: 0.5, forget: 0.4 } });
    table.round([path(["a", "b"], { remember: true, embedding: [1, 0], quality: 0.5 })]);
    table.round([path(["a", "b"], { remember: true, embedding: [0, 1] })]);
    expect(statisticsOf(table)).toMatchObject({ tasks: 1, tool: { memories: 2 }, remembered: 2, rounds: 2 });
    while (table.rounds < 4) table.round([]);
    expect(statisticsOf(table)).toMatchObject({ tasks: 0, tool: { memories: 0, edges: 2 }, remembered: 2 });
  });
});

test("mass on the reference is what a follower of the trail alone would take of it", () => {
  const query = { candidates: ["a", "b", "c", "d"] };
  expect(massOnReference(handmade(), ["a", "b", "c"], query)).toBeCloseTo((20 / 23 + 6 / 10 + 0.5 / 3.5) / 3, 12);
  expect(massOnReference(new PheromoneTable(), ["a", "b"], query)).toBeCloseTo(0.25, 12);
});

test("mass on the reference follows the task where memories tell tasks apart", () => {
  const table = new PheromoneTable({ w: 1 });
  table.round([
    path(["a", "b"], { remember: true, embedding: [1, 0] }),
    path(["a", "c"], { remember: true, embedding: [0, 1] }),
  ]);
  const mass = (embedding: number[]) =>
    massOnReference(table, ["a", "b"], { candidates: ["a", "b", "c"], recall: table.recall(embedding) });
  expect(mass([1, 0])).toBeGreaterThan(mass([0, 1]) + 0.2);
});

test("a tally has the share of edges on which like tasks had a say, and their confidence", () => {
  const table = new PheromoneTable({ w: 1, memory: { enough: 1 } });
  table.round([path(["a"], { remember: true, embedding: [1, 0], quality: 0.8 })]);
  const tally = new Tally();
  expect([tally.hybridRate, tally.meanConfidence]).toEqual([0, 0]);
  const candidates = ["a", "b", "c", "d"];
  tally.add(table.row({ candidates, recall: table.recall([1, 0]) }));
  tally.add(table.row({ candidates }));
  expect([tally.hybridRate, tally.meanConfidence]).toEqual([1 / 8, expect.closeTo(0.8, 12)]);
});

test("a heat map has a row for each beginning and a column for each end", () => {
  const rows = heatMap(handmade(), [START, "a", "z"], ["a", "b", "c"]);
  expect(rows.map((row) => [...row])).toEqual([
    [20, 1, 1],
    [1, 6, 2],
    [1, 1, 1],
  ]);
});
