import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildGraph, graphFile } from "../../../envs/mcp-tools/graph/graph.ts";
import { shuffled } from "../../../envs/mcp-tools/graph/mersenne.ts";
import { readGraph } from "../../../envs/mcp-tools/graph/read.ts";
import { dotOf, summaryOf } from "../../../envs/mcp-tools/graph/show.ts";
import { splitTrajectories } from "../../../envs/mcp-tools/graph/split.ts";
import { statisticsOf } from "../../../envs/mcp-tools/graph/statistics.ts";
import { chainOf, trajectory, type Trajectory } from "../../../envs/mcp-tools/trajectory.ts";

/** "a b b" as a trajectory, with an argument `n` that counts the steps of each tool from 0. */
function path(tools: string, more: object = {}): Trajectory {
  const seen = new Map<string, number>();
  const reference = tools.split(" ").map((tool) => {
    const n = seen.get(tool) ?? 0;
    seen.set(tool, n + 1);
    return { tool, arguments: n === 0 ? {} : { n }, output: tool === "bad" ? "it failed" : "fine" };
  });
  return trajectory.parse({ id: tools, task: `Do ${tools}.`, reference, ...more });
}

const paths = [path("a b c"), path("a b b"), path("b bad")];

describe("a graph", () => {
  const graph = buildGraph(paths);
  const node = (name: string) => graph.tools.find((tool) => tool.name === name);

  it("has each tool with its calls, failures, beginnings and ends", () => {
    expect(graph.tools.map(({ name, calls, errors, first, last }) => [name, calls, errors, first, last])).toEqual([
      ["a", 2, 0, 2, 0],
      ["b", 4, 0, 1, 1],
      ["bad", 1, 1, 0, 1],
      ["c", 1, 0, 0, 1],
    ]);
  });

  it("has each edge with its count, a tool's to itself too", () => {
    const named = graph.edges.map(([from, to, count]) => [graph.tools[from]?.name, graph.tools[to]?.name, count]);
    expect(named).toEqual([
      ["a", "b", 2],
      ["b", "b", 1],
      ["b", "bad", 1],
      ["b", "c", 1],
    ]);
  });

  it("keeps the argument patterns of a tool, and real arguments", () => {
    expect(node("b")?.invocations).toEqual([
      { keys: [], calls: 3, errors: 0, arguments: [{ value: {}, count: 3 }] },
      { keys: ["n"], calls: 1, errors: 0, arguments: [{ value: { n: 1 }, count: 1 }] },
    ]);
  });

  it("keeps so many examples of arguments, the most frequent", () => {
    const steps = [3, 3, 3, 1, 2, 2].map((n) => ({ tool: "a", arguments: { n } }));
    const [tool] = buildGraph([trajectory.parse({ id: "x", task: "x", reference: steps })], { examples: 2 }).tools;
    expect(tool?.invocations[0]?.arguments).toEqual([
      { value: { n: 3 }, count: 3 },
      { value: { n: 2 }, count: 2 },
    ]);
  });

  it("counts a tool that follows itself once, where it is asked to", () => {
    const without = buildGraph(paths, { deduplicate: true });
    expect(without.tools.find(({ name }) => name === "b")?.calls).toBe(3);
    expect(without.edges).toHaveLength(3);
  });

  it("has statistics that are worked by hand", () => {
    // From a: b twice. From b: b, bad, c once each, ln 3 nats, over 3 of the 5 transitions.
    expect(statisticsOf(graph)).toEqual({
      trajectories: 3,
      tools: 4,
      calls: 8,
      errorShare: 1 / 8,
      edges: 4,
      transitions: 5,
      selfShare: 1 / 5,
      starts: 2,
      stops: 3,
      patterns: 5,
      steps: { min: 2, mean: 8 / 3, max: 3 },
      entropy: expect.closeTo((3 / 5) * Math.log(3), 12) as number,
      perplexity: expect.closeTo(3 ** 0.6, 12) as number,
      bigramTop1: 3 / 5,
    });
  });

  it("of nothing is empty, and has no numbers that are none", () => {
    const nothing = statisticsOf(buildGraph([]));
    expect(nothing).toMatchObject({ tools: 0, transitions: 0, entropy: 0, bigramTop1: 0 });
    for (const value of Object.values(nothing)) if (typeof value === "number") expect(value).not.toBeNaN();
    expect(dotOf(buildGraph([]))).toMatch(/^digraph tools \{[^>]*\}\n$/);
  });

  it("comes back from its JSON as it was", () => {
    expect(readGraph(JSON.parse(JSON.stringify(graph)))).toEqual(graph);
    expect(graphFile.parse(graph)).toEqual(graph);
  });

  it("is shown to a person, and to Graphviz", () => {
    const text = summaryOf(graph, 2);
    expect(text).toMatch(/^3 trajectories of 2 to 3 steps \(mean 2\.67\), 8 calls, 12\.5 % failed\n/);
    expect(text).toMatch(/\n {2}4 {2}b {2}\(no arguments: 3; n: 1\)\n/);
    expect(text).toMatch(/\n {2}2 {2}a → b\n/);
    const dot = dotOf(buildGraph([path('say"hi" b')]));
    expect(dot).toContain('[label="say\\"hi\\""]');
    expect(dotOf(graph, 2).match(/->.*/g)).toEqual(['-> t0 [label="2", weight=2];', '-> t1 [label="2", weight=2];']);
  });
});

describe("graphs of others", () => {
  const variant = (name: string, original: string, keys: string[], calls: number, next: Record<string, number>) => ({
    id: 0,
    name,
    original_name: original,
    description: "Does it.",
    params: Object.fromEntries(keys.map((key) => [key, { type: "string", required: true, description: "" }])),
    actual_keys: keys,
    call_count: calls,
    next_tools: next,
  });

  it("with a tool's variants apart are merged, and their transitions counted once", () => {
    const next = { "fs-read": 3, "fs-write": 1 };
    const graph = readGraph({
      tools: [
        variant("fs-read", "fs-read", ["path"], 5, next),
        variant("fs-read_v1", "fs-read", ["path", "head"], 2, next),
        variant("fs-write", "fs-write", ["path"], 1, { "fs-read_v1": 4, nobody: 9 }),
      ],
    });
    expect(graph.tools.map(({ name, calls }) => [name, calls])).toEqual([
      ["fs-read", 7],
      ["fs-write", 1],
    ]);
    expect(graph.edges).toEqual([
      [0, 0, 3],
      [0, 1, 1],
      [1, 0, 4],
    ]);
    expect(graph.tools[0]?.invocations.map(({ keys, calls }) => [keys, calls])).toEqual([
      [["path"], 5],
      [["path", "head"], 2],
    ]);
    // Only what every variant has is required.
    expect(graph.tools[0]?.inputSchema).toEqual({
      type: "object",
      properties: { path: { type: "string" }, head: { type: "string" } },
      required: ["path"],
    });
  });

  it("with their variants merged are read as they are", () => {
    const graph = readGraph({
      tools: [{ name: "a", calls: 3, invocations: [{ keys: ["x"], count: 3 }] }],
      edges: [[0, 0, 2]],
    });
    expect(graph.edges).toEqual([[0, 0, 2]]);
    expect(statisticsOf(graph)).toMatchObject({ tools: 1, calls: 3, transitions: 2, selfShare: 1 });
  });

  it.each([
    [{}, /tools/],
    [[], /not a tool graph/],
    [{ tools: [{ name: "a", calls: 1 }], edges: [[0, 5, 1]] }, /edge \[0, 5, 1\] leads to no tool/],
    [{ format: "trailgym-graph-1", tools: 5 }, /tools/],
  ])("that are none are refused: %j", (document, reason) => {
    expect(() => readGraph(document)).toThrow(reason);
  });
});

describe("a shuffle", () => {
  it.each([
    // random.Random(seed).shuffle(list(range(n))) of CPython 3.11
    [20, 42, [19, 5, 14, 4, 9, 13, 15, 18, 6, 12, 17, 10, 1, 11, 2, 16, 7, 8, 0, 3]],
    [12, 2 ** 40 + 7, [0, 5, 2, 3, 6, 1, 8, 4, 7, 11, 10, 9]],
    [1, 0, [0]],
    [0, 0, []],
  ])("of %d items by seed %d is Python's", (length, seed, wanted) => {
    expect(
      shuffled(
        Array.from({ length }, (_, i) => i),
        seed,
      ),
    ).toEqual(wanted);
  });

  it("goes on beyond one twist of the generator", () => {
    expect(
      shuffled(
        Array.from({ length: 1500 }, (_, i) => i),
        0,
      ).slice(0, 12),
    ).toEqual([835, 1326, 876, 1348, 601, 131, 76, 797, 1144, 234, 1006, 14]);
  });

  it("uses every bit of the generator, where a list is that long", () => {
    const many = Array.from({ length: 600_000 }, (_, i) => i);
    expect(shuffled(many, 9).slice(0, 6)).toEqual([463286, 268180, 117105, 163469, 162627, 576783]);
  });

  it("loses nothing and leaves the list alone", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.nat(), (items, seed) => {
        const before = [...items];
        const sorted = (list: number[]) => list.toSorted((a, b) => a - b);
        expect(sorted(shuffled(items, seed))).toEqual(sorted(items));
        expect(items).toEqual(before);
      }),
    );
  });
});

describe("a split", () => {
  const all = Array.from({ length: 50 }, (_, i) =>
    path(`t${i % 10} u${i % 10}`, { id: `x${i}`, task: `Do ${i % 25}.` }),
  );

  it.each(["chain", "query", "task"] as const)("by %s takes each task once and tears no group apart", (by) => {
    const { train, test } = splitTrajectories(all, { by, seed: 3 });
    expect(new Set([...train, ...test]).size).toBe(50);
    expect(train.length + test.length).toBe(50);
    const keyOf = { chain: chainOf, query: ({ task }: Trajectory) => task, task: ({ id }: Trajectory) => id }[by];
    const seen = new Set(train.map(keyOf));
    expect(test.filter((one) => seen.has(keyOf(one)))).toEqual([]);
    expect(test.length).toBeGreaterThan(0);
  });

  it("is by chain unless told otherwise, of 80 to 20, and the same for the same seed", () => {
    const { train, test } = splitTrajectories(all);
    expect([train.length, test.length]).toEqual([40, 10]);
    expect(splitTrajectories(all)).toEqual({ train, test });
    expect(splitTrajectories(all, { seed: 1 }).test).not.toEqual(test);
    expect(
      splitTrajectories([...all].reverse())
        .test.map(chainOf)
        .toSorted(),
    ).toEqual(test.map(chainOf).toSorted());
  });

  it("takes a task's own word for its chain, else its tools", () => {
    expect(chainOf(path("a b", { chain: "mine" }))).toBe("mine");
    expect(chainOf(path("a b"))).not.toBe(chainOf(path("a b c")));
  });

  it("can be the one that the tasks bring", () => {
    const [one, two, three] = [path("a"), path("b", { split: "test" }), path("c", { split: "train" })] as const;
    expect(splitTrajectories([one, two, three], { by: "given" })).toEqual({ train: [one, three], test: [two] });
  });
});
