/** What does a set of tasks give away for nothing? Three players that learn no policy. */

import { type Match, matchOf } from "../match.ts";
import { toolsOf, type ToolEntry, type Trajectory } from "../trajectory.ts";
import { Bigram, type BigramScore, scoreBigram } from "./bigram.ts";
import { TfIdf } from "./tfidf.ts";

type Task = Pick<Trajectory, "id" | "task" | "reference" | "tools">;

/** Means over the test tasks; `exact` is a share. */
export type MeanMatch = { [Key in keyof Match]: number };

export interface Baselines {
  train: number;
  test: number;
  /** Copies the tools of the training task whose request is most alike (TF-IDF cosine). */
  neighbour: MeanMatch;
  bigram: BigramScore & {
    /** Follows its own predictions from START. */
    greedy: MeanMatch;
  };
  retrieval: {
    /** Calls the tools whose descriptions are most like the request, best first, as many as training tasks have steps on average. */
    ranked: MeanMatch;
    /** Share of a reference's distinct tools among the 10 most alike. */
    recallAt10: number;
  };
}

export interface BaselineOptions {
  /** H. Default 20. */
  horizon?: number;
  /** Descriptions for retrieval, beside those in the tasks. */
  tools?: readonly Pick<ToolEntry, "name" | "description">[];
}

/** @throws Error when one side is empty. */
export function baselinesOf(
  train: readonly Task[],
  test: readonly Task[],
  { horizon = 20, tools = [] }: BaselineOptions = {},
): Baselines {
  if (train.length === 0 || test.length === 0) {
    throw new Error(`${train.length} tasks to learn from and ${test.length} to test: there must be some of both`);
  }
  const requests = new TfIdf(train.map(({ task }) => task));
  const neighbours = test.map(({ task }) => train[best(requests.cosines(task))] as Task);
  const bigram = new Bigram(train);
  const greedy = bigram.play(horizon);
  return {
    train: train.length,
    test: test.length,
    neighbour: meanMatch(test, (_, i) => toolsOf(neighbours[i] as Task), horizon),
    bigram: { ...scoreBigram(bigram, test), greedy: meanMatch(test, () => greedy, horizon) },
    retrieval: retrieval(train, test, tools, horizon),
  };
}

const RECALL = 10;

function retrieval(
  train: readonly Task[],
  test: readonly Task[],
  tools: BaselineOptions["tools"] & {},
  horizon: number,
): Baselines["retrieval"] {
  const descriptions = described([...train, ...test], tools);
  const names = [...descriptions.keys()];
  const index = new TfIdf(names.map((name) => `${spaced(name)} ${descriptions.get(name) ?? ""}`));
  const rankings = test.map(({ task }) => {
    const cosines = index.cosines(task);
    const order = names.map((_, i) => i).sort((a, b) => (cosines[b] as number) - (cosines[a] as number));
    return order.map((i) => names[i] as string);
  });
  const steps = mean(train.map(({ reference }) => reference.length));
  const length = Math.min(horizon, Math.max(1, Math.round(steps)));
  const recalls = test.map((one, i) => {
    const wanted = new Set(toolsOf(one));
    return (rankings[i] as string[]).slice(0, RECALL).filter((name) => wanted.has(name)).length / wanted.size;
  });
  return {
    ranked: meanMatch(test, (_, i) => (rankings[i] as string[]).slice(0, length), horizon),
    recallAt10: mean(recalls),
  };
}

/** Every tool that is known, the test's included: tools are given, only their use is to be learnt. */
function described(
  tasks: readonly Task[],
  more: readonly Pick<ToolEntry, "name" | "description">[],
): Map<string, string> {
  const found = new Map(more.map(({ name, description }) => [name, description]));
  for (const { tools, reference } of tasks) {
    for (const tool of tools)
      if (typeof tool !== "string" && !found.get(tool.name)) found.set(tool.name, tool.description);
    for (const { tool } of reference) if (!found.has(tool)) found.set(tool, "");
  }
  return found;
}

/** "get_userProfile" as three words. */
const spaced = (name: string) => name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll("_", " ");

function meanMatch(
  test: readonly Task[],
  play: (task: Task, i: number) => readonly string[],
  horizon: number,
): MeanMatch {
  const matches = test.map((task, i) => matchOf(play(task, i).slice(0, horizon), toolsOf(task), horizon));
  const of = (key: keyof Match) => mean(matches.map((match) => Number(match[key])));
  return {
    positional: of("positional"),
    prefix: of("prefix"),
    strict: of("strict"),
    lcsF1: of("lcsF1"),
    edit: of("edit"),
    exact: of("exact"),
    inclusion: of("inclusion"),
  };
}

/** The first of the largest. */
function best(scores: Float64Array): number {
  let at = 0;
  for (let i = 1; i < scores.length; i++) if ((scores[i] as number) > (scores[at] as number)) at = i;
  return at;
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / (numbers.length || 1);
