/** Which text is most like another? Term frequency × inverse document frequency, and the cosine. */

/** Sparse, of length 1 (or 0, for a text without a known word). */
type Vector = ReadonlyMap<string, number>;

export class TfIdf {
  readonly #documents: number;
  readonly #frequency = new Map<string, number>();
  /** For each word the documents that hold it, with its weight there. */
  readonly #postings = new Map<string, [document: number, weight: number][]>();

  constructor(documents: readonly string[]) {
    this.#documents = documents.length;
    const words = documents.map(wordsOf);
    for (const list of words) {
      for (const word of new Set(list)) this.#frequency.set(word, (this.#frequency.get(word) ?? 0) + 1);
    }
    for (const [document, list] of words.entries()) {
      for (const [word, weight] of this.#vector(list)) {
        const postings = this.#postings.get(word) ?? [];
        postings.push([document, weight]);
        this.#postings.set(word, postings);
      }
    }
  }

  /** Cosines with every document, 0 to 1. */
  cosines(text: string): Float64Array {
    const cosines = new Float64Array(this.#documents);
    for (const [word, weight] of this.#vector(wordsOf(text))) {
      for (const [document, other] of this.#postings.get(word) ?? []) cosines[document]! += weight * other;
    }
    return cosines;
  }

  /** w = (1 + ln tf) · (ln((1 + N) / (1 + df)) + 1), then the whole brought to length 1. */
  #vector(words: readonly string[]): Vector {
    const counts = new Map<string, number>();
    for (const word of words) if (this.#frequency.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const vector = new Map<string, number>();
    let square = 0;
    for (const [word, count] of counts) {
      const rarity = Math.log((1 + this.#documents) / (1 + (this.#frequency.get(word) ?? 0))) + 1;
      const weight = (1 + Math.log(count)) * rarity;
      vector.set(word, weight);
      square += weight ** 2;
    }
    const length = Math.sqrt(square) || 1;
    for (const [word, weight] of vector) vector.set(word, weight / length);
    return vector;
  }
}

/** Runs of letters and digits, in lower case; of any script. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
