/**
 * Texts without a model: words and three-letter pieces of words, weighed by how rare they are (TF-IDF, fitted on the training
 * split only), added up under hashed signs in a short vector (Weinberger et al., "Feature Hashing", 2009).
 */

import type { TextEncoder } from "./encoder.ts";

export interface HashedTfIdfState {
  kind: "hashed-tfidf";
  width: number;
  /** Texts it was fitted on. */
  documents: number;
  /** In how many of them each feature is, as hash and count by turns; rare ones left out. */
  frequencies: number[];
  id: string;
}

/** Buckets that frequencies are counted in; collisions there only make a word look more common. */
const buckets = 2 ** 18;
/** Of a piece, beside its word's 1. */
const pieceWeight = 0.4;

export class HashedTfIdf implements TextEncoder {
  readonly id: string;
  readonly width: number;
  readonly #documents: number;
  readonly #frequencies: ReadonlyMap<number, number>;

  private constructor(width: number, documents: number, frequencies: ReadonlyMap<number, number>) {
    this.width = width;
    this.#documents = documents;
    this.#frequencies = frequencies;
    const digest = [...frequencies].reduce((sum, [hash, count]) => mix(sum ^ mix(hash ^ mix(count))), documents);
    this.id = `hashed-tfidf-${width}-${digest.toString(16).padStart(8, "0")}`;
  }

  /** @param texts of the training split, repeated ones count each time. */
  static fit(texts: readonly string[], width = 384): HashedTfIdf {
    const counts = new Map<number, number>();
    for (const text of texts) {
      for (const hash of new Set([...featuresOf(text).keys()].map((feature) => hashOf(feature) % buckets))) {
        counts.set(hash, (counts.get(hash) ?? 0) + 1);
      }
    }
    // A feature of one text is as rare as one of none, near enough; leaving it out keeps checkpoints small.
    const kept = [...counts].filter(([, count]) => count > 1).sort(([a], [b]) => a - b);
    return new HashedTfIdf(width, texts.length, new Map(kept));
  }

  static load({ width, documents, frequencies }: HashedTfIdfState): HashedTfIdf {
    const pairs = new Map<number, number>();
    for (let i = 0; i < frequencies.length; i += 2) pairs.set(frequencies[i] as number, frequencies[i + 1] as number);
    return new HashedTfIdf(width, documents, pairs);
  }

  save(): HashedTfIdfState {
    const frequencies = [...this.#frequencies].flat();
    return { kind: "hashed-tfidf", width: this.width, documents: this.#documents, frequencies, id: this.id };
  }

  async encode(texts: readonly string[]): Promise<Float32Array[]> {
    return Promise.resolve(texts.map((text) => this.#encode(text)));
  }

  #encode(text: string): Float32Array {
    const vector = new Float32Array(this.width);
    for (const [feature, { count, weight }] of featuresOf(text)) {
      const hash = hashOf(feature);
      const frequency = this.#frequencies.get(hash % buckets) ?? 1;
      // ln((1 + n)/(1 + df)) + 1: smoothed, so that what is in every text still counts a little.
      const rarity = Math.log((1 + this.#documents) / (1 + frequency)) + 1;
      const value = weight * (1 + Math.log(count)) * Math.max(rarity, 0.1);
      const place = mix(hash ^ 0x9e3779b9);
      vector[place % this.width]! += place & 0x40000000 ? value : -value;
    }
    const norm = Math.hypot(...vector);
    return norm === 0 ? vector : vector.map((value) => value / norm);
  }
}

/** Words split as identifiers are, lower case: `getUserID-2` is get, user, id, 2. */
export function wordsOf(text: string): string[] {
  const spaced = text
    .normalize("NFKC")
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2");
  return spaced.toLowerCase().match(/\p{L}+|\p{N}+/gu) ?? [];
}

function featuresOf(text: string): Map<string, { count: number; weight: number }> {
  const features = new Map<string, { count: number; weight: number }>();
  const add = (feature: string, weight: number) => {
    const found = features.get(feature);
    if (found) found.count++;
    else features.set(feature, { count: 1, weight });
  };
  for (const word of wordsOf(text)) {
    add(`w ${word}`, 1);
    const edged = `<${word}>`;
    for (let i = 0; i + 3 <= edged.length; i++) add(`p ${edged.slice(i, i + 3)}`, pieceWeight);
  }
  return features;
}

/** FNV-1a over UTF-16 units, then mixed; uint32. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** MurmurHash3's finaliser. */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
