/** What does experience say about the next tool? One table: trails of both levels, memories, and the round that is open. */

import { dependentShare, dependentTau, confidenceOf, fuseTau, gather, noEvidence } from "./fusion.ts";
import { Memory } from "./memory.ts";
import { pheromoneOptions, type PheromoneConfig, type PheromoneOptions } from "./options.ts";
import { type Counters, scheduled } from "./schedule.ts";
import { byContent, checkDeposit, type Deposit } from "./round.ts";
import { Recall, TaskMatrix, unitOf } from "./tasks.ts";
import { type Edge, Trail } from "./trail.ts";

/** a_0. No tool has an empty name. */
export const START = "";

export type LevelName = "tool" | "argument";
export const levelNames = ["tool", "argument"] as const satisfies readonly LevelName[];

export interface RowQuery {
  /** Default `tool`. */
  level?: LevelName;
  /** The tool before, or {@link START} (default); of the level `argument`, the tool that is called. */
  from?: string;
  /** Tools, or invocations of `from`. What nobody has deposited on is as good as any other. */
  candidates: readonly string[];
  /** From {@link PheromoneTable.recall}; absent: the task does not count. */
  recall?: Recall | undefined;
  /** (5)'s w; default: the table's schedule now. */
  w?: number;
}

/** One number a candidate, in their order. */
export interface Row {
  /** τ̄(from, ·|x) in [τ_min, τ_max]. */
  tau: Float64Array;
  /** log τ̄ in nats, not yet times β. Zeros where the first step is not guided. */
  bias: Float64Array;
  /** c(from, ·|x) of (4), from 0 to 1; 0 without an active memory. */
  confidence: Float64Array;
  /** Share of τ_dep in τ̄, (5). */
  share: Float64Array;
}

export interface Counts {
  /** Trajectories that were offered, also to the open round; of them deposited, and written into memories. */
  offered: number;
  deposited: number;
  remembered: number;
}

export class PheromoneTable {
  readonly options: PheromoneOptions;
  readonly tool: Trail;
  readonly argument: Trail;
  readonly tasks = new TaskMatrix();
  /** Every tool in a deposit so far, in that order. */
  readonly tools = new Set<string>();
  readonly counts: Counts = { offered: 0, deposited: 0, remembered: 0 };
  /** What the open round will deposit, and how many offers it has had. */
  pending: Deposit[] = [];
  offers = 0;
  /** Rises when answers may change. */
  version = 0;
  /** For schedules by epoch; the trainer raises it. */
  epoch = 0;

  /** @throws z.ZodError for options that make no sense */
  constructor(config: PheromoneConfig = {}) {
    this.options = pheromoneOptions.parse(config);
    const { initial, min, max, tool, argument } = this.options;
    this.tool = new Trail({ initial, min, max, ...tool });
    this.argument = new Trail({ initial, min, max, ...argument });
  }

  /** Rounds that have closed. */
  get rounds(): number {
    return this.tool.rounds;
  }

  /** For schedules: an update is a round. */
  get counters(): Counters {
    return { update: this.rounds, epoch: this.epoch, verifiedCount: this.counts.deposited };
  }

  get w(): number {
    return scheduled(this.options.w, this.counters);
  }

  /**
   * What is known of tasks like this one; ask once an episode and pass it with every query. It follows the table by itself.
   * @param embedding of the task's text, any length ≠ 0, as every other in this table. Undefined for zeros: they say nothing.
   * @throws RangeError for another length, or numbers that are not finite
   */
  recall(embedding: ArrayLike<number>): Recall | undefined {
    const unit = unitOf(embedding);
    if (unit === undefined) return undefined;
    this.tasks.check(unit);
    const recall = new Recall(unit);
    recall.refresh(this.tasks, this.options.memory.similarity);
    return recall;
  }

  /** τ̄ over the candidates: (1a), then (2) to (5) where the task is known. Changes nothing. */
  row({ level = "tool", from = START, candidates, recall, w = this.w }: RowQuery): Row {
    const size = candidates.length;
    const row: Row = {
      tau: new Float64Array(size),
      bias: new Float64Array(size),
      confidence: new Float64Array(size),
      share: new Float64Array(size),
    };
    recall?.refresh(this.tasks, this.options.memory.similarity);
    const trail = this[level];
    const edges = trail.rows.get(from);
    const evidence = noEvidence();
    const untouched = trail.untouched();
    const { fusion, memory: recollection } = this.options;
    const unguided = level === "tool" && from === START && !this.options.guideFirst;
    for (let i = 0; i < size; i++) {
      const edge = edges?.get(candidates[i] as string);
      let tau = edge ? trail.current(edge) : untouched;
      if (recall && edge?.memory) {
        gather(edge.memory, recall, evidence);
        const confidence = confidenceOf(evidence, recollection.enough, fusion.confidence);
        const share = dependentShare(confidence, w, fusion.mixture);
        if (share > 0) tau = fuseTau(tau, dependentTau(evidence, trail.options, fusion.scale), share, trail.options);
        row.confidence[i] = confidence;
        row.share[i] = share;
      }
      row.tau[i] = tau;
      row.bias[i] = unguided ? 0 : Math.log(tau);
    }
    return row;
  }

  /** Collects for the open round, and closes it when it is full. @throws RangeError for a deposit that makes no sense */
  offer(deposit: Deposit): void {
    this.#collect(deposit);
    if (this.options.roundSize !== null && this.offers >= this.options.roundSize) this.close();
  }

  /** One whole round, whatever its size; with what the open one had. @throws RangeError, and then nothing has changed */
  round(deposits: readonly Deposit[]): void {
    let { dimension } = this.tasks;
    for (const deposit of deposits) dimension = checkDeposit(deposit, dimension)?.length ?? dimension;
    for (const deposit of deposits) this.#collect(deposit);
    this.close();
  }

  /** Ends the open round: evaporation everywhere, then its deposits, in an order that does not depend on their arrival. */
  close(): void {
    const deposits = this.pending.toSorted(byContent);
    [this.pending, this.offers] = [[], 0];
    for (const { tools } of deposits) for (const tool of tools) this.tools.add(tool);
    for (const level of levelNames) this[level].close(this.#sums(deposits, level));
    this.#decayMemories();
    for (const deposit of deposits) if (deposit.remember) this.#remember(deposit);
    this.counts.deposited += deposits.filter((each) => each.deposit).length;
    this.counts.remembered += deposits.filter((each) => each.remember).length;
    this.version++;
  }

  #collect(deposit: Deposit): void {
    const unit = checkDeposit(deposit, this.tasks.dimension);
    // Claimed at once: a second length must be refused when it is offered, not when the round has half been closed.
    if (unit) this.tasks.dimension = unit.length;
    this.offers++;
    this.counts.offered++;
    const remember = deposit.remember && unit !== undefined;
    if (!deposit.deposit && !remember) return;
    // A copy: what the caller does with its own afterwards must not reach the round.
    this.pending.push({
      tools: [...deposit.tools],
      ...(deposit.patterns && { patterns: [...deposit.patterns] }),
      quality: deposit.quality,
      deposit: deposit.deposit,
      remember,
      ...(remember && { embedding: unit }),
    });
  }

  #sums(deposits: readonly Deposit[], level: LevelName): Map<string, Map<string, number>> {
    const sums = new Map<string, Map<string, number>>();
    for (const deposit of deposits) {
      if (!deposit.deposit) continue;
      for (const [from, to] of edgesOf(deposit, level)) {
        const row = sums.get(from) ?? new Map<string, number>();
        row.set(to, (row.get(to) ?? 0) + deposit.quality);
        sums.set(from, row);
      }
    }
    return sums;
  }

  #decayMemories(): void {
    const { decay, forget } = this.options.memory;
    if (decay === 1) return;
    for (const level of levelNames) {
      for (const [, , edge] of this[level].edges()) {
        edge.memory?.decay(decay, forget, this.tasks);
        if (edge.memory?.size === 0) delete edge.memory;
      }
    }
  }

  #remember(deposit: Deposit): void {
    const task = this.tasks.take(deposit.embedding as Float64Array);
    for (const level of levelNames) {
      if (level === "argument" && !this.options.memory.argument) continue;
      for (const [from, to] of edgesOf(deposit, level)) {
        const edge = this.#edge(level, from, to);
        edge.memory ??= new Memory();
        edge.memory.write(task, deposit.quality, this.options.memory.capacity, this.tasks);
      }
    }
    this.tasks.release(task);
  }

  /** A memory needs an edge to hang on; its trail is that of an untouched one, exactly. */
  #edge(level: LevelName, from: string, to: string): Edge {
    const trail = this[level];
    const known = trail.rows.get(from)?.get(to);
    if (known) return known;
    const edge: Edge = { tau: trail.untouched(), round: trail.rounds };
    trail.put(from, to, edge);
    return edge;
  }
}

/** (START, a_1), (a_1, a_2), … or (a_t, u_t); each once, however often the trajectory takes it. */
export function edgesOf(
  { tools, patterns }: Pick<Deposit, "tools" | "patterns">,
  level: LevelName,
): [string, string][] {
  const edges = new Map<string, Set<string>>();
  for (const [t, tool] of tools.entries()) {
    const from = level === "tool" ? (tools[t - 1] ?? START) : tool;
    const to = level === "tool" ? tool : patterns?.[t];
    if (to === undefined || to === null) continue;
    edges.set(from, (edges.get(from) ?? new Set()).add(to));
  }
  return [...edges].flatMap(([from, ends]) => [...ends].map((to): [string, string] => [from, to]));
}
