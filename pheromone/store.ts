/** What is asked of a trail over the wire? Tables by name: the answers to `pheromone/query` and `pheromone/deposit`. */

import { PheromoneError } from "./errors.ts";
import type { PheromoneConfig } from "./options.ts";
import { judge, type Play } from "./deposit.ts";
import { load, save } from "./save.ts";
import { type LevelName, PheromoneTable } from "./table.ts";
import type { Recall } from "./tasks.ts";

export interface StoreOptions {
  /** Of tables that come into being with their first deposit. */
  options?: PheromoneConfig;
  /** Default 100. */
  maxTables?: number;
}

export interface PheromoneQuery {
  table: string;
  context: {
    /**
     * Of the task's text, by the encoder that every deposit of this table uses; absent: the task does not count. The same
     * object in every query of an episode spares computing the cosines again.
     */
    embedding?: ArrayLike<number> | undefined;
    /** Absent: the first step. */
    previousTool?: string | undefined;
    /** Absent: every tool that the table has seen. */
    candidates?: readonly string[] | undefined;
    /** `argument`: `candidates` are invocations of `previousTool`. */
    level?: LevelName | undefined;
  };
}

export interface PheromoneAnswer {
  /** log τ̄ in nats for each candidate: multiply by β and add to the policy's log-probs. */
  bias: Record<string, number>;
  /** The largest c of (4) among the candidates, from 0 (nothing is known of such tasks) to 1. */
  confidence: number;
  /** Rises when answers may change; 0 of a table that has had no round. */
  version: number;
}

export interface PheromoneOffer extends Play {
  table: string;
  /** STOP or whatever ended the episode by the policy's choice; a part of the path, but of no match. */
  stop?: string;
  /** Invocations beside `tools`. */
  patterns?: readonly (string | null)[];
  embedding?: ArrayLike<number>;
}

export interface DepositAnswer {
  version: number;
  deposited: boolean;
}

export class PheromoneStore {
  readonly #tables = new Map<string, PheromoneTable>();
  readonly #options: PheromoneConfig;
  readonly #maxTables: number;
  readonly #recalls = new WeakMap<PheromoneTable, WeakMap<ArrayLike<number>, Recall>>();

  /** @throws z.ZodError for options that make no sense */
  constructor({ options = {}, maxTables = 100 }: StoreOptions = {}) {
    this.#options = new PheromoneTable(options).options;
    this.#maxTables = maxTables;
  }

  get names(): string[] {
    return [...this.#tables.keys()];
  }

  get(name: string): PheromoneTable | undefined {
    return this.#tables.get(name);
  }

  /** Puts a table in its place, or another in place of one. @throws PheromoneError TOO_MANY_TABLES */
  set(name: string, table: PheromoneTable): void {
    if (!this.#tables.has(name) && this.#tables.size >= this.#maxTables) {
      throw new PheromoneError(
        "TOO_MANY_TABLES",
        `there are ${this.#maxTables} tables already: use one of them instead of "${name}", or allow more`,
      );
    }
    this.#tables.set(name, table);
  }

  /** A name that nobody has deposited under is answered as a trail that nobody has walked, and stays unknown. */
  query({ table: name, context }: PheromoneQuery): PheromoneAnswer {
    const table = this.#tables.get(name) ?? new PheromoneTable(this.#options);
    const { embedding, previousTool, level } = context;
    const candidates = context.candidates ?? [...table.tools];
    const { bias, confidence } = table.row({
      ...(level && { level }),
      ...(previousTool !== undefined && { from: previousTool }),
      candidates,
      recall: embedding && this.#recall(table, embedding),
    });
    return {
      bias: Object.fromEntries(candidates.map((tool, i) => [tool, bias[i] as number])),
      confidence: confidence.reduce((most, each) => Math.max(most, each), 0),
      version: table.version,
    };
  }

  /**
   * What the gates think of it, and one offer to the table's round. `verified` must be the server's own finding: a match with a
   * reference that the caller brings along proves nothing.
   * @throws RangeError for a play that makes no sense. @throws PheromoneError TOO_MANY_TABLES
   */
  deposit(offer: PheromoneOffer): DepositAnswer {
    const { table: name, tools, stop, patterns, embedding } = offer;
    const table = this.#tables.get(name) ?? new PheromoneTable(this.#options);
    const { quality, deposit, remember } = judge(offer, table.options);
    table.offer({
      tools: stop === undefined ? tools : [...tools, stop],
      ...(patterns && { patterns: stop === undefined ? patterns : [...patterns, null] }),
      quality,
      deposit,
      remember,
      ...(embedding && { embedding }),
    });
    if (!this.#tables.has(name)) this.set(name, table);
    return { version: table.version, deposited: deposit };
  }

  #recall(table: PheromoneTable, embedding: ArrayLike<number>): Recall | undefined {
    const known = this.#recalls.get(table)?.get(embedding);
    if (known) return known;
    const recall = table.recall(embedding);
    const recalls = this.#recalls.get(table) ?? new WeakMap<ArrayLike<number>, Recall>();
    if (recall) this.#recalls.set(table, recalls.set(embedding, recall));
    return recall;
  }

  /** Every table as {@link save} writes it. */
  save(): Record<string, string> {
    return Object.fromEntries([...this.#tables].map(([name, table]) => [name, save(table)]));
  }

  /** @throws PheromoneError of {@link load}, and then no table has changed */
  load(saved: Readonly<Record<string, string>>): void {
    const tables = Object.entries(saved).map(([name, text]) => [name, load(text)] as const);
    for (const [name, table] of tables) this.set(name, table);
  }
}
