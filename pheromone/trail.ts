/** How strong is an edge's trail? One level of the graph, sparse: an edge costs memory once something was deposited on it. */

import type { Memory } from "./memory.ts";

export interface TrailOptions {
  initial: number;
  min: number;
  max: number;
  alpha: number;
  rho: number;
}

export interface Edge {
  /** τ when the round `round` had closed; what evaporated since is computed when somebody looks. */
  tau: number;
  round: number;
  memory?: Memory;
}

/** Σ of the qualities that one round deposits, by the edge's ends. */
export type Deposits = ReadonlyMap<string, ReadonlyMap<string, number>>;

export class Trail {
  readonly options: TrailOptions;
  /** From an edge's beginning to its ends, both in the order of their first deposit. */
  readonly rows = new Map<string, Map<string, Edge>>();
  /** Rounds that have closed. */
  rounds = 0;

  constructor(options: TrailOptions) {
    this.options = options;
  }

  /** τ of an edge on which nothing was ever deposited: max(τ_min, τ0 (1−ρ)^n). */
  untouched(): number {
    return this.#faded(this.options.initial, this.rounds);
  }

  /**
   * τ now. One power stands for n − n_last rounds of clip((1−ρ)τ): decay alone never meets τ_max, and once at τ_min it stays.
   */
  current({ tau, round }: Edge): number {
    return this.#faded(tau, this.rounds - round);
  }

  /** τ_agn(from, to) now, whether touched or not. */
  at(from: string, to: string): number {
    const edge = this.rows.get(from)?.get(to);
    return edge ? this.current(edge) : this.untouched();
  }

  /** One round, (1): τ ← clip((1−ρ)τ + α Σ q, [τ_min, τ_max]) on every edge, with Σ q = 0 where nothing was deposited. */
  close(deposits: Deposits): void {
    const { min, max, alpha, rho } = this.options;
    const round = this.rounds + 1;
    for (const [from, ends] of deposits) {
      for (const [to, quality] of ends) {
        const tau = Math.min(max, Math.max(min, (1 - rho) * this.at(from, to) + alpha * quality));
        const edge = this.rows.get(from)?.get(to);
        if (edge) Object.assign(edge, { tau, round });
        else this.put(from, to, { tau, round });
      }
    }
    this.rounds = round;
  }

  put(from: string, to: string, edge: Edge): void {
    const row = this.rows.get(from);
    if (row) row.set(to, edge);
    else this.rows.set(from, new Map([[to, edge]]));
  }

  *edges(): Generator<[from: string, to: string, edge: Edge]> {
    for (const [from, row] of this.rows) for (const [to, edge] of row) yield [from, to, edge];
  }

  #faded(tau: number, rounds: number): number {
    if (rounds === 0) return tau;
    return Math.max(this.options.min, tau * (1 - this.options.rho) ** rounds);
  }
}
