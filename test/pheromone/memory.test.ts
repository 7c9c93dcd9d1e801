import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { Memory } from "../../pheromone/memory.ts";
import { Recall, TaskMatrix, unitOf } from "../../pheromone/tasks.ts";

/** Directions in the plane, no two alike. */
const taskOf = (n: number) => unitOf([Math.cos(n), Math.sin(n)]) as Float64Array;

describe("a memory", () => {
  let matrix: TaskMatrix;
  let memory: Memory;
  beforeEach(() => ([matrix, memory] = [new TaskMatrix(), new Memory()]));

  const write = (task: number, quality: number, capacity = 3) => {
    const row = matrix.take(taskOf(task));
    memory.write(row, quality, capacity, matrix);
    matrix.release(row);
  };
  /** [task, quality] in the memory's order. */
  const held = (tasks: number): [number, number][] => {
    const numbers = Array.from({ length: tasks }, (_, n) => n);
    return [...memory.tasks.subarray(0, memory.size)].map((row, i) => {
      const unit = matrix.row(row);
      const task = numbers.find((n) => taskOf(n).every((x, k) => x === unit[k])) as number;
      return [task, memory.qualities[i] as number];
    });
  };

  test("has one entry a task, with its best quality", () => {
    write(0, 0.5);
    write(0, 0.9);
    write(0, 0.7);
    expect(held(1)).toEqual([[0, 0.9]]);
  });

  test("gives way at the lowest quality, and keeps out what is lower still", () => {
    for (const [task, quality] of [
      [0, 0.5],
      [1, 0.4],
      [2, 0.9],
      [3, 0.6],
      [4, 0.3],
    ] as const)
      write(task, quality);
    expect(held(5)).toEqual([
      [0, 0.5],
      [2, 0.9],
      [3, 0.6],
    ]);
  });

  test("of equals lets the older go", () => {
    for (const task of [0, 1, 2, 3, 4]) write(task, 0.5);
    expect(held(5).map(([task]) => task)).toEqual([2, 3, 4]);
  });

  test("forgets what has decayed below the limit, and frees its task for another", () => {
    write(0, 0.3);
    write(1, 0.9);
    memory.decay(0.5, 0.2, matrix);
    expect(held(2)).toEqual([[1, 0.45]]);
    expect(matrix.free).toEqual([0]);
    write(2, 0.8);
    expect(matrix.size).toBe(2);
    expect(held(3)).toEqual([
      [1, 0.45],
      [2, 0.8],
    ]);
  });

  test("after any writes and decays holds the best of all tasks, each at its best, and rows only for them", () => {
    const event = fc.oneof(
      { weight: 6, arbitrary: fc.record({ task: fc.nat(11), quality: fc.double({ min: 0, max: 1, noNaN: true }) }) },
      { weight: 1, arbitrary: fc.constant("decay" as const) },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 80 }), fc.integer({ min: 1, max: 6 }), (events, capacity) => {
        [matrix, memory] = [new TaskMatrix(), new Memory()];
        let best = new Map<number, number>();
        for (const each of events) {
          if (each === "decay") {
            memory.decay(0.9, 0.2, matrix);
            best = new Map([...best].map(([task, q]) => [task, q * 0.9] as const).filter(([, q]) => q >= 0.2));
          } else {
            write(each.task, each.quality, capacity);
            best.set(each.task, Math.max(best.get(each.task) ?? 0, each.quality));
          }
          // Pruned by size in the model too: a task that was pushed out does not come back when others decay.
          const sorted = [...best].sort(([, a], [, b]) => b - a);
          const limit = sorted[capacity - 1]?.[1] ?? 0;
          best = new Map([...best].filter(([, q]) => q >= limit));
          const qualities = held(12).map(([, q]) => q);
          expect(qualities.toSorted()).toEqual(
            sorted
              .slice(0, capacity)
              .map(([, q]) => q)
              .toSorted(),
          );
          expect(new Set(held(12).map(([task]) => task)).size).toBe(memory.size);
          for (const [task, q] of held(12)) expect(q).toBe(best.get(task));
          expect(matrix.size - matrix.free.length).toBe(memory.size);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("a task matrix", () => {
  test("has a row for each distinct embedding, whatever its length was", () => {
    const matrix = new TaskMatrix();
    const rows = [
      [3, 4],
      [6, 8],
      [4, 3],
    ].map((embedding) => matrix.take(unitOf(embedding) as Float64Array));
    expect(rows).toEqual([0, 0, 1]);
    expect([...matrix.row(0)]).toEqual([0.6, 0.8]);
  });

  test("tells apart tasks whose keys are equal", () => {
    // Both have the key 0·1 + … of the same sum: (1, 2, 3) · (2, −1, 0) = 0 = (1, 2, 3) · (3, 0, −1).
    const matrix = new TaskMatrix();
    const rows = [
      [2, -1, 0],
      [-2, 1, 0],
      [3, 0, -1],
    ].map((each) => matrix.take(unitOf(each) as Float64Array));
    expect(rows).toEqual([0, 1, 2]);
    matrix.release(1);
    expect(matrix.take(unitOf([2, -1, 0]) as Float64Array)).toBe(0);
    expect(matrix.take(unitOf([3, 0, -1]) as Float64Array)).toBe(2);
  });

  test("holds embeddings of one length", () => {
    const matrix = new TaskMatrix();
    matrix.take(unitOf([1, 0]) as Float64Array);
    expect(() => matrix.take(unitOf([1, 0, 0]) as Float64Array)).toThrow(/3 numbers among such of 2/);
  });

  test("keeps its rows while it grows", () => {
    const matrix = new TaskMatrix();
    for (let n = 0; n < 100; n++) matrix.take(taskOf(n));
    for (let n = 0; n < 100; n++) expect([...matrix.row(n)]).toEqual([...taskOf(n)]);
  });
});

describe("an embedding", () => {
  test("of zeros has no direction, one of infinities is refused, and large ones do not overflow, nor small ones vanish", () => {
    expect(unitOf([0, 0])).toBeUndefined();
    expect(() => unitOf([1, NaN])).toThrow(RangeError);
    expect(() => unitOf([1, -Infinity])).toThrow(RangeError);
    for (const scale of [1e200, 1e-200]) {
      const unit = unitOf([3 * scale, 4 * scale]) ?? new Float64Array();
      expect(unit[0]).toBeCloseTo(0.6, 12);
      expect(unit[1]).toBeCloseTo(0.8, 12);
    }
  });
});

test("a recall follows the matrix, and computes nothing while that stays", () => {
  const matrix = new TaskMatrix();
  const recall = new Recall(unitOf([1, 0]) as Float64Array);
  matrix.take(unitOf([3, 4]) as Float64Array);
  recall.refresh(matrix, 0.5);
  expect([[...recall.similarity], [...recall.active]]).toEqual([[0.6], [1]]);
  recall.similarity[0] = 7;
  recall.refresh(matrix, 0.5);
  expect(recall.similarity[0]).toBe(7);
  matrix.take(unitOf([4, -3]) as Float64Array);
  matrix.take(unitOf([3, 9]) as Float64Array);
  recall.refresh(matrix, 0.5);
  expect([[...recall.similarity], [...recall.active]]).toEqual([
    [0.6, 0.8, 0],
    [1, 1, 0],
  ]);
});
