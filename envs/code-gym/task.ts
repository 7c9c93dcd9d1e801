/** What is a CodeGym task, and how is a dataset folder read? The layout is in README.md. */

import { taskList, type TaskFiles, type TaskSource } from "trailgym/env";
import { z } from "zod";
import { parseJson } from "./json-line.ts";

export const ENV_ID = "code-gym-v1";
/** The released data's T_max. */
export const DEFAULT_MAX_CALLS = 256;

export const datasetFile = z.looseObject({
  env: z.literal(ENV_ID),
  name: z.string().min(1),
  description: z.string().optional(),
});

/** One line of `tasks.jsonl`. */
export const taskLine = z
  .strictObject({
    id: z.string().min(1).max(256),
    program: z.string().regex(/^programs\/[^/\\]+\.(py|js)$/, "a program is programs/<file>.py or .js"),
    question: z.string().min(1).describe("the text shown to the agent"),
    payload: z.record(z.string(), z.unknown()).optional().describe("what the program starts from; never published"),
    literal: z
      .string()
      .optional()
      .describe("the payload as a Python literal, where JSON in this file would lose something: tuples, 1.0, 2**60"),
    split: z.string().min(1).default("train"),
    family: z.string().min(1).optional(),
    referenceCalls: z.int().min(1).optional().describe("calls of the program's own solution, Done included"),
    class: z.string().optional().describe("Python: the environment class; default: the only one that there is"),
    maxCalls: z.int().min(1).optional().describe(`default ${DEFAULT_MAX_CALLS}`),
    names: z.strictObject({ Observe: z.string().min(1).optional(), Done: z.string().min(1).optional() }).optional(),
  })
  .refine(({ payload, literal }) => (payload === undefined) !== (literal === undefined), {
    message: "a task has either payload or literal",
  })
  .refine(({ literal, program }) => literal === undefined || program.endsWith(".py"), {
    message: "a literal is for Python programs",
  });
export type TaskLine = z.input<typeof taskLine>;

/** A program of a dataset; tasks of one program share one. */
export interface Program {
  readonly path: string;
  /** Read when first needed: a dataset may hold 20,000 programs. */
  source(): Promise<string>;
}

export interface CodeGymTask extends Omit<z.output<typeof taskLine>, "program" | "class"> {
  readonly language: "javascript" | "python";
  readonly program: Program;
  readonly className: string | undefined;
}

/** @throws naming file and line of everything that is wrong (the first ten). */
export async function loadTasks(datasets: readonly TaskFiles[]): Promise<TaskSource<CodeGymTask>> {
  const located = (await Promise.all(datasets.map(loadDataset))).flat();
  const places = new Map<string, string>();
  for (const { task, at } of located) {
    const other = places.get(task.id);
    if (other !== undefined) throw new Error(`${at}: two tasks have the id "${task.id}", the other is at ${other}`);
    places.set(task.id, at);
  }
  const tasks = located.map(({ task }) => task);
  const splits = Object.groupBy(tasks, (task) => task.split) as Record<string, CodeGymTask[]>;
  const { train, ...others } = splits;
  const families = new Set(tasks.flatMap(({ family }) => family ?? []));
  return taskList<CodeGymTask>(train ? { train, ...others } : others, published, [...families].sort());
}

/** What an agent may see. The payload is not among it: programs show it piece by piece, and it may be the answer. */
function published({ id, question, language, family, maxCalls = DEFAULT_MAX_CALLS }: CodeGymTask) {
  return { id, question, language, maxCalls, ...(family ? { family } : {}) };
}

/** @returns each task with its place, as file and line. */
async function loadDataset(files: TaskFiles): Promise<{ task: CodeGymTask; at: string }[]> {
  const head = readAs(datasetFile, await text(files, "dataset.json"));
  if ("problem" in head) throw new Error(`${files.name}/dataset.json: ${head.problem}`);
  const paths = new Set(await files.list());
  const programs = new Map<string, Program>();
  const problems: string[] = [];
  const lines = (await text(files, "tasks.jsonl")).split("\n");
  const tasks = lines.flatMap((line, i) => {
    if (line.trim() === "") return [];
    const at = `${files.name}/tasks.jsonl:${i + 1}`;
    const read = readAs(taskLine, line);
    if ("problem" in read || !paths.has(read.data.program)) {
      problems.push(`${at}: ${"problem" in read ? read.problem : "no such program file"}`);
      return [];
    }
    const { program: path, class: className, ...rest } = read.data;
    const program = programs.get(path) ?? lazily(files, path);
    programs.set(path, program);
    const language = path.endsWith(".py") ? ("python" as const) : ("javascript" as const);
    return [{ task: { ...rest, program, className, language }, at }];
  });
  if (problems.length > 0) {
    const more = problems.length > 10 ? `\n… and ${problems.length - 10} more` : "";
    throw new Error(problems.slice(0, 10).join("\n") + more);
  }
  if (tasks.length === 0)
    throw new Error(`${files.name}/tasks.jsonl: it is empty, and a dataset has at least one task`);
  return tasks;
}

function lazily(files: TaskFiles, path: string): Program {
  let source: Promise<string> | undefined;
  const read = () =>
    text(files, path).catch((error: unknown) => {
      // A disk that fails once must not break the program for good.
      source = undefined;
      throw error;
    });
  return { path, source: () => (source ??= read()) };
}

async function text(files: TaskFiles, path: string): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await files.read(path));
  } catch (error) {
    throw new Error(`${files.name}/${path}: ${(error as Error).message}`, { cause: error });
  }
}

function readAs<T extends z.ZodType>(schema: T, json: string): { data: z.output<T> } | { problem: string } {
  const parsed = parseJson(json);
  if ("problem" in parsed) return { problem: `not a JSON object: ${parsed.problem}` };
  const read = schema.safeParse(parsed.value);
  return read.success ? { data: read.data } : { problem: reason(read.error) };
}

function reason(error: z.ZodError): string {
  const issues = error.issues.map(({ path, message, code }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : code === "invalid_type" ? "not a JSON object" : message,
  );
  return issues.join("; ");
}
