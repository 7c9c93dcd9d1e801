/** Which returns can be compared? A failed or NaN episode is left out, never scored; a group that says nothing is known as such. */

export interface Grouped {
  /** Rows of each group that have a finite return, in order of appearance. */
  members: Map<number, number[]>;
  /** [B]: false for an episode without a finite return. It must be masked. */
  kept: boolean[];
}

/** @param returns [B]; NaN or infinite: the episode failed. @param groups [B] */
export function groupReturns(returns: readonly number[], groups: ArrayLike<number>): Grouped {
  const members = new Map<number, number[]>();
  const kept = returns.map(Number.isFinite);
  for (const [row, keep] of kept.entries()) {
    const group = groups[row] as number;
    const rows = members.get(group) ?? [];
    if (keep) rows.push(row);
    members.set(group, rows);
  }
  return { members, kept };
}

export function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length;
}

/** @param ddof 1: sample, 0: population. @returns 0 for fewer than 1 + ddof values. */
export function std(values: readonly number[], ddof: 0 | 1): number {
  if (values.length <= ddof) return 0;
  const center = mean(values);
  return Math.sqrt(values.reduce((total, value) => total + (value - center) ** 2, 0) / (values.length - ddof));
}

/** True when the values do not differ by more than rounding: their deviations are noise, and dividing by them makes it large. */
export function isConstant(values: readonly number[], epsilon = 1e-12): boolean {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return values.length === 0 || high - low <= epsilon * Math.max(1, Math.abs(low), Math.abs(high));
}

/** The share of groups that have no spread in their returns, and so no gradient; TRL's `frac_reward_zero_std`. */
export function zeroSpreadShare(returns: readonly number[], groups: ArrayLike<number>): number {
  const all = [...groupReturns(returns, groups).members.values()];
  if (all.length === 0) return 0;
  return all.filter((rows) => isConstant(rows.map((row) => returns[row] as number))).length / all.length;
}

/**
 * Dynamic sampling (DAPO): which groups are worth an update? The decision is about whole groups: those with at least two
 * finite returns that differ by more than `epsilon`.
 */
export function informativeGroups(
  returns: readonly number[],
  groups: ArrayLike<number>,
  epsilon = 1e-6,
): ReadonlySet<number> {
  const informative = new Set<number>();
  for (const [group, rows] of groupReturns(returns, groups).members) {
    const values = rows.map((row) => returns[row] as number);
    if (values.length > 1 && Math.max(...values) - Math.min(...values) > epsilon) informative.add(group);
  }
  return informative;
}

/** Σ_t γ^t r_t of every row; γ = 1 as in PhGPO (14). */
export function discounted(rewards: readonly (readonly number[])[], gamma = 1): number[] {
  return rewards.map((row) => row.reduceRight((rest, reward) => reward + gamma * rest, 0));
}
