/** The small loops of inference that are no matrix product: layer norm, attention of one query, one vector through a matrix. */

/** [rows of D] → [D, rows], row-major. */
export function transposed(rows: readonly Float32Array[], width: number): Float32Array {
  const out = new Float32Array(rows.length * width);
  for (const [j, row] of rows.entries()) for (let d = 0; d < width; d++) out[d * rows.length + j] = row[d]!;
  return out;
}

/** into += x W. @param weights [x.length, into.length] */
export function addProduct(x: Float32Array, weights: Float32Array, into: Float32Array): void {
  const columns = into.length;
  for (let k = 0; k < x.length; k++) {
    const value = x[k]!;
    // Hashed texts are mostly zeros.
    if (value !== 0) for (let d = 0, at = k * columns; d < columns; d++, at++) into[d]! += value * weights[at]!;
  }
}

/** w · relu(subject + option). */
export function scoreOf(subject: Float32Array, option: Float32Array, score: Float32Array): number {
  let sum = 0;
  for (let d = 0; d < score.length; d++) sum += Math.max(0, subject[d]! + option[d]!) * score[d]!;
  return sum;
}

export function normalise(x: Float32Array, out: Float32Array, rows: number, width: number): void {
  for (let row = 0; row < rows; row++) {
    const from = row * width;
    let mean = 0;
    for (let d = from; d < from + width; d++) mean += x[d]!;
    mean /= width;
    let variance = 0;
    for (let d = from; d < from + width; d++) variance += (x[d]! - mean) ** 2;
    const inverse = 1 / Math.sqrt(variance / width + 1e-5);
    for (let d = from; d < from + width; d++) out[d] = (x[d]! - mean) * inverse;
  }
}

export interface Attended {
  position: number;
  width: number;
  heads: number;
  out: Float32Array;
  at: number;
}

/** One query against positions 0 … position. @param base where the layer's keys and values begin. */
export function attend(
  query: Float32Array,
  from: number,
  keys: Float32Array,
  values: Float32Array,
  base: number,
  { position, width, heads, out, at }: Attended,
): void {
  const size = width / heads;
  const scale = 1 / Math.sqrt(size);
  const shares = new Float64Array(position + 1);
  out.fill(0, at, at + width);
  for (let head = 0; head < heads; head++) {
    const offset = head * size;
    let most = -Infinity;
    for (let t = 0; t <= position; t++) {
      const key = base + t * width + offset;
      let dot = 0;
      for (let d = 0; d < size; d++) dot += query[from + offset + d]! * keys[key + d]!;
      shares[t] = dot * scale;
      if (shares[t]! > most) most = shares[t]!;
    }
    let total = 0;
    for (let t = 0; t <= position; t++) {
      shares[t] = Math.exp(shares[t]! - most);
      total += shares[t]!;
    }
    for (let t = 0; t <= position; t++) {
      const share = shares[t]! / total;
      const value = base + t * width + offset;
      for (let d = 0; d < size; d++) out[at + offset + d]! += share * values[value + d]!;
    }
  }
}
