/** A batch's texts as one matrix, each of them once. */

export interface Table {
  add(text: Float32Array | undefined): number;
  values(): Float32Array;
}

/** Texts, once each: the same array is the same text. */
export function table(width: number, withNone: boolean): Table {
  const places = new Map<Float32Array, number>();
  const none = new Float32Array(width);
  if (withNone) places.set(none, 0);
  return {
    add(text = none) {
      const found = places.get(text) ?? places.size;
      places.set(text, found);
      return found;
    },
    values: () => flatten([...places.keys()], width),
  };
}

export function flatten(rows: readonly Float32Array[], width: number): Float32Array {
  const out = new Float32Array(rows.length * width);
  for (const [i, row] of rows.entries()) out.set(row, i * width);
  return out;
}
