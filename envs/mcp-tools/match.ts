/** How near is a sequence of tools to the reference? Every reading of "match" that is in use, side by side. */

export interface Match {
  /** Σ 1[tool(a_t) = tool(a*_t)] / |ξ*|: the paper's Match(ξ, ξ*). */
  positional: number;
  /** The same matches / min(|ξ|, |ξ*|, H): what the authors' code reports. Blind to what is missing at the end. */
  prefix: number;
  /** The same matches / max(|ξ|, |ξ*|): missing and extra steps both cost. */
  strict: number;
  /** 2·LCS / (|ξ| + |ξ*|), LCS the longest common subsequence: one step left out does not shift all others. */
  lcsF1: number;
  /** 1 − Levenshtein / max(|ξ|, |ξ*|). */
  edit: number;
  /** The sequences are equal. */
  exact: boolean;
  /** |tools(ξ) ∩ tools(ξ*)| / |tools(ξ*)|, as sets: TRAJECT-Bench's inclusion. */
  inclusion: number;
}

/** @param reference not empty. @param horizon H of `prefix`; default: none. Ratios are from 0 to 1. */
export function matchOf(tools: readonly string[], reference: readonly string[], horizon = Infinity): Match {
  const matches = positions(tools, reference);
  const longest = Math.max(tools.length, reference.length);
  const [used, wanted] = [new Set(tools), new Set(reference)];
  return {
    positional: matches / reference.length,
    prefix: matches / Math.max(1, Math.min(tools.length, reference.length, horizon)),
    strict: matches / longest,
    lcsF1: (2 * longestCommon(tools, reference)) / (tools.length + reference.length),
    edit: 1 - levenshtein(tools, reference) / longest,
    exact: tools.length === reference.length && matches === reference.length,
    inclusion: [...wanted].filter((tool) => used.has(tool)).length / wanted.size,
  };
}

function positions(tools: readonly string[], reference: readonly string[]): number {
  let matches = 0;
  for (const [t, tool] of tools.entries()) if (tool === reference[t]) matches++;
  return matches;
}

/** Length of the longest common subsequence; one row of the table at a time. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const row = new Uint32Array(b.length + 1);
  for (const item of a) {
    let diagonal = 0;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] as number;
      row[j] = item === b[j - 1] ? diagonal + 1 : Math.max(above, row[j - 1] as number);
      diagonal = above;
    }
  }
  return row[b.length] as number;
}

/** Insertions, deletions and substitutions, one each. */
function levenshtein(a: readonly string[], b: readonly string[]): number {
  const row = Uint32Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, item] of a.entries()) {
    let diagonal = row[0] as number;
    row[0] = i + 1;
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] as number;
      const substituted = diagonal + (item === b[j - 1] ? 0 : 1);
      row[j] = Math.min(above + 1, (row[j - 1] as number) + 1, substituted);
      diagonal = above;
    }
  }
  return row[b.length] as number;
}
