/** Which trajectories are to be learnt from, and which to be judged by? */

import { chainOf, type Trajectory } from "../trajectory.ts";
import { shuffled } from "./mersenne.ts";

/**
 * What is never torn apart. `chain`: tasks with one solution, whatever their wording; the only split by which a score says
 * something about new workflows. `query`: tasks of one wording. `task`: nothing. `given`: as the `split` of each task says,
 * `train` being what it says or leaves out.
 */
export type SplitBy = "chain" | "query" | "task" | "given";

type Splittable = Pick<Trajectory, "task" | "chain" | "reference" | "split">;

export interface Split<T> {
  train: T[];
  test: T[];
}

export interface SplitOptions {
  /** Default `chain`. */
  by?: SplitBy;
  /** Safe integer ≥ 0; see `shuffled`. Default 42. */
  seed?: number;
  /** Share for testing, 0 to 1. Default 0.2. */
  test?: number;
}

/**
 * Shuffles and cuts: the first (1 − `test`) are for training. By chain the distinct chains are sorted and shuffled; by
 * query and task the tasks are, in the order of the list, and a query that stands on both sides goes to training.
 */
export function splitTrajectories<T extends Splittable>(
  all: readonly T[],
  { by = "chain", seed = 42, test = 0.2 }: SplitOptions = {},
): Split<T> {
  switch (by) {
    case "given":
      return parted(all, ({ split = "train" }) => split === "train");
    case "chain": {
      const train = trainChains(all.map(chainOf), { seed, test });
      return parted(all, (one) => train.has(chainOf(one)));
    }
    case "query": {
      const train = new Set(cut(all, seed, test).map(({ task }) => task));
      return parted(all, ({ task }) => train.has(task));
    }
    case "task": {
      const train = new Set(cut(all, seed, test));
      return parted(all, (one) => train.has(one));
    }
  }
}

/** The chains whose tasks are for training; for whoever does not hold all tasks at once. */
export function trainChains(
  chains: Iterable<string>,
  { seed = 42, test = 0.2 }: Omit<SplitOptions, "by"> = {},
): Set<string> {
  return new Set(cut([...new Set(chains)].sort(), seed, test));
}

function cut<T>(items: readonly T[], seed: number, test: number): T[] {
  // 0.8 · 10 is 8, whatever floating point makes of 1 − 0.2.
  return shuffled(items, seed).slice(0, Math.floor(items.length * (1 - test) + 1e-9));
}

function parted<T>(all: readonly T[], isTrain: (one: T) => boolean): Split<T> {
  const { train = [], test = [] } = Object.groupBy(all, (one) => (isTrain(one) ? "train" : "test"));
  return { train, test };
}
