/** Makes a dataset folder of generated tool tasks. */

import { appendFile, readFile, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { baselinesOf } from "../../../envs/mcp-tools/baselines/baselines.ts";
import { headText, taskText, toolsText } from "../../../envs/mcp-tools/dataset.ts";
import { simulatedExecutor } from "../../../envs/mcp-tools/generate/executor.ts";
import { generateTasks, TooFewWalks } from "../../../envs/mcp-tools/generate/generate.ts";
import type { Difficulty } from "../../../envs/mcp-tools/generate/request.ts";
import {
  type Toolbook,
  toolbookFile,
  toolbookFromGraph,
  toolbookOf,
} from "../../../envs/mcp-tools/generate/toolbook.ts";
import { splitTrajectories } from "../../../envs/mcp-tools/graph/split.ts";
import { reasonOf, trajectory } from "../../../envs/mcp-tools/trajectory.ts";
import { graphOf } from "../graph/sources.ts";
import { claim, discard } from "../import.ts";
import { Failure, UsageError } from "../terminal/failure.ts";
import { type Io, note, print, printJson } from "../terminal/io.ts";

export interface GenerateCommandOptions {
  out: string;
  toolbook?: string;
  graph?: string[];
  tasks: number;
  seed: number;
  minSteps: number;
  maxSteps: number;
  perChain: number;
  test: number;
  distractors: number;
  difficulty: Difficulty[];
  name?: string;
  json?: boolean;
}

export async function generate(io: Io, options: GenerateCommandOptions): Promise<void> {
  const { out, tasks, seed, minSteps, maxSteps, perChain, test, distractors, difficulty, json } = options;
  if (minSteps > maxSteps) throw new UsageError("--min-steps is more than --max-steps");
  const book = await bookOf(io, options);
  const name = options.name ?? basename(resolve(out));
  const existed = await claim(out);
  try {
    const lines = await generateTasks(book, simulatedExecutor(book), {
      ...{ seed, tasks, perChain, test, distractors, name },
      steps: { min: minSteps, max: maxSteps },
      difficulties: difficulty,
      signal: io.signal,
    });
    await writeFile(join(out, "dataset.json"), headText({ name }));
    await writeFile(join(out, "tools.json"), toolsText(book.tools.values()));
    for (const line of lines) await appendFile(join(out, "tasks.jsonl"), taskText(line));

    const parts = splitTrajectories(
      lines.map((line) => trajectory.parse(line)),
      { by: "given" },
    );
    const result = {
      out,
      tasks: lines.length,
      train: parts.train.length,
      test: parts.test.length,
      tools: book.tools.size,
    };
    if (json === true) return printJson(io, result);
    print(
      io,
      `made ${result.tasks} tasks (${result.train} train, ${result.test} test) over ${result.tools} tools in ${out}; \`trailgym serve --tasks ${out}\` serves them`,
    );
    if (result.train === 0 || result.test === 0) return;
    const { neighbour } = baselinesOf(parts.train, parts.test);
    note(
      io,
      `copying the nearest request matches ${neighbour.positional.toFixed(3)} of the test; \`trailgym baselines ${out} --split given\` says more`,
    );
  } catch (error) {
    await discard(out, existed);
    io.signal.throwIfAborted();
    throw error instanceof TooFewWalks ? new Failure(error.message, { cause: error }) : error;
  }
}

async function bookOf(io: Io, { toolbook, graph }: GenerateCommandOptions): Promise<Toolbook> {
  if ((toolbook === undefined) === (graph === undefined)) {
    throw new UsageError("give either --toolbook FILE or --graph FILE…: something must say which tools there are");
  }
  if (graph !== undefined) return toolbookFromGraph(await graphOf(io, graph));
  const path = toolbook as string;
  try {
    const read = toolbookFile.safeParse(JSON.parse(await readFile(path, "utf8")));
    if (!read.success) throw new Error(reasonOf(read.error));
    return toolbookOf(read.data);
  } catch (error) {
    throw new Failure(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
