/**
 * Over what is the mean of a loss? Each kind of mean is a weight for every decision, made from the whole batch, so that
 * L = Σ w ℓ. Parts of a batch that are accumulated then add up to the same sum, whatever the kind.
 */

/**
 * With m the mask, B trajectories of which those with a decision count, and G groups of them:
 * - `sequence-mean` (GRPO's paper; TRL's `grpo`): w = m / (B Σ_t m)
 * - `token-mean` (TRL's `bnpo` and `dapo`; PhGPO (12)): w = m / Σ m
 * - `sequence-sum` (verl's `seq-mean-token-sum`): w = m / B
 * - `fixed-length` (Dr. GRPO): w = m / (B · maxSteps)
 * - `group-mean`: w = m / (G Σ_{group} m)
 */
export type Mean = "sequence-mean" | "token-mean" | "sequence-sum" | "fixed-length" | "group-mean";

/**
 * @param mask [B, T]. @param groups [B], for `group-mean`. @param maxSteps for `fixed-length`; default T.
 * @returns [B, T]; all 0 when no decision counts.
 */
export function meanWeights(
  mean: Mean,
  mask: Float32Array,
  groups: Int32Array,
  maxSteps = mask.length / groups.length,
): Float32Array {
  const steps = mask.length / groups.length;
  const lengths = Array.from(groups, (_, row) => sum(mask.subarray(row * steps, (row + 1) * steps)));
  const total = sum(lengths);
  const rows = lengths.filter((length) => length > 0).length;
  const groupTotals = new Map<number, number>();
  for (const [row, group] of groups.entries()) {
    groupTotals.set(group, (groupTotals.get(group) ?? 0) + (lengths[row] as number));
  }
  const groupCount = [...groupTotals.values()].filter((length) => length > 0).length;

  const denominator = (row: number): number => {
    switch (mean) {
      case "sequence-mean":
        return rows * (lengths[row] as number);
      case "token-mean":
        return total;
      case "sequence-sum":
        return rows;
      case "fixed-length":
        return rows * maxSteps;
      case "group-mean":
        return groupCount * (groupTotals.get(groups[row] as number) as number);
    }
  };
  return mask.map((m, i) => (m === 0 ? 0 : m / denominator(Math.floor(i / steps))));
}

function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i] as number;
  return total;
}
