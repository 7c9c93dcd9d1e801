/** How are tasks made for training? Seeded walks over a tool graph, executed, and asked for in words. */

import { rng, type Rng } from "trailgym/env";
import { trainChains } from "../graph/split.ts";
import { hashName } from "../hash.ts";
import type { TaskLine } from "../task.ts";
import type { RecordedStep } from "../trajectory.ts";
import { type Chosen, chooseArguments, Said } from "./arguments.ts";
import type { Executor } from "./executor.ts";
import { clauseFor } from "./phrases.ts";
import { asides, type Difficulty, difficulties, requestFor, type SpokenStep } from "./request.ts";
import type { BookTool, Toolbook } from "./toolbook.ts";

export interface GenerateOptions {
  /** Safe integer ≥ 0: the same seed, book and executor make the same tasks. */
  seed: number;
  /** How many. */
  tasks: number;
  /** Calls of a workflow, both ends included; 1 to 20 or more. */
  steps: { min: number; max: number };
  /** Tasks with one sequence of tools but other arguments and words; they share a split. Default 1. */
  perChain?: number;
  /** Share of the sequences whose tasks are for testing. Default 0.25. */
  test?: number;
  /** In turn. Default easy, medium, hard. */
  difficulties?: readonly Difficulty[];
  /** Tools shown beside those that the workflow needs. Default 8. */
  distractors?: number;
  /** Of ids and of `source`. Default "generated". */
  name?: string;
  signal?: AbortSignal;
}

export class TooFewWalks extends Error {
  override readonly name = "TooFewWalks";
  constructor(made: number, wanted: number, { min, max }: GenerateOptions["steps"]) {
    super(`only ${made} of ${wanted} tasks: the graph has too few different walks of ${min} to ${max} steps`);
  }
}

/** Walks that may fail, for each sequence of tools that is wanted. */
const TRIES = 200;

/** @throws TooFewWalks */
export async function generateTasks(book: Toolbook, executor: Executor, options: GenerateOptions): Promise<TaskLine[]> {
  const { seed, tasks, steps, perChain = 1, test = 0.25, distractors = 8, name = "generated" } = options;
  const levels = options.difficulties ?? difficulties;
  const chains = new Set<string>();
  const lines: TaskLine[] = [];
  for (let tries = 0, failed = 0; lines.length < tasks; tries++) {
    options.signal?.throwIfAborted();
    const chance = rng(seed, tries);
    const length = chance.int(steps.min, steps.max);
    const walked = await walk(book, executor, length, chance);
    const chain = walked && hashName(walked.map(({ tool }) => tool.name).join("\n"));
    if (walked === undefined || chain === undefined || chains.has(chain)) {
      if (++failed > TRIES) throw new TooFewWalks(lines.length, tasks, steps);
      continue;
    }
    failed = 0;
    chains.add(chain);
    const names = walked.map(({ tool }) => tool.name);
    for (let copy = 0; copy < perChain && lines.length < tasks; copy++) {
      const one = copy === 0 ? walked : await walk(book, executor, length, chance.fork(copy), names);
      if (one === undefined) continue;
      const level = levels[lines.length % levels.length] as Difficulty;
      const words = chance.fork(1000 + copy);
      lines.push({
        id: `${name}/${lines.length}`,
        source: name,
        task: requestFor(spoken(one, words), level, words, unwanted(book, names, asides[level], words)),
        tools: shownTools(book, names, distractors, words),
        reference: one.map(({ step }) => step),
        chain,
        difficulty: level,
      });
    }
  }
  const train = trainChains(chains, { seed, test });
  return lines.map((line) => ({ ...line, split: train.has(line.chain as string) ? "train" : "test" }));
}

interface WalkedStep {
  tool: BookTool;
  chosen: Chosen;
  step: RecordedStep;
}

/**
 * One workflow of so many calls, each possible with what the outputs before it have said, and none of them failed.
 * @param names the tools to call, where they are to be those of another walk. @returns undefined when it got stuck.
 */
async function walk(
  book: Toolbook,
  executor: Executor,
  length: number,
  chance: Rng,
  names?: readonly string[],
): Promise<WalkedStep[] | undefined> {
  await using execution = await executor.begin(chance.int(0, 2 ** 31 - 1));
  const said = new Said();
  const walked: WalkedStep[] = [];
  while (walked.length < length) {
    const weights = names ? new Map([[names[walked.length] as string, 1]]) : following(book, walked.at(-1)?.tool.name);
    const next = chooseNext(book, weights, walked, said, chance);
    if (next === undefined) return undefined;
    const { output, isError } = await execution.call(next.tool.name, next.chosen.arguments);
    if (isError) return undefined;
    said.hear(next.chosen, output, walked.length);
    walked.push({ ...next, step: { tool: next.tool.name, arguments: next.chosen.arguments, output, isError: false } });
  }
  return walked;
}

const following = (book: Toolbook, tool: string | undefined) =>
  tool === undefined ? book.starts : (book.edges.get(tool) ?? new Map<string, number>());

/** By weight among the tools that can be called now; no call is made twice. */
function chooseNext(
  book: Toolbook,
  weights: ReadonlyMap<string, number>,
  walked: readonly WalkedStep[],
  said: Said,
  chance: Rng,
): Pick<WalkedStep, "tool" | "chosen"> | undefined {
  const left = new Map(weights);
  while (left.size > 0) {
    const name = weighted(left, chance);
    left.delete(name);
    const tool = book.tools.get(name);
    const chosen = tool && chooseArguments(tool, book, said, chance);
    if (tool === undefined || chosen === undefined) continue;
    const key = JSON.stringify(chosen.arguments);
    if (walked.some(({ step }) => step.tool === name && JSON.stringify(step.arguments) === key)) continue;
    return { tool, chosen };
  }
  return undefined;
}

function weighted(weights: ReadonlyMap<string, number>, chance: Rng): string {
  const total = [...weights.values()].reduce((sum, one) => sum + one, 0);
  let drawn = chance.float() * total;
  for (const [name, weight] of weights) {
    drawn -= weight;
    if (drawn < 0) return name;
  }
  return [...weights.keys()].at(-1) as string;
}

/** A step goes without saying when all its arguments, and one of the next step's, are in outputs. */
function spoken(walked: readonly WalkedStep[], chance: Rng): SpokenStep[] {
  return walked.map(({ tool, chosen }, i) => {
    const feedsNext = [...(walked[i + 1]?.chosen.carried.values() ?? [])].includes(i);
    const isSaid = Object.keys(chosen.arguments).length > chosen.carried.size;
    return { clause: clauseFor(tool, chosen, chance), goesWithoutSaying: feedsNext && !isSaid };
  });
}

/** Clauses for tools that the workflow does not need, of those that could be called without any output. */
function unwanted(book: Toolbook, needed: readonly string[], count: number, chance: Rng): string[] {
  const others = chance.shuffle([...book.tools.values()].filter(({ name }) => !needed.includes(name)));
  const clauses: string[] = [];
  for (const tool of others) {
    if (clauses.length >= count) break;
    const chosen = chooseArguments(tool, book, new Said(), chance);
    if (chosen !== undefined) clauses.push(clauseFor(tool, chosen, chance));
  }
  return clauses;
}

/** Sorted: the order must not tell the solution's. */
function shownTools(book: Toolbook, needed: readonly string[], distractors: number, chance: Rng): string[] {
  const others = [...book.tools.keys()].filter((name) => !needed.includes(name));
  return [...new Set([...needed, ...chance.shuffle(others).slice(0, distractors)])].sort();
}
