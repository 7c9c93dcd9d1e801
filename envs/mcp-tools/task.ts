/** What is a task of tool calls, and how is a dataset folder read? The layout is in README.md. */

import { taskList, type TaskFiles, type TaskSource } from "trailgym/env";
import { z } from "zod";
import { DatasetError, type DatasetProblem, type DatasetProblemKind } from "./problems.ts";
import { schemaProblem } from "./schema/schema.ts";
import { reasonOf, STOP, toolEntry, trajectory, type ToolEntry, type Trajectory } from "./trajectory.ts";
import { World } from "./world.ts";

export const ENV_ID = "mcp-tools-v1";

export const datasetFile = z.looseObject({
  env: z.literal(ENV_ID),
  name: z.string().min(1),
  description: z.string().optional(),
});

/** A line of `tasks.jsonl` is a trajectory whose unknown keys are mistakes. */
export const taskLine = z.strictObject({
  ...trajectory.shape,
  license: z.string().optional().describe("of the recording, where it is not the dataset's"),
});
export type TaskLine = z.input<typeof taskLine>;

export interface McpTask extends Omit<Trajectory, "tools" | "split"> {
  readonly split: string;
  /** In the order that the policy sees; every tool of the reference is among them. */
  readonly tools: readonly ToolEntry[];
  /** Shared by all tasks of its dataset. */
  readonly world: World;
}

/** The solution and what others recorded are not among the fields that whoever copies or prints a task comes upon. */
function taskOf(
  { split = "train", reference, ...shown }: Trajectory,
  tools: readonly ToolEntry[],
  world: World,
): McpTask {
  const hidden = { reference: { value: reference }, world: { value: world } };
  return Object.defineProperties({ ...shown, split, tools }, hidden) as McpTask;
}

/** @throws DatasetError with everything that is wrong in any of the datasets. */
export async function loadTasks(datasets: readonly TaskFiles[]): Promise<TaskSource<McpTask>> {
  const problems: DatasetProblem[] = [];
  const places = new Map<string, string>();
  const tasks: McpTask[] = [];
  for (const files of datasets) {
    for (const { task, at } of await loadDataset(files, problems)) {
      const other = places.get(task.id);
      if (other === undefined) tasks.push(task);
      else
        problems.push({
          kind: "duplicate_task",
          at,
          message: `two tasks have the id "${task.id}": the other is at ${other}`,
        });
      places.set(task.id, other ?? at);
    }
  }
  if (problems.length > 0) throw new DatasetError(problems);
  const splits = Object.groupBy(tasks, ({ split }) => split) as Record<string, McpTask[]>;
  const { train, ...others } = splits;
  const families = new Set(tasks.flatMap(({ family }) => family ?? []));
  return taskList<McpTask>(train ? { train, ...others } : others, published, [...families].sort());
}

/** What an agent may see: the request, and nothing that tells how long its solution is. */
function published({ id, task, tools, family, difficulty }: McpTask) {
  return {
    id,
    task,
    tools: tools.length,
    ...(family ? { family } : {}),
    ...(difficulty ? { difficulty } : {}),
  };
}

type Report = (kind: DatasetProblemKind, at: string, message: string) => void;

async function loadDataset(files: TaskFiles, problems: DatasetProblem[]): Promise<{ task: McpTask; at: string }[]> {
  const report: Report = (kind, at, message) => problems.push({ kind, at: `${files.name}/${at}`, message });
  const head = await text(files, "dataset.json", report);
  const lines = await text(files, "tasks.jsonl", report);
  if (head === undefined || lines === undefined) return [];
  const read = parsed(datasetFile, head);
  if ("problem" in read) report("line", "dataset.json", read.problem);

  const shared = await sharedTools(files, report);
  // Of its tasks nothing could be said but that their tools are missing.
  if (shared === undefined) return [];
  const located: { line: Trajectory; tools: ToolEntry[]; at: string }[] = [];
  for (const [i, raw] of lines.split("\n").entries()) {
    if (raw.trim() === "") continue;
    const at = `tasks.jsonl:${i + 1}`;
    const task = parsed(taskLine, raw);
    if ("problem" in task) report("line", at, task.problem);
    else {
      const tools = toolsFor(task.data, shared, at, report);
      located.push({ line: task.data, tools, at: `${files.name}/${at}` });
    }
  }
  if (located.length === 0 && problems.length === 0)
    report("empty", "tasks.jsonl", "it is empty, and a dataset has at least one task");

  const everyTool = new Map([
    ...shared,
    ...located.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)),
  ]);
  const world = new World(
    everyTool.values(),
    located.map(({ line }) => line),
  );
  return located.map(({ line, tools, at }) => ({ task: taskOf(line, tools, world), at }));
}

/** `tools.json`: a list, so that two of one name can be told from one. @returns undefined when it cannot be read. */
async function sharedTools(files: TaskFiles, report: Report): Promise<Map<string, ToolEntry> | undefined> {
  const shared = new Map<string, ToolEntry>();
  if (!(await files.list()).includes("tools.json")) return shared;
  const json = await text(files, "tools.json", report);
  if (json === undefined) return undefined;
  const read = parsed(z.array(z.unknown()), json);
  if ("problem" in read) {
    report("line", "tools.json", read.problem);
    return undefined;
  }
  addTools(read.data, shared, "tools.json", report);
  return shared;
}

/** Reports what is wrong with each; only sound ones are added. */
function addTools(entries: readonly unknown[], to: Map<string, ToolEntry>, at: string, report: Report): void {
  for (const [i, raw] of entries.entries()) {
    const read = toolEntry.safeParse(raw);
    if (!read.success) {
      report("line", at, `tool ${i + 1}: ${reasonOf(read.error)}`);
      continue;
    }
    const tool = read.data;
    const problem = schemaProblem(tool.inputSchema);
    if (tool.name === STOP) report("reserved_tool", at, `a tool is called ${STOP}, which is how an episode is ended`);
    else if (to.has(tool.name)) report("duplicate_tool", at, `two tools are called "${tool.name}"`);
    else if (problem !== undefined) report(problem.kind, at, `the inputSchema of "${tool.name}": ${problem.message}`);
    // One of two is kept, and a bad one too: that a task uses it is not another problem.
    if (!to.has(tool.name)) to.set(tool.name, tool);
  }
}

function toolsFor(line: Trajectory, shared: ReadonlyMap<string, ToolEntry>, at: string, report: Report): ToolEntry[] {
  const own = new Map<string, ToolEntry>();
  for (const tool of line.tools) {
    if (typeof tool !== "string") addTools([tool], own, at, report);
    else if (own.has(tool)) report("duplicate_tool", at, `two tools are called "${tool}"`);
    else {
      const entry = shared.get(tool);
      if (entry === undefined) report("unknown_tool", at, `tools.json does not describe "${tool}"`);
      else own.set(tool, entry);
    }
  }
  // A task that lists none has those of its dataset.
  const tools = line.tools.length > 0 ? own : new Map(shared);
  for (const { tool } of line.reference) {
    if (tools.has(tool)) continue;
    report("unknown_tool", at, `the reference calls "${tool}", which is not among the task's tools`);
    tools.set(tool, toolEntry.parse({ name: tool }));
  }
  return [...tools.values()];
}

async function text(files: TaskFiles, path: string, report: Report): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await files.read(path));
  } catch (error) {
    report("file", path, (error as Error).message);
    return undefined;
  }
}

function parsed<T extends z.ZodType>(schema: T, json: string): { data: z.output<T> } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    return { problem: `not JSON: ${(error as Error).message}` };
  }
  const read = schema.safeParse(value);
  return read.success ? { data: read.data } : { problem: reasonOf(read.error) };
}
