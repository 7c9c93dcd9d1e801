/** How does the released CodeGym data become a dataset folder? Pure: whoever calls lends the files and takes the texts. */

import { readInstance, renames, splitKey, type Instance } from "./instance.ts";
import { fileText, isRows, rowsOf, type ImportFile, type Row } from "./rows.ts";
import { ENV_ID, taskLine, type TaskLine } from "./task.ts";

export { bytesFile, type ImportFile } from "./rows.ts";

export interface ImportOptions {
  /** Of the dataset. */
  name: string;
  description?: string;
  /** Of every task. Default "train". */
  split?: string;
}

export interface Imported {
  tasks: number;
  programs: number;
  /** Rows that were left out, each with its reason. `line` counts from 1, and is 0 for a whole file. */
  problems: { file: string; line: number; reason: string }[];
}

/** Appends `text` to the dataset's file `path`. */
export type Write = (path: string, text: string) => void | Promise<void>;

/**
 * Reads training instances (JSONL or Parquet; `gym_env` inside, or the programs apart), tables of programs (`env_code`,
 * `env_name`, `source`), and programs as `{code_id}__{EnvName}.py`, in any order. A bad row is listed and the rest imported.
 */
export async function importCodeGym(
  files: readonly ImportFile[],
  options: ImportOptions,
  write: Write,
): Promise<Imported> {
  const problems: Imported["problems"] = [];
  const sources = new Map<string, string>();
  const instances: ImportFile[] = [];
  for (const file of files) {
    const report = (line: number, reason: string) => problems.push({ file: file.name, line, reason });
    try {
      if (/\.py$/i.test(file.name)) sources.set(keyOfPath(file.name), await fileText(file));
      else if (!isRows(file)) report(0, "not a .jsonl, .parquet or .py file");
      else if (await holdsPrograms(file)) await readPrograms(file, sources, report);
      else instances.push(file);
    } catch (error) {
      report(0, (error as Error).message);
    }
  }

  const dataset = new Dataset(options, write, sources);
  const { name, description } = options;
  await write(
    "dataset.json",
    `${JSON.stringify({ env: ENV_ID, name, ...(description ? { description } : {}) }, null, 2)}\n`,
  );
  await write("tasks.jsonl", "");
  for (const file of instances) {
    const report = (line: number, reason: string) => problems.push({ file: file.name, line, reason });
    await eachRow(file, report, (row) => dataset.add(readInstance(row)));
  }
  return { tasks: dataset.ids.size, programs: dataset.programs, problems };
}

type Report = (line: number, reason: string) => void;

/** Only what `use` throws about a row is the row's fault; a file that cannot be read on is reported once. */
async function eachRow(file: ImportFile, report: Report, use: (row: Row) => void | Promise<void>): Promise<void> {
  try {
    for await (const located of rowsOf(file)) {
      if ("problem" in located) report(located.line, located.problem);
      else {
        try {
          await use(located.row);
        } catch (error) {
          if (error instanceof WriteFailed) throw error;
          report(located.line, (error as Error).message);
        }
      }
    }
  } catch (error) {
    if (error instanceof WriteFailed) throw error;
    report(0, (error as Error).message);
  }
}

async function holdsPrograms(file: ImportFile): Promise<boolean> {
  for await (const located of rowsOf(file)) if ("row" in located) return "env_code" in located.row;
  return false;
}

function readPrograms(file: ImportFile, sources: Map<string, string>, report: Report): Promise<void> {
  return eachRow(file, report, ({ env_code: code, env_name: name, source }) => {
    if (typeof code !== "string" || typeof name !== "string" || typeof source !== "string") {
      throw new Error("a program has env_code, env_name and source, all text");
    }
    const key = `${source}__${name}`;
    splitKey(key);
    sources.set(key, code);
  });
}

function keyOfPath(path: string): string {
  const key = path.replace(/^.*[/\\]/, "").replace(/\.py$/i, "");
  splitKey(key);
  return key;
}

/** Not a row's fault: it ends the import. */
class WriteFailed extends Error {}

/** The folder that is being written. */
class Dataset {
  readonly ids = new Set<string>();
  readonly #paths = new Map<string, Map<string, string>>();
  readonly #options: ImportOptions;
  readonly #write: Write;
  readonly #sources: ReadonlyMap<string, string>;

  constructor(options: ImportOptions, write: Write, sources: ReadonlyMap<string, string>) {
    this.#options = options;
    this.#write = write;
    this.#sources = sources;
  }

  get programs(): number {
    return this.#paths.values().reduce((sum, paths) => sum + paths.size, 0);
  }

  async add({ key, className, index, shownTools, task, ...instance }: Instance): Promise<void> {
    const source = instance.source ?? this.#sources.get(key);
    if (source === undefined) throw new Error(`no program ${key}: the row has no gym_env, and no other file has it`);
    if (!new RegExp(`^class\\s+${className}\\b`, "m").test(source))
      throw new Error(`the program has no class ${className}`);
    const names = renames(source, shownTools);
    const id = this.#id(index === undefined ? key : `${key}/${index}`);
    const split = this.#options.split === undefined ? {} : { split: this.#options.split };
    const program = await this.#program(key, source);
    const line: TaskLine = { id, program, ...task, ...split, ...(names ? { names } : {}) };
    taskLine.parse(line);
    await this.#append("tasks.jsonl", `${JSON.stringify(line)}\n`);
    this.ids.add(id);
  }

  #id(wanted: string): string {
    let id = wanted;
    for (let n = 2; this.ids.has(id); n++) id = `${wanted}-${n}`;
    return id;
  }

  /** Rows of one key nearly always bring one source; where they do not, each source gets a file. */
  async #program(key: string, source: string): Promise<string> {
    const paths = this.#paths.get(key) ?? new Map<string, string>();
    const known = paths.get(source);
    if (known !== undefined) return known;
    const path = `programs/${key}${paths.size > 0 ? `-${paths.size + 1}` : ""}.py`;
    await this.#append(path, source);
    this.#paths.set(key, paths.set(source, path));
    return path;
  }

  async #append(path: string, text: string): Promise<void> {
    try {
      await this.#write(path, text);
    } catch (cause) {
      throw new WriteFailed("the dataset cannot be written", { cause });
    }
  }
}
