/** Turns recorded trajectories of other projects into a dataset folder; the work is the family's, the files are lent from here. */

import { appendFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { FormatName } from "../../envs/mcp-tools/import/formats/formats.ts";
import { type Imported, importTrajectories } from "../../envs/mcp-tools/import/import.ts";
import { lendFile } from "./graph/sources.ts";
import { claim, discard } from "./import.ts";
import { type Io, note, print, printJson } from "./terminal/io.ts";

export interface ImportTrajectoriesOptions {
  out: string;
  tools?: string[];
  strict: boolean;
  keepFailed: boolean;
  distractors: number;
  splitBy: "chain" | "query" | "task";
  seed: number;
  test: number;
  split?: string;
  limit?: number;
  name?: string;
  json?: boolean;
}

/** Bad rows that are shown; with --json all are. */
const SHOWN = 20;

export async function importTrajectoryFiles(
  io: Io,
  format: FormatName,
  paths: readonly string[],
  options: ImportTrajectoriesOptions,
): Promise<void> {
  const { out, tools = [], strict, keepFailed, distractors, splitBy, seed, test, limit, json } = options;
  const files = await Promise.all(paths.map(lendFile));
  const described = await Promise.all(tools.map(lendFile));
  const existed = await claim(out);
  try {
    const result = await importTrajectories(
      format,
      files,
      {
        ...{ strict, keepFailed, distractors },
        name: options.name ?? basename(resolve(out)),
        tools: described,
        split: options.split ?? { by: splitBy, seed, test },
        ...(limit === undefined ? {} : { limit }),
      },
      async (path, text) => {
        io.signal.throwIfAborted();
        await appendFile(join(out, path), text);
      },
    );
    if (result.tasks === 0) {
      await discard(out, existed);
      io.exitCode = 1;
    }
    if (json === true) printJson(io, { out, ...result });
    else show(io, out, result);
  } catch (error) {
    await discard(out, existed);
    io.signal.throwIfAborted();
    throw error;
  }
}

function show(io: Io, out: string, { tasks, tools, chains, failed, apiErrors, problems, repairs }: Imported): void {
  for (const { file, line, reason } of problems.slice(0, SHOWN))
    note(io, `${file}${line > 0 ? `:${line}` : ""}: ${reason}`);
  if (problems.length > SHOWN) note(io, `… and ${problems.length - SHOWN} more; --json lists all`);
  const told = [
    [problems.length, "rows were left out for the reasons above"],
    [failed, "trajectories that failed were left out; --keep-failed imports them"],
    [apiErrors, "trajectories with an API's error for an output were left out, as --strict asks"],
    [repairs.widened.length, "tools have a schema that refused calls which had worked: it now takes them"],
    [repairs.replaced.length, "tools have a schema that is none: they take any arguments"],
  ] as const;
  for (const [count, what] of told) if (count > 0) note(io, `${count} ${what}`);
  if (tasks === 0) return note(io, "trailgym: no task was imported");
  print(
    io,
    `imported ${tasks} tasks with ${chains} different solutions over ${tools} tools into ${out}; \`trailgym serve --tasks ${out}\` serves them`,
  );
}
