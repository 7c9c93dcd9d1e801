/** How like are two tasks? Every remembered task once, as a row of one matrix; memories hold the rows' numbers. */

/** @returns the direction of an embedding; undefined for zeros, which have none. @throws RangeError for what is no number */
export function unitOf(embedding: ArrayLike<number>): Float64Array | undefined {
  const unit = Float64Array.from(embedding);
  // Scaled first, so that no square is infinite or lost.
  const largest = unit.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  if (!Number.isFinite(largest)) throw new RangeError("an embedding holds finite numbers only");
  if (largest === 0) return undefined;
  const norm = largest * Math.sqrt(unit.reduce((sum, x) => sum + (x / largest) ** 2, 0));
  return unit.map((x) => x / norm);
}

/** @param dimension 0: none is fixed yet. @throws RangeError */
export function checkLength(unit: Float64Array, dimension: number): void {
  if (dimension === 0 || unit.length === dimension) return;
  throw new RangeError(
    `an embedding of ${unit.length} numbers among such of ${dimension}: a table belongs to one text encoder`,
  );
}

export class TaskMatrix {
  /** Length of an embedding; 0 until somebody has claimed one. */
  dimension = 0;
  /** Rows in use and free ones. */
  size = 0;
  /** Rows that no memory refers to any more; the last one is taken first. */
  free: number[] = [];
  /** Rises whenever a row changes. */
  changes = 0;
  #rows = new Float64Array();
  #uses: number[] = [];
  #known = new Map<number, number[]>();

  /** The row of an embedding, held once more: `release` it. @throws RangeError for another dimension */
  take(unit: Float64Array): number {
    this.check(unit);
    const key = keyOf(unit);
    const known = this.#known.get(key)?.find((row) => this.row(row).every((x, i) => x === unit[i]));
    const row = known ?? this.#add(unit, key);
    this.hold(row);
    return row;
  }

  hold(row: number): void {
    this.#uses[row] = (this.#uses[row] ?? 0) + 1;
  }

  /** Frees the row when this was the last who held it. */
  release(row: number): void {
    const uses = (this.#uses[row] as number) - 1;
    this.#uses[row] = uses;
    if (uses > 0) return;
    const key = keyOf(this.row(row));
    const others = (this.#known.get(key) ?? []).filter((other) => other !== row);
    if (others.length > 0) this.#known.set(key, others);
    else this.#known.delete(key);
    this.free.push(row);
  }

  /** A view. */
  row(index: number): Float64Array {
    return this.#rows.subarray(index * this.dimension, (index + 1) * this.dimension);
  }

  uses(row: number): number {
    return this.#uses[row] ?? 0;
  }

  /** @throws RangeError when vectors of this length do not belong here */
  check(unit: Float64Array): void {
    checkLength(unit, this.dimension);
  }

  /** As it was saved: rows that are not free, in the order of their numbers. Nobody holds them yet. */
  restore(dimension: number, size: number, free: readonly number[], rows: Float64Array): void {
    this.dimension = dimension;
    this.size = size;
    this.free = [...free];
    this.#rows = new Float64Array(size * dimension);
    this.#uses = new Array<number>(size).fill(0);
    this.#known.clear();
    const freed = new Set(free);
    let next = 0;
    for (let row = 0; row < size; row++) {
      if (!freed.has(row)) this.#write(row, rows.subarray(next * dimension, ++next * dimension));
    }
  }

  #add(unit: Float64Array, key: number): number {
    this.dimension ||= unit.length;
    const row = this.free.pop() ?? this.size++;
    if (this.size * this.dimension > this.#rows.length) {
      const rows = new Float64Array(Math.max(16, 2 * this.size) * this.dimension);
      rows.set(this.#rows);
      this.#rows = rows;
    }
    this.#write(row, unit, key);
    return row;
  }

  #write(row: number, unit: Float64Array, key = keyOf(unit)): void {
    this.row(row).set(unit);
    this.#known.set(key, [...(this.#known.get(key) ?? []), row]);
    this.changes++;
  }
}

/** Equal vectors have equal keys; others may. */
function keyOf(unit: Float64Array): number {
  return unit.reduce((sum, x, i) => sum + (i + 1) * x, 0);
}

/** What is remembered about tasks like this one: the cosines with all remembered tasks, computed once for an episode. */
export class Recall {
  readonly unit: Float64Array;
  /** cos(e_x, e) by the matrix's row; 0 where it is below θ_sim. */
  similarity = new Float64Array();
  /** 1 where the cosine reaches θ_sim, else 0. */
  active = new Float64Array();
  #changes = -1;

  constructor(unit: Float64Array) {
    this.unit = unit;
  }

  /** Does nothing while the matrix is as it was. @throws RangeError when it has come to hold embeddings of another length */
  refresh(matrix: TaskMatrix, threshold: number): void {
    if (this.#changes === matrix.changes) return;
    matrix.check(this.unit);
    if (this.similarity.length < matrix.size) {
      this.similarity = new Float64Array(matrix.size);
      this.active = new Float64Array(matrix.size);
    }
    for (let row = 0; row < matrix.size; row++) {
      const cosine = dot(this.unit, matrix.row(row));
      this.active[row] = cosine >= threshold ? 1 : 0;
      this.similarity[row] = cosine >= threshold ? cosine : 0;
    }
    this.#changes = matrix.changes;
  }
}

/** In four sums, each of which need not wait for the others. Of unit vectors, so never above 1. */
function dot(a: Float64Array, b: Float64Array): number {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let i = 0;
  for (; i + 3 < a.length; i += 4) {
    s0 += (a[i] as number) * (b[i] as number);
    s1 += (a[i + 1] as number) * (b[i + 1] as number);
    s2 += (a[i + 2] as number) * (b[i + 2] as number);
    s3 += (a[i + 3] as number) * (b[i + 3] as number);
  }
  for (; i < a.length; i++) s0 += (a[i] as number) * (b[i] as number);
  return Math.min(1, s0 + s1 + (s2 + s3));
}
