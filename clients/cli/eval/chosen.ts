/** Which tasks were asked for? */

import { readFile } from "node:fs/promises";
import type { Client } from "trailgym/client";
import type { PublicTask } from "trailgym/env";
import type { EnvEntry } from "trailgym/protocol";
import { Failure, UsageError } from "../terminal/failure.ts";

export interface Choice {
  split?: string | undefined;
  tasksFile?: string | undefined;
  limit?: number | undefined;
}

/** @returns undefined where the environment has no tasks. @throws UsageError, Failure, WireError UNKNOWN_TASK */
export async function chooseTasks(
  client: Client,
  env: EnvEntry,
  { split, tasksFile, limit }: Choice,
  signal: AbortSignal,
): Promise<PublicTask[] | undefined> {
  if (split !== undefined && tasksFile !== undefined) throw new UsageError("give --split or --tasks-file, not both");
  if (env.splits.length === 0) {
    const given = Object.entries({ "--split": split, "--tasks-file": tasksFile, "--limit": limit });
    const [flag] = given.find(([, value]) => value !== undefined) ?? [];
    if (flag === undefined) return undefined;
    throw new UsageError(`${env.id} has no tasks, so ${flag} means nothing; --episodes says how many to play`);
  }
  if (tasksFile !== undefined) return (await fromFile(client, env, tasksFile, signal)).slice(0, limit);
  const of = split ?? env.splits[0];
  const tasks = await Array.fromAsync(client.tasks(env.id, { split: of, limit, signal }));
  if (tasks.length === 0) throw new Failure(`${env.id} has no tasks in split "${of}"`);
  return tasks;
}

async function fromFile(client: Client, env: EnvEntry, file: string, signal: AbortSignal): Promise<PublicTask[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new UsageError(`--tasks-file ${file}: ${error.message}`);
  });
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const ids = lines.flatMap((line, i) => (line === "" ? [] : [idOf(line, `${file}:${i + 1}`)]));
  const twice = ids.find((id, i) => ids.indexOf(id) < i);
  if (twice !== undefined)
    throw new UsageError(`--tasks-file ${file}: "${twice}" twice; --episodes plays a task again`);
  if (ids.length === 0) throw new UsageError(`--tasks-file ${file}: no task in it`);
  const known = new Map<string, PublicTask>();
  for await (const task of client.tasks(env.id, { signal })) known.set(task.id, task);
  return ids.map((id) => {
    const task = known.get(id);
    if (task === undefined) throw new UsageError(`--tasks-file ${file}: ${env.id} has no task "${id}"`);
    return task;
  });
}

function idOf(line: string, place: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const { id } = JSON.parse(line) as { id?: unknown };
    if (typeof id === "string") return id;
  } catch {
    // Said below.
  }
  throw new UsageError(`${place}: neither a task's id nor a JSON object with an "id"`);
}
