/** How far has a trail formed, and how much is it used? Figures for logs and pictures; none of them changes a table. */

import { entropyOf } from "./sampling.ts";
import { START, type PheromoneTable, type Row, type RowQuery } from "./table.ts";
import type { Edge, Trail } from "./trail.ts";

export interface LevelStatistics {
  /** Edges with something deposited or remembered. */
  edges: number;
  /** edges / possible edges, from 0 to 1; undefined where nobody said how many there are. */
  coverage: number | undefined;
  /** τ_agn over those edges; undefined while there is none. */
  tau: { mean: number; min: number; max: number } | undefined;
  /** Shares of those edges at τ_max, where deposits no longer count, and at τ_min. */
  saturated: number;
  faded: number;
  /**
   * Mean over nodes of the entropy of p(j|i) = τ_ij / Σ_j τ_ij, over log of the number of possible ends: 1 is no trail at all,
   * 0 a single way out. Undefined where that number is not known or no node has a trail.
   */
  entropy: number | undefined;
  memories: number;
}

export interface PheromoneStatistics {
  tool: LevelStatistics;
  argument: LevelStatistics;
  tools: number;
  /** Distinct tasks that memories refer to. */
  tasks: number;
  rounds: number;
  offered: number;
  deposited: number;
  remembered: number;
  w: number;
}

export interface Possible {
  /** Number of tools, STOP included if it is one; default: those that the table has seen. */
  tools?: number;
  /** Number of invocations of a tool, K_i; default: unknown. */
  patterns?: ReadonlyMap<string, number>;
}

export function statisticsOf(table: PheromoneTable, possible: Possible = {}): PheromoneStatistics {
  const { tools = table.tools.size, patterns } = possible;
  const total = patterns && [...patterns.values()].reduce((sum, n) => sum + n, 0);
  const { tasks } = table;
  return {
    // START leads to every tool as well.
    tool: levelOf(table.tool, (tools + 1) * tools, () => tools),
    argument: levelOf(table.argument, total, (tool) => patterns?.get(tool)),
    tools: table.tools.size,
    tasks: tasks.size - tasks.free.length,
    rounds: table.rounds,
    ...table.counts,
    w: table.w,
  };
}

function levelOf(
  trail: Trail,
  possible: number | undefined,
  ends: (from: string) => number | undefined,
): LevelStatistics {
  const edges = [...trail.edges()].map(([, , edge]) => edge);
  const taus = edges.map((edge) => trail.current(edge));
  const { min, max } = trail.options;
  const shareOf = (limit: number) => taus.filter((tau) => tau === limit).length / (taus.length || 1);
  const entropies = [...trail.rows.keys()]
    .map((from) => nodeEntropy(trail, from, ends(from)))
    .filter((entropy) => entropy !== undefined);
  return {
    edges: edges.length,
    coverage: possible ? edges.length / possible : undefined,
    tau: taus.length > 0 ? rangeOf(taus) : undefined,
    saturated: shareOf(max),
    faded: shareOf(min),
    entropy: entropies.length > 0 ? meanOf(entropies) : undefined,
    memories: edges.reduce((sum, edge) => sum + (edge.memory?.size ?? 0), 0),
  };
}

/**
 * Entropy of p(j) = τ_j / Σ τ over all `ends` ways out of a node, the untouched ones too, over log(ends): from 0 to 1.
 * @returns undefined for fewer than two ends, or fewer than are known to exist.
 */
export function nodeEntropy(trail: Trail, from: string, ends: number | undefined): number | undefined {
  const edges: readonly Edge[] = [...(trail.rows.get(from)?.values() ?? [])];
  if (ends === undefined || ends < 2 || ends < edges.length) return undefined;
  const untouched = trail.untouched();
  const taus = edges.map((edge) => trail.current(edge));
  const sum = taus.reduce((total, tau) => total + tau, 0) + (ends - edges.length) * untouched;
  const one = untouched / sum;
  const rest = (ends - edges.length) * -(one * Math.log(one));
  return (entropyOf(taus.map((tau) => tau / sum)) + rest) / Math.log(ends);
}

/**
 * How likely a follower of the trail alone is to take the reference's next tool: the mean over its steps of
 * τ̄(a*_{t−1}, a*_t|x) / Σ_j τ̄(a*_{t−1}, j|x).
 * @param reference not empty, each among the candidates
 */
export function massOnReference(
  table: PheromoneTable,
  reference: readonly string[],
  query: Omit<RowQuery, "level" | "from">,
): number {
  const shares = reference.map((tool, t) => {
    const { tau } = table.row({ ...query, from: reference[t - 1] ?? START });
    return (tau[query.candidates.indexOf(tool)] ?? 0) / tau.reduce((sum, each) => sum + each, 0);
  });
  return meanOf(shares);
}

/** What queries met, over any number of them. */
export class Tally {
  #edges = 0;
  #hybrid = 0;
  #confidence = 0;

  add({ confidence, share }: Row): void {
    this.#edges += confidence.length;
    for (let i = 0; i < confidence.length; i++) {
      if (!((share[i] as number) > 0)) continue;
      this.#hybrid++;
      this.#confidence += confidence[i] as number;
    }
  }

  /** Share of edges on which like tasks had a say; 0 of none. */
  get hybridRate(): number {
    return this.#hybrid / (this.#edges || 1);
  }

  /** Mean c over the edges on which they had; 0 of none. */
  get meanConfidence(): number {
    return this.#confidence / (this.#hybrid || 1);
  }
}

/** τ̄ from every node to every end, row by row: a heat map. @param from may hold {@link START}. */
export function heatMap(
  table: PheromoneTable,
  from: readonly string[],
  to: readonly string[],
  query: Omit<RowQuery, "from" | "candidates"> = {},
): Float64Array[] {
  return from.map((one) => table.row({ ...query, from: one, candidates: to }).tau);
}

function rangeOf(values: readonly number[]): { mean: number; min: number; max: number } {
  let [min, max] = [Infinity, -Infinity];
  for (const value of values) [min, max] = [Math.min(min, value), Math.max(max, value)];
  return { mean: meanOf(values), min, max };
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
