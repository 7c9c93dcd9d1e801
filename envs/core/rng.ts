/**
 * A counter-based random generator: the n-th number is a pure function of (seed, stream, n), so nothing has to be stored,
 * and a forked or replayed step draws the same numbers. Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy
 * as 1, 2, 3" (SC'11).
 */

export interface Rng {
  /** Uniform in [0, 1), 53 bits. */
  float(): number;
  /** A uniform integer, both ends included; `min` ≤ `max`, safe integers. */
  int(min: number, max: number): number;
  /** Standard normal (Box-Muller). */
  normal(): number;
  /** One element of a non-empty list. */
  choice<T>(items: readonly T[]): T;
  /** A shuffled copy (Fisher-Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** An independent generator for a part of the work; the same key gives the same generator. */
  fork(key: number): Rng;
}

/** @param seed safe integer ≥ 0. @param stream which of the seed's sequences, uint32; the engine uses the step's index. */
export function rng(seed: number, stream = 0, branch = 0): Rng {
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`a seed is a safe integer from 0, not ${seed}`);
  const key: Pair = [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0];
  let block = 0;
  let words: readonly number[] = [];
  const word = () => {
    if (words.length === 0) words = philox([block++ >>> 0, 0, stream >>> 0, branch >>> 0], key);
    const [first, ...rest] = words;
    words = rest;
    return first as number;
  };
  const float = () => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
  const int = (min: number, max: number) => {
    const span = max - min + 1;
    if (!(Number.isSafeInteger(min) && Number.isSafeInteger(span) && span > 0)) {
      throw new RangeError(`no integers from ${min} to ${max}`);
    }
    return min + Math.floor(float() * span);
  };
  return {
    float,
    int,
    normal: () => Math.sqrt(-2 * Math.log(1 - float())) * Math.cos(2 * Math.PI * float()),
    choice: <T>(items: readonly T[]) => {
      if (items.length === 0) throw new RangeError("no choice from an empty list");
      return items[int(0, items.length - 1)] as T;
    },
    shuffle: <T>(items: readonly T[]) => {
      const copy = [...items];
      for (let i = copy.length - 1; i > 0; i--) {
        const j = int(0, i);
        [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
      }
      return copy;
    },
    fork: (child: number) => rng(seed, stream, philox([child >>> 0, 1, branch >>> 0, stream >>> 0], key)[0]),
  };
}

type Pair = readonly [number, number];
type Block = readonly [number, number, number, number];

/** One block of Philox4x32-10: four uint32 from a counter of four and a key of two. */
export function philox([c0, c1, c2, c3]: Block, [k0, k1]: Pair): Block {
  for (let round = 0; round < 10; round++) {
    const [high0, low0] = multiply(0xd2511f53, c0);
    const [high1, low1] = multiply(0xcd9e8d57, c2);
    [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0];
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** The 64-bit product of two uint32 as [high, low]. */
function multiply(a: number, b: number): Pair {
  const [aHigh, aLow, bHigh, bLow] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const low = aLow * bLow;
  const middle = aHigh * bLow + (low >>> 16);
  const cross = aLow * bHigh + (middle & 0xffff);
  return [(aHigh * bHigh + Math.floor(middle / 2 ** 16) + Math.floor(cross / 2 ** 16)) >>> 0, Math.imul(a, b) >>> 0];
}

/** The seed of the episode that follows `seed` without being told one (autoreset). */
export function nextSeed(seed: number, episode: number): number {
  const [high, low] = philox([episode >>> 0, 2, 0, 0], [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0]);
  return (high & 0x1fffff) * 2 ** 32 + low;
}
