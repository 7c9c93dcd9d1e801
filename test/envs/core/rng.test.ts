import fc from "fast-check";
import { nextSeed, rng } from "trailgym/env";
import { describe, expect, test } from "vitest";
import { philox } from "../../../envs/core/rng.ts";

type Four = readonly [number, number, number, number];
type Two = readonly [number, number];

/** Random123's kat_vectors: philox4x32 10 rounds. */
const known: [string, Four, Two, Four][] = [
  ["zeros", [0, 0, 0, 0], [0, 0], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]],
  [
    "ones",
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    [0xffffffff, 0xffffffff],
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  ],
  [
    "digits of pi",
    [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    [0xa4093822, 0x299f31d0],
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  ],
];

/** Written from the paper's figure with whole 64-bit products, to share nothing with the code under test. */
function philoxByBigInt(counter: Four, key: Two): Four {
  const mask = 0xffff_ffffn;
  let [a, b, c, d] = counter.map(BigInt) as [bigint, bigint, bigint, bigint];
  let [k, l] = key.map(BigInt) as [bigint, bigint];
  for (let round = 0; round < 10; round++) {
    const p = 0xd251_1f53n * a;
    const q = 0xcd9e_8d57n * c;
    [a, b, c, d] = [(q >> 32n) ^ b ^ k, q & mask, (p >> 32n) ^ d ^ l, p & mask];
    [k, l] = [(k + 0x9e37_79b9n) & mask, (l + 0xbb67_ae85n) & mask];
  }
  return [Number(a), Number(b), Number(c), Number(d)];
}

const uint32 = fc.integer({ min: 0, max: 0xffff_ffff });
const seed = fc.maxSafeNat();

describe("philox", () => {
  test.each(known)("gives the published block for %s", (_name, counter, key, block) => {
    expect(philox(counter, key)).toEqual(block);
    expect(philoxByBigInt(counter, key)).toEqual(block);
  });

  test("is Philox4x32-10 for any counter and key", () => {
    fc.assert(
      fc.property(uint32, uint32, uint32, uint32, uint32, uint32, (a, b, c, d, k, l) => {
        expect(philox([a, b, c, d], [k, l])).toEqual(philoxByBigInt([a, b, c, d], [k, l]));
      }),
    );
  });
});

/** Pearson's χ² of counts against equal ones. */
function chiSquare(counts: readonly number[]): number {
  const expected = counts.reduce((sum, n) => sum + n, 0) / counts.length;
  return counts.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
}

/** Upper 1e-6 quantile of χ² by Wilson and Hilferty: seeds are fixed, so a pass stays a pass. */
function limit(cells: number): number {
  const k = cells - 1;
  return k * (1 - 2 / (9 * k) + 4.753 * Math.sqrt(2 / (9 * k))) ** 3;
}

function tally(cells: number, draws: number, draw: () => number): number[] {
  const counts = Array<number>(cells).fill(0);
  for (let i = 0; i < draws; i++) counts[draw()]!++;
  return counts;
}

describe("draws", () => {
  test.each([0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER])("of seed %i are uniform", (n) => {
    const source = rng(n);
    expect(chiSquare(tally(100, 100_000, () => Math.floor(source.float() * 100)))).toBeLessThan(limit(100));
    expect(chiSquare(tally(7, 70_000, () => source.int(-3, 3) + 3))).toBeLessThan(limit(7));
    expect(chiSquare(tally(24, 48_000, () => orders.indexOf(source.shuffle("abcd".split("")).join(""))))).toBeLessThan(
      limit(24),
    );
  });

  const orders = permutations("abcd");

  test("of the first float of neighbouring seeds, streams and forks are uniform too", () => {
    const firsts: [string, (i: number) => number][] = [
      ["seeds", (i) => rng(i).float()],
      ["streams", (i) => rng(7, i).float()],
      ["forks", (i) => rng(7).fork(i).float()],
      ["next seeds", (i) => rng(nextSeed(i, 1)).float()],
    ];
    for (const [name, first] of firsts) {
      let i = 0;
      expect(chiSquare(tally(50, 20_000, () => Math.floor(first(i++) * 50))), name).toBeLessThan(limit(50));
    }
  });

  test("of two streams of one seed, of two seeds, and of a fork and its parent are independent", () => {
    const pairs = [
      [rng(3, 0), rng(3, 1)],
      [rng(3), rng(4)],
      [rng(3), rng(3).fork(0)],
      [rng(3).fork(0), rng(3).fork(1)],
      [rng(3, 1).fork(5), rng(3, 5).fork(1)],
    ] as const;
    for (const [a, b] of pairs) {
      const joint = tally(100, 100_000, () => a.int(0, 9) * 10 + b.int(0, 9));
      expect(chiSquare(joint)).toBeLessThan(limit(100));
    }
  });

  test("are as a normal distribution has them", () => {
    const source = rng(11);
    const draws = Array.from({ length: 100_000 }, () => source.normal());
    const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
    const variance = draws.reduce((sum, x) => sum + (x - mean) ** 2, 0) / draws.length;
    const beyond2 = draws.filter((x) => Math.abs(x) > 1.959964).length / draws.length;
    expect(mean).toBeCloseTo(0, 1);
    expect(variance).toBeCloseTo(1, 1);
    expect(beyond2).toBeCloseTo(0.05, 2);
    expect(draws.every(Number.isFinite)).toBe(true);
  });
});

function permutations(letters: string): string[] {
  if (letters.length <= 1) return [letters];
  return [...letters].flatMap((first) => permutations(letters.replace(first, "")).map((rest) => first + rest));
}

describe("a generator", () => {
  test("repeats itself from the same seed and stream, and knows nothing of others that ran beside it", () => {
    fc.assert(
      fc.property(seed, uint32, (n, stream) => {
        const alone = Array.from({ length: 9 }, take(rng(n, stream)));
        const [a, b] = [rng(n, stream), rng(n, stream)];
        expect(Array.from({ length: 9 }, () => (b.float(), a.float()))).toEqual(alone);
      }),
    );
  });

  test("tells seeds apart that agree in their low 32 bits", () => {
    expect(rng(5).float()).not.toBe(rng(5 + 2 ** 32).float());
    expect(rng(5).float()).not.toBe(rng(5 + 2 ** 52).float());
  });

  test("forks without drawing: a fork does not depend on what was drawn, nor the parent on its forks", () => {
    const [a, b] = [rng(9, 2), rng(9, 2)];
    b.float();
    const fork = b.fork(4);
    fork.float();
    expect(a.fork(4).float()).toBe(rng(9, 2).fork(4).float());
    expect(a.fork(4).float()).toBe(b.fork(4).float());
    a.float();
    expect(a.float()).toBe(b.float());
  });

  test("forks of forks differ from each other and from their parents", () => {
    const root = rng(1);
    const firsts = [root, root.fork(0), root.fork(1), root.fork(0).fork(1), root.fork(1).fork(0), root.fork(0).fork(0)];
    expect(new Set(firsts.map((each) => each.float())).size).toBe(firsts.length);
  });

  test("gives floats in [0, 1)", () => {
    fc.assert(
      fc.property(seed, uint32, (n, stream) => {
        const x = rng(n, stream).float();
        expect(x >= 0 && x < 1).toBe(true);
      }),
    );
  });

  test("gives integers within their bounds, both ends included", () => {
    const bound = fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 });
    fc.assert(
      fc.property(seed, bound, bound, (n, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const x = rng(n).int(low, high);
        expect(Number.isSafeInteger(x) && x >= low && x <= high).toBe(true);
      }),
    );
    const source = rng(0);
    expect(new Set(Array.from({ length: 100 }, () => source.int(4, 6)))).toEqual(new Set([4, 5, 6]));
    expect(source.int(5, 5)).toBe(5);
  });

  test.each<[number, number]>([
    [1, 0],
    [0, 1.5],
    [0.5, 2.5],
    [NaN, 1],
    [0, Infinity],
  ])("refuses integers from %d to %d", (low, high) => expect(() => rng(0).int(low, high)).toThrow(RangeError));

  test.each([-1, 0.5, NaN, 2 ** 53])("refuses the seed %d", (n) => expect(() => rng(n)).toThrow(RangeError));

  test("chooses only what is there, and says so when nothing is", () => {
    const source = rng(0);
    expect(new Set(Array.from({ length: 60 }, () => source.choice(["a", "b", "c"])))).toEqual(new Set(["a", "b", "c"]));
    expect(() => source.choice([])).toThrow(RangeError);
  });

  test("shuffles a copy", () => {
    const items = Object.freeze([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(rng(0).shuffle(items).toSorted()).toEqual(items);
    expect(rng(0).shuffle([])).toEqual([]);
  });
});

test("next seeds are seeds, differ from episode to episode, and follow from the seed alone", () => {
  fc.assert(
    fc.property(seed, uint32, (n, episode) => {
      const next = nextSeed(n, episode);
      expect(Number.isSafeInteger(next) && next >= 0).toBe(true);
      expect(nextSeed(n, episode)).toBe(next);
    }),
  );
  expect(new Set(Array.from({ length: 1000 }, (_, episode) => nextSeed(1, episode))).size).toBe(1000);
});

function take(source: { float(): number }): () => number {
  return () => source.float();
}
