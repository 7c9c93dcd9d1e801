/** Which trajectories, or which graph, are in the files and folders of a command line? */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { type Graph, GraphBuilder, type GraphOptions } from "../../../envs/mcp-tools/graph/graph.ts";
import { readGraph } from "../../../envs/mcp-tools/graph/read.ts";
import { documentsOf, type ImportFile } from "../../../envs/mcp-tools/import/documents.ts";
import {
  reasonOf,
  toolEntry,
  type ToolEntry,
  trajectory,
  type Trajectory,
} from "../../../envs/mcp-tools/trajectory.ts";
import { Failure, UsageError } from "../terminal/failure.ts";
import { type Io, note } from "../terminal/io.ts";

/** Bad lines that are told one by one. */
const SHOWN = 5;

/** Read when asked for, piece by piece, as often as asked for. @throws UsageError when there is no such file */
export async function lendFile(path: string): Promise<ImportFile> {
  const there = await stat(path).catch((error: Error) => {
    throw new UsageError(`${path}: ${error.message}`);
  });
  if (!there.isFile()) throw new UsageError(`${path} is not a file`);
  return { name: relative(process.cwd(), resolve(path)), chunks: () => createReadStream(path) };
}

export interface Source {
  readonly name: string;
  /** Bad lines are told, and passed over. */
  trajectories(io: Io): AsyncGenerator<Trajectory>;
  /** Descriptions that are not in the trajectories. */
  readonly tools: readonly ToolEntry[];
}

/** @param path a file of trajectories, or a dataset folder. @throws UsageError, Failure */
export async function openSource(path: string): Promise<Source> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory() !== true) {
    const file = await lendFile(path);
    return { name: file.name, tools: [], trajectories: (io) => read(io, file) };
  }
  const file = await lendFile(join(path, "tasks.jsonl"));
  const shared = await lendFile(join(path, "tools.json")).catch(() => undefined);
  const tools = shared === undefined ? [] : await toolsOf(shared);
  return { name: relative(process.cwd(), resolve(path)) || ".", tools, trajectories: (io) => read(io, file) };
}

async function* read(io: Io, file: ImportFile): AsyncGenerator<Trajectory> {
  let bad = 0;
  for await (const found of documentsOf(file)) {
    io.signal.throwIfAborted();
    const one = "value" in found ? trajectory.safeParse(found.value) : undefined;
    if (one?.success === true) {
      yield one.data;
      continue;
    }
    const reason = "problem" in found ? found.problem : one ? reasonOf(one.error) : "";
    if (++bad <= SHOWN) note(io, `${file.name}:${found.line}: ${reason}`);
  }
  if (bad > SHOWN) note(io, `${file.name}: … and ${bad - SHOWN} more lines that are no trajectories`);
}

async function toolsOf(file: ImportFile): Promise<ToolEntry[]> {
  const tools: ToolEntry[] = [];
  for await (const found of documentsOf(file, { whole: true })) {
    const list: unknown[] = "value" in found && Array.isArray(found.value) ? found.value : [];
    tools.push(...list.flatMap((entry) => toolEntry.safeParse(entry).data ?? []));
  }
  return tools;
}

/** The graph that a file holds, or that of all trajectories. @throws Failure when there is neither */
export async function graphOf(io: Io, paths: readonly string[], options: GraphOptions = {}): Promise<Graph> {
  const [first] = paths;
  const ready = paths.length === 1 && first !== undefined ? await graphIn(first) : undefined;
  if (ready !== undefined) return ready;
  const builder = new GraphBuilder(options);
  let count = 0;
  for (const path of paths) {
    const source = await openSource(path);
    builder.describe([...source.tools]);
    for await (const one of source.trajectories(io)) {
      builder.add(one);
      count++;
    }
  }
  if (count === 0) throw new Failure(`no trajectory in ${paths.join(", ")}; \`trailgym import\` reads other formats`);
  return builder.build();
}

/** Undefined: the file holds something else. @throws Failure when it is a graph with a mistake */
async function graphIn(path: string): Promise<Graph | undefined> {
  if (!/\.json$/i.test(path)) return undefined;
  for await (const found of documentsOf(await lendFile(path), { whole: true })) {
    const document = "value" in found ? (found.value as { tools?: unknown; edges?: unknown } | null) : null;
    const tools: unknown = document?.tools;
    const isGraph =
      Array.isArray(tools) && (document?.edges !== undefined || "next_tools" in ((tools[0] ?? {}) as object));
    if (!isGraph) return undefined;
    try {
      return readGraph(document);
    } catch (error) {
      throw new Failure(`${path}: ${(error as Error).message}`, { cause: error });
    }
  }
  return undefined;
}
