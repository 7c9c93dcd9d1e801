/**
 * The losses once more, in plain float64 for one decision at a time, written from the formulas to share nothing with the code
 * under test. Central differences of it are gradients that no automatic differentiation had a part in.
 */

import type { ObjectiveOptions } from "../../../trainer/algorithms/objective.ts";
import type { Case } from "./loss.ts";

export interface Extra {
  lambda: number;
  smoothing: number;
  temperature: number;
  /** [B][T][A]: masked actions. */
  mask?: number[][][];
  /** [B][T][A]: β log τ and the top-K mask. */
  trail?: number[][][];
}

export function twinLoss(each: Case, logits: number[][][], options: ObjectiveOptions, extra: Extra): number {
  const { decisions: d, actions, targets } = each;
  const at = (b: number, t: number) => b * d.steps + t;
  const live: [number, number][] = [];
  for (let b = 0; b < d.batch; b++) for (let t = 0; t < d.steps; t++) if (d.mask[at(b, t)] === 1) live.push([b, t]);
  const isOracle = (b: number, t: number) => d.oracle?.[at(b, t)] === 1;
  const counted = live.filter(([b, t]) => options.pgOnOracleSteps || !isOracle(b, t));

  const logSoftmax = (values: number[]) => {
    const most = Math.max(...values);
    const total = Math.log(values.reduce((sum, v) => sum + Math.exp(v - most), 0)) + most;
    return values.map((v) => v - total);
  };
  const masked = (b: number, t: number) => logits[b]![t]!.map((z, a) => z + (extra.mask?.[b]![t]![a] ?? 0));
  const logPi = (b: number, t: number) => logSoftmax(masked(b, t).map((z) => z / extra.temperature));
  const logFused = (b: number, t: number) => logSoftmax(logPi(b, t).map((z, a) => z + (extra.trail?.[b]![t]![a] ?? 0)));

  const now = (b: number, t: number) =>
    (options.ratio === "fused" && !isOracle(b, t) ? logFused : logPi)(b, t)[actions[b]![t]!]!;
  const then = (b: number, t: number) => {
    const of = {
      paper: d.oldLogProbs,
      tis: d.oldLogProbs,
      fused: d.oldFusedLogProbs!,
      behaviour: d.behaviourLogProbs!,
    };
    return of[options.ratio][at(b, t)]!;
  };
  const clip = (x: number, low: number, high: number) => Math.min(high, Math.max(low, x));
  const surrogate = (ratio: number, advantage: number) => {
    const clipped = clip(ratio, 1 - options.clipLow, 1 + options.clipHigh);
    const loss = -Math.min(ratio * advantage, clipped * advantage);
    return options.dualClip !== undefined && advantage < 0 ? Math.min(loss, -options.dualClip * advantage) : loss;
  };
  const length = (b: number) => counted.filter(([row]) => row === b).length;
  const term = (b: number, t: number): number => {
    const advantage = d.advantages[at(b, t)]!;
    const kl = () => {
      const logRatio = d.refLogProbs![at(b, t)]! - logPi(b, t)[actions[b]![t]!]!;
      return { k1: -logRatio, k2: logRatio ** 2 / 2, k3: Math.exp(logRatio) - 1 - logRatio }[options.klEstimator];
    };
    const penalty = options.klCoef === 0 ? 0 : options.klCoef * kl();
    if (options.algorithm === "rloo" && options.level === "reinforce") return -now(b, t) * advantage + penalty;
    if (options.algorithm === "rloo" && options.level === "sequence") {
      const rows = live.filter(([row]) => row === b);
      const ratio = Math.exp(rows.reduce((sum, [row, u]) => sum + now(row, u) - then(row, u), 0));
      return surrogate(ratio, advantage) / rows.length + penalty;
    }
    return surrogate(Math.exp(now(b, t) - then(b, t)), advantage) + penalty;
  };
  const rows = new Set(counted.map(([b]) => b));
  const groupsOf = new Set([...rows].map((b) => d.groups[b]));
  const weight = (b: number, t: number) => {
    const inGroup = counted.filter(([row]) => d.groups[row] === d.groups[b]).length;
    const mean = {
      "sequence-mean": 1 / (rows.size * length(b)),
      "token-mean": 1 / counted.length,
      "sequence-sum": 1 / rows.size,
      "fixed-length": 1 / (rows.size * (options.maxSteps ?? d.steps)),
      "group-mean": 1 / (groupsOf.size * inGroup),
    }[options.mean];
    if (options.ratio !== "tis" || isOracle(b, t)) return mean;
    return mean * Math.min(Math.exp(d.oldLogProbs[at(b, t)]! - d.behaviourLogProbs![at(b, t)]!), options.tisCap);
  };
  const policy = counted.reduce((sum, [b, t]) => sum + weight(b, t) * term(b, t), 0);

  const taught = live.filter(([b, t]) => d.supervised?.[at(b, t)] === 1);
  const supervised = taught.reduce((sum, [b, t]) => {
    const logProbs = logSoftmax(masked(b, t));
    const allowed = logProbs.filter((_, a) => (extra.mask?.[b]![t]![a] ?? 0) === 0);
    const even = allowed.reduce((total, x) => total + x, 0) / allowed.length;
    return sum - (1 - extra.smoothing) * logProbs[targets[b]![t]!]! - extra.smoothing * even;
  }, 0);
  const entropy = live.reduce(
    (sum, [b, t]) => sum - logPi(b, t).reduce((s, x) => s + (Math.exp(x) === 0 ? 0 : Math.exp(x) * x), 0),
    0,
  );
  return (
    (extra.lambda === 0 ? 0 : (extra.lambda * supervised) / Math.max(1, taught.length)) +
    (1 - extra.lambda) * policy -
    (options.entropyCoef * entropy) / live.length
  );
}

/** (f(x+h) − f(x−h)) / 2h for every logit. */
export function twinGradient(each: Case, options: ObjectiveOptions, extra: Extra, h = 1e-5): number[] {
  const moved = (b: number, t: number, a: number, by: number) =>
    each.logits.map((row, i) =>
      i !== b ? row : row.map((z, j) => (j !== t ? z : z.map((x, k) => (k === a ? x + by : x)))),
    );
  return each.logits.flatMap((row, b) =>
    row.flatMap((z, t) =>
      z.map((_, a) => {
        const [up, down] = [h, -h].map((by) => twinLoss(each, moved(b, t, a, by), options, extra)) as [number, number];
        return (up - down) / (2 * h);
      }),
    ),
  );
}
