/** Keeps a committed value from being changed by those it is lent to. */

import { NdArray, type Value } from "trailgym/protocol";

/** Freezes `value` deeply, buffers excepted (JavaScript cannot). @returns whether it holds a buffer. */
export function freeze(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof Uint8Array || value instanceof NdArray) return true;
  Object.freeze(value);
  let buffers = false;
  for (const item of Array.isArray(value) ? (value as unknown[]) : Object.values(value))
    buffers = freeze(item) || buffers;
  return buffers;
}

/** A frozen value whose buffers, if any, are copies: what a trial may hold without reaching the committed one. */
export function lend(value: Value): Value {
  return holdsBuffer(value) ? (copy(value) as Value) : value;
}

function holdsBuffer(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof Uint8Array || value instanceof NdArray) return true;
  return (Array.isArray(value) ? (value as unknown[]) : Object.values(value)).some(holdsBuffer);
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof NdArray) return new NdArray(value.dtype, value.shape, value.data.slice());
  if (Array.isArray(value)) return Object.freeze(value.map(copy));
  const fields = Object.entries(value).map(([key, item]) => [key, copy(item)] as const);
  return Object.freeze(Object.fromEntries(fields));
}
