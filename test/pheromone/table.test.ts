import fc from "fast-check";
import { type Deposit, edgesOf, load, PheromoneTable, type PheromoneConfig, save, START } from "trailgym/pheromone";
import { describe, expect, test } from "vitest";
import { anyDeposit } from "./arbitrary.ts";

const path = (tools: string[], more: Partial<Deposit> = {}): Deposit => ({
  ...{ tools, quality: 1, deposit: true, remember: false },
  ...more,
});
const tableOf = (config: PheromoneConfig, ...rounds: Deposit[][]) => {
  const table = new PheromoneTable(config);
  for (const deposits of rounds) table.round(deposits);
  return table;
};
const tau = (table: PheromoneTable, from: string, to: string) => table.row({ from, candidates: [to] }).tau[0];

describe("the edges of a path", () => {
  test("lead from START from tool to tool, and from tools to invocations, each once", () => {
    const deposit = { tools: ["a", "b", "a", "b"], patterns: ["x,y", null, "x,y", "z"] };
    expect(edgesOf(deposit, "tool")).toEqual([
      [START, "a"],
      ["a", "b"],
      ["b", "a"],
    ]);
    expect(edgesOf(deposit, "argument")).toEqual([
      ["a", "x,y"],
      ["b", "z"],
    ]);
    expect(edgesOf({ tools: [] }, "tool")).toEqual([]);
  });
});

describe("a round", () => {
  test("adds what its trajectories deposit, each edge once a trajectory, each level at its own rate", () => {
    const [one, two] = [
      path(["a", "b", "a", "b"], { patterns: ["x", "y", "x", null] }),
      path(["a", "c"], { quality: 0.5 }),
    ];
    const table = tableOf({}, [one, two]);
    expect(tau(table, START, "a")).toBeCloseTo(0.99 + 0.5 * 1.5, 12);
    expect(tau(table, "a", "b")).toBeCloseTo(0.99 + 0.5, 12);
    expect(tau(table, "a", "c")).toBeCloseTo(0.99 + 0.25, 12);
    expect(tau(table, "b", "c")).toBeCloseTo(0.99, 12);
    const row = table.row({ level: "argument", from: "a", candidates: ["x", "y"] });
    expect([...row.tau]).toEqual([expect.closeTo(0.995 + 0.3, 12), expect.closeTo(0.995, 12)]);
  });

  test("clips once, after all of its deposits", () => {
    const table = tableOf(
      { max: 2 },
      Array.from({ length: 9 }, () => path(["a"])),
    );
    expect(tau(table, START, "a")).toBe(2);
  });

  test("without deposits evaporates all the same", () => {
    const table = tableOf({}, [path(["a"])], [], []);
    expect(tau(table, START, "a")).toBeCloseTo((0.99 + 0.5) * 0.99 ** 2, 12);
    expect(table.rounds).toBe(3);
  });

  test("leaves nothing of one that could not be taken", () => {
    const table = tableOf({}, [path(["a"], { remember: true, embedding: [1, 0] })]);
    const before = save(table);
    for (const bad of [
      path(["b"], { quality: NaN }),
      path(["b"], { quality: 1.5 }),
      path(["b", ""]),
      path(["b"], { patterns: ["x", "y"] }),
      path(["b"], { embedding: [1, 0, 0] }),
      path(["b"], { embedding: [1, NaN] }),
    ]) {
      expect(() => table.round([path(["c"]), bad])).toThrow(RangeError);
      expect(() => table.offer(bad)).toThrow(RangeError);
      expect(save(table)).toBe(before);
    }
  });

  test("takes embeddings of one length from the first on, though nothing is remembered before it closes", () => {
    const of = (embedding: number[]) => path(["a"], { remember: true, embedding });
    const table = new PheromoneTable({ roundSize: null });
    expect(() => table.round([of([1, 0]), of([1, 0, 0])])).toThrow(/one text encoder/);
    expect(save(table)).toBe(save(new PheromoneTable({ roundSize: null })));
    table.offer(of([1, 0]));
    expect(() => table.offer(of([1, 0, 0]))).toThrow(/one text encoder/);
    const loaded = load(save(table));
    expect(() => loaded.offer(of([1, 0, 0]))).toThrow(/one text encoder/);
    table.close();
    expect(table.tasks.dimension).toBe(2);
  });

  test("does not depend on the order in which its deposits came: not in one byte", () => {
    // So alike that sums, ties and names' numbers would all show an order.
    const alike: fc.Arbitrary<Deposit> = fc.record({
      tools: fc.constantFrom(["a", "b"], ["b", "a"]),
      patterns: fc.constantFrom(["x", "y"], ["y", "x"], [null, "z"]),
      quality: fc.constantFrom(0.1, 0.2, 0.3, 0.7),
      deposit: fc.constant(true),
      remember: fc.constant(true),
      embedding: fc.constantFrom([1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 0]),
    });
    const some = fc.array(fc.oneof(anyDeposit, alike), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(some, { minLength: 1, maxLength: 4 }), fc.infiniteStream(fc.nat()), (rounds, order) => {
        const config = { memory: { capacity: 2 }, roundSize: null };
        const inOrder = tableOf(config, ...rounds);
        const shuffled = new PheromoneTable(config);
        for (const deposits of rounds) {
          const rest = [...deposits];
          while (rest.length > 0) shuffled.offer(rest.splice(order.next().value! % rest.length, 1)[0]!);
          shuffled.close();
        }
        expect(save(shuffled)).toBe(save(inOrder));
      }),
      { numRuns: 200 },
    );
  });

  test("does not depend on it where deposits differ in quality only, and a sum of floats would", () => {
    expect(0.1 + 0.2 + 0.3).not.toBe(0.3 + 0.2 + 0.1);
    const of = (...qualities: number[]) =>
      save(
        tableOf(
          { tool: { rho: 1, alpha: 1 } },
          qualities.map((quality) => path(["a"], { quality })),
        ),
      );
    expect(of(0.3, 0.2, 0.1)).toBe(of(0.1, 0.2, 0.3));
  });

  test("ends by itself after as many offers as it is large, those without a deposit included", () => {
    const table = new PheromoneTable({ roundSize: 3 });
    table.offer(path(["a"]));
    table.offer(path(["a"], { deposit: false }));
    expect([table.version, table.offers, tau(table, START, "a")]).toEqual([0, 2, 1]);
    table.offer(path(["a"]));
    expect([table.version, table.offers]).toEqual([1, 0]);
    expect(tau(table, START, "a")).toBeCloseTo(0.99 + 1, 12);
    expect(table.counts).toEqual({ offered: 3, deposited: 2, remembered: 0 });
  });

  test("keeps what was offered, whatever the caller does with it afterwards", () => {
    const table = new PheromoneTable({ roundSize: null });
    const [tools, embedding] = [["a"], [1, 0]];
    table.offer(path(tools, { remember: true, embedding }));
    tools[0] = "b";
    embedding[0] = -1;
    table.close();
    expect([...table.tools]).toEqual(["a"]);
    expect([...table.tasks.row(0)]).toEqual([1, 0]);
  });
});

describe("a row", () => {
  const remembered = path(["a", "b"], { remember: true, embedding: [1, 0], patterns: ["x", "y"] });

  test("stays within the limits whatever was deposited and remembered, and is finite", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyDeposit, { maxLength: 5 }), { maxLength: 12 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom("paper" as const, "code" as const),
        (rounds, w, form) => {
          const table = tableOf({ max: 3, fusion: { scale: form, confidence: form, mixture: form } }, ...rounds);
          const recall = table.recall([0.3, -0.2, 1]);
          for (const level of ["tool", "argument"] as const) {
            for (const from of [START, ..."abcd"]) {
              const row = table.row({ level, from, candidates: [..."abcd", "x", "y"], recall, w });
              for (let i = 0; i < 6; i++) {
                expect(row.tau[i]).toBeGreaterThanOrEqual(0.5);
                expect(row.tau[i]).toBeLessThanOrEqual(3);
                expect(row.bias[i]).toBe(Math.log(row.tau[i]!));
                expect(row.confidence[i]! >= 0 && row.confidence[i]! <= 1).toBe(true);
              }
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("asks the memory of like tasks only, on both levels", () => {
    const table = tableOf({ w: 1 }, [remembered]);
    const plain = table.row({ from: "a", candidates: ["b"] });
    const like = table.row({ from: "a", candidates: ["b"], recall: table.recall([1, 0.1]) });
    const unlike = table.row({ from: "a", candidates: ["b"], recall: table.recall([0, 1]) });
    expect(like.tau[0]).toBeGreaterThan(5 * plain.tau[0]!);
    expect(unlike.tau[0]).toBe(plain.tau[0]);
    const query = { level: "argument" as const, from: "a", candidates: ["x"], recall: table.recall([1, 0]) };
    expect(table.row(query).share[0]).toBe(0.5);
    const withoutArguments = tableOf({ w: 1, memory: { argument: false } }, [remembered]);
    expect(withoutArguments.row({ ...query, recall: withoutArguments.recall([1, 0]) }).share[0]).toBe(0);
  });

  test("is task-agnostic with w = 0, and for an embedding that says nothing", () => {
    const table = tableOf({ w: 0 }, [remembered]);
    const plain = table.row({ from: "a", candidates: ["b"] });
    expect(table.row({ from: "a", candidates: ["b"], recall: table.recall([1, 0]) }).tau).toEqual(plain.tau);
    expect(table.recall([0, 0])).toBeUndefined();
    expect(table.row({ from: "a", candidates: ["b"], recall: undefined, w: 1 }).tau).toEqual(plain.tau);
  });

  test("takes w from the schedule, which counts verified trajectories by default", () => {
    const table = tableOf({}, [remembered]);
    const query = { from: "a", candidates: ["b"], recall: table.recall([1, 0]) };
    const share = (w: number) => table.row({ ...query, w }).share[0];
    expect(table.w).toBeCloseTo(0.2 + 0.3 / 1000, 12);
    expect(table.row(query).share[0]).toBe(share(table.w));
    const byEpoch = tableOf({ w: { kind: "linear", from: 0, to: 1, over: 10, unit: "epoch" } }, [remembered]);
    byEpoch.epoch = 5;
    expect(byEpoch.w).toBe(0.5);
  });

  test("knows a memory that was written after the episode began", () => {
    const table = new PheromoneTable({ w: 1 });
    const recall = table.recall([1, 0]);
    table.round([remembered]);
    expect(table.row({ from: "a", candidates: ["b"], recall }).share[0]).toBe(0.5);
  });

  test("refuses an embedding of another length, also when it came before the first", () => {
    const table = new PheromoneTable();
    const early = table.recall([1, 0, 0]);
    table.round([remembered]);
    expect(() => table.recall([1, 0, 0])).toThrow(/table belongs to one text encoder/);
    expect(() => table.row({ candidates: ["a"], recall: early })).toThrow(RangeError);
  });

  test("guides the first step, unless it is not to", () => {
    const first = (config: PheromoneConfig) => tableOf(config, [path(["a", "b"])]).row({ candidates: ["a", "b"] });
    expect(first({}).bias[0]).toBeCloseTo(Math.log(1.49), 12);
    expect([...first({ guideFirst: false }).bias]).toEqual([0, 0]);
    const second = tableOf({ guideFirst: false }, [path(["a", "b"])]).row({ from: "a", candidates: ["b"] });
    expect(second.bias[0]).toBeCloseTo(Math.log(1.49), 12);
  });

  test("changes nothing by being asked for", () => {
    const table = tableOf({}, [remembered]);
    const before = save(table);
    table.row({ from: "nowhere", candidates: ["nothing", "b"], recall: table.recall([0.5, 0.5]) });
    expect(save(table)).toBe(before);
  });
});

describe("memories", () => {
  test("decay in each round and go at last, and their tasks with them", () => {
    const table = tableOf({ memory: { decay: 0.5, forget: 0.2 } }, [
      path(["a"], { remember: true, embedding: [1, 0], quality: 0.9 }),
    ]);
    const quality = () => table.tool.rows.get(START)?.get("a")?.memory?.qualities[0];
    expect(quality()).toBe(0.9);
    table.round([]);
    table.round([]);
    expect(quality()).toBe(0.225);
    table.round([]);
    expect(quality()).toBeUndefined();
    expect(table.tasks.free).toEqual([0]);
  });

  test("of an edge without a deposit leave its trail as it was", () => {
    const table = tableOf({}, [], [path(["a"], { deposit: false, remember: true, embedding: [1, 0] })], [], []);
    expect(tau(table, START, "a")).toBeCloseTo(table.tool.untouched(), 14);
    expect(load(save(table)).tool.rows.get(START)?.get("a")?.memory?.size).toBe(1);
    expect(table.counts).toEqual({ offered: 1, deposited: 0, remembered: 1 });
  });
});

test.each([
  [{ min: 2, initial: 1 }],
  [{ max: 0.9 }],
  [{ min: 0 }],
  [{ tool: { rho: 1.5 } }],
  [{ memory: { capacity: 0 } }],
  [{ rounds: 3 }],
])("options without sense are refused: %j", (config) => {
  expect(() => new PheromoneTable(config as PheromoneConfig)).toThrow();
});
