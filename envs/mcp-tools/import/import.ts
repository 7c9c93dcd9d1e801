/** How do recorded trajectories become a dataset folder? Pure: whoever calls lends the files and takes the texts. */

import { headText, type DatasetHead, taskText, toolsText } from "../dataset.ts";
import { type SplitBy, splitTrajectories } from "../graph/split.ts";
import { hashName } from "../hash.ts";
import type { TaskLine } from "../task.ts";
import { chainOf, type RecordedStep } from "../trajectory.ts";
import type { ImportFile } from "./documents.ts";
import type { Draft } from "./draft.ts";
import { type FormatName, formats } from "./formats/formats.ts";
import { type Kept, type Problem, Reader } from "./reader.ts";
import { type Repairs, ToolRegistry } from "./registry.ts";

export interface ImportOptions extends DatasetHead, Kept {
  /** Files that describe tools. */
  tools?: readonly ImportFile[];
  /** Tools shown beside those that a reference needs, where the source does not list all. Default 8. */
  distractors?: number;
  /** How tasks are parted into train and test; a text: all belong to the split of that name. Default by chain. */
  split?: { by: Exclude<SplitBy, "given">; seed?: number; test?: number } | string;
  /** At most so many tasks, the first ones. */
  limit?: number;
}

export interface Imported {
  tasks: number;
  tools: number;
  /** Distinct sequences of tools. */
  chains: number;
  /** What was left out for its kind: it failed, or (`strict`) an output of it is an error. */
  failed: number;
  apiErrors: number;
  /** Documents that were left out. */
  problems: readonly Problem[];
  repairs: Repairs;
}

/** Appends `text` to the dataset's file `path`. */
export type Write = (path: string, text: string) => void | Promise<void>;

/**
 * Reads the files three times at the most, one document at a time: for what belongs together, for tools and chains, and to
 * write. A bad document is listed and the rest imported.
 */
export async function importTrajectories(
  name: FormatName,
  files: readonly ImportFile[],
  options: ImportOptions,
  write: Write,
): Promise<Imported> {
  const { limit = Infinity, distractors = 8 } = options;
  const reader = new Reader(formats[name](), files, options);
  const registry = new ToolRegistry();
  for (const file of options.tools ?? []) {
    for (const raw of await reader.tools(file)) registry.add(raw);
  }
  await reader.gather();

  const found: Found[] = [];
  for await (const draft of reader.drafts(true)) {
    for (const tool of draft.tools) registry.add(tool);
    for (const step of draft.steps) {
      const here = { ...step, tool: registry.add(step.tool) };
      if (step.isError !== true) registry.hasWorked(here);
    }
    if (found.length < limit) found.push(foundIn(draft));
  }

  const inTest = testOf(found, options.split);
  await write("dataset.json", headText(options));
  await write("tasks.jsonl", "");
  let written = 0;
  for await (const draft of reader.drafts(false)) {
    if (written >= found.length) break;
    const { split } = draft;
    const chosen =
      typeof options.split === "string" ? options.split : (split ?? (inTest.has(written) ? "test" : "train"));
    await write("tasks.jsonl", taskText(lineOf(draft, chosen, distractors, registry)));
    written++;
  }
  await write("tools.json", toolsText(registry.tools));
  return {
    tasks: written,
    tools: registry.tools.length,
    chains: new Set(found.map(({ chain }) => chain)).size,
    ...reader.left,
    problems: reader.problems,
    repairs: registry.repairs,
  };
}

/** What a split needs of a task. */
interface Found {
  task: string;
  chain: string;
  reference: RecordedStep[];
}

const foundIn = (draft: Draft): Found => ({
  task: hashName(draft.task),
  chain: draft.chain ?? hashName(chainOf({ reference: draft.steps })),
  reference: [],
});

function testOf(found: readonly Found[], split: ImportOptions["split"] = { by: "chain" }): ReadonlySet<number> {
  if (typeof split === "string") return new Set();
  const { test } = splitTrajectories(
    found.map((one, index) => ({ ...one, index })),
    split,
  );
  return new Set(test.map(({ index }) => index));
}

/** The tools are sorted: their order must not tell the solution's. */
function lineOf(draft: Draft & { id: string }, split: string, distractors: number, registry: ToolRegistry): TaskLine {
  const reference = draft.steps.map((step) => ({ ...step, tool: registry.add(step.tool) }));
  const needed = [...draft.tools, ...draft.steps.map(({ tool }) => tool)].map((tool) => registry.add(tool));
  const more = draft.isComplete === true ? [] : registry.distractors([...new Set(needed)], distractors, draft.id);
  const { id, source, task, family, difficulty, success } = draft;
  return {
    id,
    source,
    task,
    tools: [...new Set([...needed, ...more])].sort(),
    reference,
    chain: foundIn(draft).chain,
    split,
    ...(family ? { family } : {}),
    ...(difficulty ? { difficulty } : {}),
    ...(success === false ? { success } : {}),
  };
}
