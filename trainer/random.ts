/**
 * Where does chance come from in training? Every draw has its place (seed, stream, update, task, rollout, step): nothing is
 * stored, a resumed run goes on with the same numbers, and results do not depend on which episode answers first.
 */

import { rng, type Rng } from "trailgym/env";

/** Kinds of chance that must not share numbers. */
export const streams = ["init", "sampling", "oracle", "shuffle", "environment", "dropout", "evaluation"] as const;
export type Stream = (typeof streams)[number];

export interface Place {
  update?: number;
  task?: number;
  rollout?: number;
  step?: number;
}

/** The same place gives the same generator; places that differ anywhere are independent. Numbers are uint32. */
export function randomAt(seed: number, stream: Stream, place: Place = {}): Rng {
  const { update = 0, task = 0, rollout = 0, step = 0 } = place;
  return [update, task, rollout, step].reduce((random, key) => random.fork(key), rng(seed, streams.indexOf(stream)));
}
