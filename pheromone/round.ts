/** What is one deposit, and in which order does a round take them? */

import { checkLength, unitOf } from "./tasks.ts";

export interface Deposit {
  /** The path: a_1, a_2, … with STOP at its end, where the policy may choose that. None is empty. */
  tools: readonly string[];
  /** u_t beside each tool: the invocation's name, null where there is none to speak of. */
  patterns?: readonly (string | null)[];
  /** q, from 0 to 1. */
  quality: number;
  /** Whether the trail gets α·q, as `judge` decides it. */
  deposit: boolean;
  /** Whether the edges' memories get (e_x, q). */
  remember: boolean;
  /** e_x; without it nothing is remembered. */
  embedding?: ArrayLike<number>;
}

/**
 * @param dimension of embeddings; 0: any.
 * @returns the embedding's direction. @throws RangeError that says what is wrong
 */
export function checkDeposit(deposit: Deposit, dimension: number): Float64Array | undefined {
  const { tools, patterns, quality, embedding } = deposit;
  if (!(quality >= 0 && quality <= 1)) throw new RangeError(`a deposit's quality is from 0 to 1, not ${quality}`);
  if (tools.includes("")) throw new RangeError("a tool without a name cannot be on a path");
  if (patterns && patterns.length !== tools.length) {
    throw new RangeError(`${tools.length} tools need as many invocations, not ${patterns.length}`);
  }
  const unit = embedding && unitOf(embedding);
  if (unit) checkLength(unit, dimension);
  return unit;
}

/**
 * Sums of floats, names' numbers and the choice among equals depend on an order. This one is of what deposits are, so that a
 * round is the same whichever episode ended first; deposits that it cannot tell apart are interchangeable.
 */
export function byContent(a: Deposit, b: Deposit): number {
  return (
    a.quality - b.quality ||
    compareLists(a.tools, b.tools) ||
    compareLists(a.patterns ?? [], b.patterns ?? []) ||
    compareLists(a.embedding ?? [], b.embedding ?? [])
  );
}

type Item = string | number | null;

function compareLists(a: ArrayLike<Item>, b: ArrayLike<Item>): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [left, right] = [a[i] as Item, b[i] as Item];
    if (left === right) continue;
    if (left === null || right === null) return left === null ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
