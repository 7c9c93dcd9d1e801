/** What does an update report? Means over the decisions that count, of plain arrays; names and formulas as the field has them. */

import { klOf } from "./kl.ts";
import type { Decisions } from "./decisions.ts";

export interface RatioMetrics {
  /** Mean of r, its least and greatest. */
  ratioMean: number;
  ratioMin: number;
  ratioMax: number;
  /** −mean log r and mean (r − 1 − log r): KL(π_old‖π_θ) on the samples, r = π_θ/π_old. */
  approxKlK1: number;
  approxKlK3: number;
  /** Shares of decisions whose gradient the clip cuts: r < 1−ε with A < 0, r > 1+ε with A > 0. */
  clipLow: number;
  clipHigh: number;
  /** |r − 1| > ε whatever the advantage: CleanRL's `clipfrac`. */
  clipFraction: number;
}

/** @param logProbs of the policy now, [B, T]. @param oldLogProbs the ratio's denominator, [B, T]. */
export function ratioMetrics(
  logProbs: Float32Array,
  oldLogProbs: Float32Array,
  { mask, advantages }: Pick<Decisions, "mask" | "advantages">,
  { clipLow, clipHigh }: { clipLow: number; clipHigh: number },
): RatioMetrics {
  const rows = [...mask.keys()].filter((i) => mask[i] !== 0);
  const logRatio = (i: number) => (logProbs[i] as number) - (oldLogProbs[i] as number);
  const ratios = rows.map((i) => Math.exp(logRatio(i)));
  const mean = (of: (i: number, ratio: number) => number) =>
    rows.length === 0 ? 0 : rows.reduce((total, i, at) => total + of(i, ratios[at] as number), 0) / rows.length;
  return {
    ratioMean: mean((_, ratio) => ratio),
    ratioMin: ratios.reduce((least, ratio) => Math.min(least, ratio), Infinity),
    ratioMax: ratios.reduce((most, ratio) => Math.max(most, ratio), -Infinity),
    approxKlK1: mean((i) => -logRatio(i)),
    approxKlK3: mean((i, ratio) => ratio - 1 - logRatio(i)),
    clipLow: mean((i, ratio) => (ratio < 1 - clipLow && (advantages[i] as number) < 0 ? 1 : 0)),
    clipHigh: mean((i, ratio) => (ratio > 1 + clipHigh && (advantages[i] as number) > 0 ? 1 : 0)),
    clipFraction: mean((_, ratio) => (ratio < 1 - clipLow || ratio > 1 + clipHigh ? 1 : 0)),
  };
}

/** Mean KL to the frozen policy on the taken actions, by the three estimators. */
export function refKl(
  logProbs: Float32Array,
  refLogProbs: Float32Array,
  mask: Float32Array,
): Record<"k1" | "k2" | "k3", number> {
  const rows = [...mask.keys()].filter((i) => mask[i] !== 0);
  const mean = (estimator: "k1" | "k2" | "k3") =>
    rows.length === 0
      ? 0
      : rows.reduce((total, i) => total + klOf(estimator, logProbs[i] as number, refLogProbs[i] as number), 0) /
        rows.length;
  return { k1: mean("k1"), k2: mean("k2"), k3: mean("k3") };
}
