/** A seeded shuffle that other people can repeat: that of Python's `random.Random(seed).shuffle(list)`. */

/** MT19937 (Matsumoto and Nishimura 1998), seeded by an array as CPython seeds it from an integer. */
class MersenneTwister {
  readonly #state = new Uint32Array(624);
  #at = 624;

  /** @param seed safe integer ≥ 0. */
  constructor(seed: number) {
    const high = Math.floor(seed / 2 ** 32);
    const key = high > 0 ? [seed >>> 0, high] : [seed >>> 0];
    const state = this.#state;
    this.#fill(19_650_218);
    let [i, j] = [1, 0];
    for (let k = Math.max(624, key.length); k > 0; k--) {
      state[i] = (this.#mixed(i, 1_664_525) + (key[j] as number) + j) >>> 0;
      [i, j] = [this.#following(i), (j + 1) % key.length];
    }
    for (let k = 623; k > 0; k--) {
      state[i] = (this.#mixed(i, 1_566_083_941) - i) >>> 0;
      i = this.#following(i);
    }
    state[0] = 0x8000_0000;
  }

  /** The next 32 bits, or the highest `count` of them. */
  bits(count: number): number {
    if (this.#at === 624) this.#twist();
    let word = this.#state[this.#at++] as number;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^= word >>> 18;
    return word >>> (32 - count);
  }

  #fill(seed: number): void {
    this.#state[0] = seed;
    for (let i = 1; i < 624; i++) {
      const before = this.#state[i - 1] as number;
      this.#state[i] = Math.imul(1_812_433_253, before ^ (before >>> 30)) + i;
    }
  }

  #mixed(i: number, factor: number): number {
    const before = this.#state[i - 1] as number;
    return ((this.#state[i] as number) ^ Math.imul(before ^ (before >>> 30), factor)) >>> 0;
  }

  #following(i: number): number {
    if (i < 623) return i + 1;
    this.#state[0] = this.#state[623] as number;
    return 1;
  }

  #twist(): void {
    const state = this.#state;
    for (let i = 0; i < 624; i++) {
      const word = ((state[i] as number) & 0x8000_0000) | ((state[(i + 1) % 624] as number) & 0x7fff_ffff);
      state[i] = (state[(i + 397) % 624] as number) ^ (word >>> 1) ^ (word & 1 ? 0x9908_b0df : 0);
    }
    this.#at = 0;
  }
}

/** A shuffled copy; equal to what CPython 3.2 and later make of an equal list and seed. @param seed safe integer ≥ 0. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const twister = new MersenneTwister(seed);
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = below(twister, i + 1);
    [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
  }
  return copy;
}

/** Uniform from 0 to limit − 1; draws again what is too large. */
function below(twister: MersenneTwister, limit: number): number {
  const count = 32 - Math.clz32(limit);
  let drawn = twister.bits(count);
  while (drawn >= limit) drawn = twister.bits(count);
  return drawn;
}
