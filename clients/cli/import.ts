/** Turns CodeGym's released data into a dataset folder; the work is the family's, the files are lent from here. */

import { appendFile, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { type ImportFile, importCodeGym } from "../../envs/code-gym/import.ts";
import { Failure, UsageError } from "./terminal/failure.ts";
import { type Io, note, print, printJson } from "./terminal/io.ts";
import { startProgress } from "./terminal/progress.ts";

export interface ImportOptions {
  out: string;
  sources?: string[];
  limit?: number;
  split: string;
  name?: string;
  strict: boolean;
  json?: boolean;
}

/** Bad rows that are shown; with --json all are. */
const SHOWN = 20;

export async function importCodeGymFiles(io: Io, files: readonly string[], options: ImportOptions): Promise<void> {
  const { out, sources = [], split, limit = Infinity, strict, json } = options;
  const paths = [...files, ...(await Promise.all(sources.map(programsIn))).flat()];
  const opened = await Promise.all(paths.map(lend));
  const existed = await claim(out);
  const target = new Target(resolve(out), limit, io.signal);
  try {
    const name = options.name ?? basename(resolve(out));
    const { tasks, programs, problems } = await withProgress(io, opened, (files) =>
      importCodeGym(files, { name, split }, (path, text) => target.write(path, text)),
    );
    const kept = Math.min(tasks, limit);
    if (kept === 0) await discard(out, existed);
    if (kept === 0 || (strict && problems.length > 0)) io.exitCode = 1;
    const result = { out, tasks: kept, programs: tasks > limit ? target.programs : programs, problems };
    if (json === true) return printJson(io, result);
    show(io, result);
  } catch (error) {
    await discard(out, existed);
    io.signal.throwIfAborted();
    throw error;
  }
}

/** By the bytes that are read. A file that is read again, in whole or in part, counts once. */
async function withProgress<T>(
  io: Io,
  files: readonly ImportFile[],
  work: (files: readonly ImportFile[]) => Promise<T>,
): Promise<T> {
  const total = files.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const progress = await startProgress(io, "importing", total, { percent: true });
  const watched = files.map((file): ImportFile => {
    let left = file.byteLength;
    return {
      ...file,
      async slice(start, end) {
        const piece = await file.slice(start, end);
        const more = Math.min(left, piece.byteLength);
        left -= more;
        progress.advance(undefined, more);
        return piece;
      },
    };
  });
  try {
    return await work(watched);
  } finally {
    progress.stop();
  }
}

interface Result {
  out: string;
  tasks: number;
  programs: number;
  problems: readonly { file: string; line: number; reason: string }[];
}

function show(io: Io, { out, tasks, programs, problems }: Result): void {
  for (const { file, line, reason } of problems.slice(0, SHOWN))
    note(io, `${file}${line > 0 ? `:${line}` : ""}: ${reason}`);
  if (problems.length > SHOWN) note(io, `… and ${problems.length - SHOWN} more; --json lists all`);
  if (problems.length > 0) note(io, `${problems.length} ${problems.length === 1 ? "row was" : "rows were"} left out`);
  if (tasks === 0) note(io, "trailgym: no task was imported");
  else
    print(
      io,
      `imported ${tasks} tasks of ${programs} programs into ${out}; \`trailgym serve --tasks ${out}\` serves them`,
    );
}

/** Must be new, or empty: two imports in one folder would be neither. @returns whether it was there. */
export async function claim(out: string): Promise<boolean> {
  const there = await stat(out).catch(() => undefined);
  if (there !== undefined && !there.isDirectory()) throw new UsageError(`--out ${out} is a file; give a folder`);
  if (there !== undefined && (await readdir(out)).length > 0) {
    throw new UsageError(`--out ${out} is not empty; give a new folder, or remove it first`);
  }
  await mkdir(out, { recursive: true });
  return there !== undefined;
}

/** Only what this import has made: the folder was new or empty. */
export async function discard(out: string, existed: boolean): Promise<void> {
  if (!existed) return rm(out, { recursive: true, force: true });
  await Promise.all((await readdir(out)).map((name) => rm(join(out, name), { recursive: true, force: true })));
}

/** The dataset folder. The limit is kept here: what comes after it is read, so that its bad rows are known, and not written. */
class Target {
  /** Programs written. */
  programs = 0;
  readonly #folder: string;
  readonly #limit: number;
  readonly #signal: AbortSignal;
  readonly #made = new Set<string>();
  #tasks = 0;

  constructor(folder: string, limit: number, signal: AbortSignal) {
    this.#folder = folder;
    this.#limit = limit;
    this.#signal = signal;
  }

  async write(path: string, text: string): Promise<void> {
    this.#signal.throwIfAborted();
    if (this.#tasks >= this.#limit) return;
    const file = resolve(this.#folder, path);
    if (!file.startsWith(this.#folder + sep)) throw new Failure(`${path} would be written outside of the dataset`);
    await this.#ensure(dirname(file));
    await appendFile(file, text);
    if (path.startsWith("programs/")) this.programs++;
    if (path === "tasks.jsonl" && text !== "") this.#tasks++;
  }

  async #ensure(folder: string): Promise<void> {
    if (this.#made.has(folder)) return;
    await mkdir(folder, { recursive: true });
    this.#made.add(folder);
  }
}

/** A file is a source as it is; of a folder, what may hold programs. */
async function programsIn(path: string): Promise<string[]> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory() !== true) return [path];
  const names = await readdir(path, { recursive: true });
  return names
    .filter((name) => /\.(py|jsonl|ndjson|parquet)$/i.test(name))
    .sort()
    .map((name) => join(path, name));
}

/** Read piece by piece: a table may have gigabytes. Opened for each piece: there may be thousands of programs. */
async function lend(path: string): Promise<ImportFile> {
  const there = await stat(path).catch((error: Error) => {
    throw new UsageError(`${path}: ${error.message}`);
  });
  if (!there.isFile()) throw new UsageError(`${path} is not a file; folders of programs go to --sources`);
  const name = relative(process.cwd(), resolve(path));
  return { name, byteLength: there.size, slice: (start, end = there.size) => read(path, start, end) };
}

async function read(path: string, start: number, end: number): Promise<ArrayBuffer> {
  await using handle = await open(path);
  const bytes = new Uint8Array(Math.max(0, end - start));
  for (let at = 0; at < bytes.length;) {
    const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at);
    if (bytesRead === 0) throw new Error("the file got shorter while it was read");
    at += bytesRead;
  }
  return bytes.buffer;
}
