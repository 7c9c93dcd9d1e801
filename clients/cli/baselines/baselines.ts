/** What do players that learn no policy get on a set of tasks? */

import { type Baselines, baselinesOf, type MeanMatch } from "../../../envs/mcp-tools/baselines/baselines.ts";
import { type SplitBy, splitTrajectories } from "../../../envs/mcp-tools/graph/split.ts";
import type { ToolEntry, Trajectory } from "../../../envs/mcp-tools/trajectory.ts";
import { openSource } from "../graph/sources.ts";
import { Failure } from "../terminal/failure.ts";
import { type Io, note, print, printJson, width } from "../terminal/io.ts";
import { table } from "../terminal/table.ts";

export interface BaselinesOptions {
  split: SplitBy;
  seed: number;
  test: number;
  horizon: number;
  json?: boolean;
}

/** From this share of test tasks solved exactly by a copy, the split says little about new workflows. */
const LEAK = 0.1;

export async function baselines(io: Io, paths: readonly string[], options: BaselinesOptions): Promise<void> {
  const { split: by, seed, test, horizon, json } = options;
  const [all, tools] = await readAll(io, paths);
  const parts = splitTrajectories(all, { by, seed, test });
  if (parts.train.length === 0 || parts.test.length === 0) {
    throw new Failure(
      `${parts.train.length} tasks for training and ${parts.test.length} for testing: there must be some of both; ` +
        (by === "given" ? "the tasks bring no such split, choose --split chain" : "give more tasks, or another --test"),
    );
  }
  const found = baselinesOf(parts.train, parts.test, { horizon, tools });
  if (json === true) printJson(io, { split: by, seed, ...found });
  else print(io, shown(io, by, seed, found));
  if (found.neighbour.exact >= LEAK) {
    note(io, `${percent(found.neighbour.exact)} of the test tasks are solved by copying: a split by ${by} leaks here`);
  }
}

/** Without arguments and outputs: no baseline looks at them, and there may be gigabytes. */
async function readAll(io: Io, paths: readonly string[]): Promise<[Trajectory[], ToolEntry[]]> {
  const all: Trajectory[] = [];
  const tools: ToolEntry[] = [];
  for (const path of paths) {
    const source = await openSource(path);
    tools.push(...source.tools);
    for await (const one of source.trajectories(io)) {
      all.push({ ...one, reference: one.reference.map(({ tool }) => ({ tool, arguments: {} })) });
    }
  }
  return [all, tools];
}

function shown(io: Io, by: SplitBy, seed: number, { train, test, neighbour, bigram, retrieval }: Baselines): string {
  const columns = ["positional", "strict", "lcsF1", "inclusion", "exact"] as const;
  const row = (name: string, match: MeanMatch) => [name, ...columns.map((key) => match[key].toFixed(3))];
  const rows = [
    row("nearest training request (TF-IDF), copied", neighbour),
    row("likeliest next tool (bigram), from START", bigram.greedy),
    row("tools most like the request (TF-IDF)", retrieval.ranked),
  ];
  const titles = [{ title: "baseline", shrink: true }, ...columns.map((title) => ({ title, align: "right" as const }))];
  return [
    `${train} tasks for training, ${test} for testing, split by ${by}${by === "given" ? "" : `, seed ${seed}`}`,
    "",
    table(titles, rows, width(io)),
    "",
    `next tool from the true tool before it: ${bigram.toolAccuracy.toFixed(3)} right; ${percent(bigram.edgeCoverage)} of these edges occur in training`,
    `tools of a reference among the 10 most like its request: ${percent(retrieval.recallAt10)}`,
  ].join("\n");
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
