/** What has been played already? The folder of an evaluation: written episode by episode, and read again to go on. */

import { appendFileSync, createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Failure } from "../terminal/failure.ts";
import type { EpisodeRecord, InfrastructureFailure, Outcome } from "./record.ts";
import type { Summary } from "./summary.ts";

const SETTINGS = "settings.json";
const TRAJECTORIES = "trajectories.jsonl";
const FAILURES = "infrastructure.jsonl";
const SUMMARY = "summary.json";
const LOCK = "lock";

/** What makes two runs the same evaluation. */
export type Settings = Readonly<Record<string, unknown>>;

export interface Store extends AsyncDisposable {
  /** Episodes that count, by key; those of earlier runs first. */
  readonly outcomes: Map<string, Outcome>;
  add(record: EpisodeRecord): void;
  fail(failure: InfrastructureFailure): void;
  finish(summary: Summary & { settings: Settings }): Promise<void>;
  /** Appends to a file of agents' stderr; undefined without a folder. */
  readonly agentLog: ((chunk: Buffer) => void) | undefined;
}

export function memoryStore(): Store {
  const outcomes = new Map<string, Outcome>();
  return {
    outcomes,
    add: (record) => void outcomes.set(record.key, outcomeOf(record)),
    fail: () => undefined,
    finish: () => Promise.resolve(),
    agentLog: undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/**
 * @param force starts over where the settings differ; the other evaluation is moved to `old-1`, `old-2` …
 * @throws Failure when the folder is of another evaluation, in use, or holds what no evaluation wrote
 */
export async function openStore(folder: string, settings: Settings, force: boolean): Promise<Store> {
  await mkdir(folder, { recursive: true });
  const lock = join(folder, LOCK);
  await takeLock(folder, lock);
  try {
    await claim(folder, settings, force);
    const trajectories = join(folder, TRAJECTORIES);
    await dropTornLine(trajectories);
    const outcomes = await readOutcomes(trajectories);
    return {
      outcomes,
      add(record) {
        // In one write and before it counts: a run that is killed has played exactly what is in the file.
        appendFileSync(trajectories, `${JSON.stringify(record)}\n`);
        outcomes.set(record.key, outcomeOf(record));
      },
      fail: (failure) => appendFileSync(join(folder, FAILURES), `${JSON.stringify(failure)}\n`),
      finish: (summary) => writeWhole(join(folder, SUMMARY), summary),
      agentLog: (chunk) => appendFileSync(join(folder, "agent.log"), chunk),
      [Symbol.asyncDispose]: () => rm(lock, { force: true }),
    };
  } catch (error) {
    await rm(lock, { force: true });
    throw error;
  }
}

/** Two runs that write one file would each miss what the other plays. */
async function takeLock(folder: string, lock: string): Promise<void> {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      await writeFile(lock, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = Number(await readFile(lock, "utf8").catch(() => ""));
    if (holder > 0 && isAlive(holder)) {
      throw new Failure(
        `${folder} is in use by process ${holder}; wait for it, or remove ${lock} if it is no evaluation`,
      );
    }
    // Its run was killed.
    await rm(lock, { force: true });
  }
  throw new Failure(`${folder} is in use by another run; wait for it`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function claim(folder: string, settings: Settings, force: boolean): Promise<void> {
  const file = join(folder, SETTINGS);
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) {
    if (await exists(join(folder, TRAJECTORIES))) {
      if (!force) throw new Failure(`${folder} has trajectories and no ${SETTINGS}; --force moves them aside`);
      await moveAside(folder);
    }
    return writeWhole(file, settings);
  }
  const changed = changedKeys(parse(text, file), settings);
  if (changed.length === 0) return;
  if (!force) {
    const what = changed.join(", ");
    throw new Failure(
      `${folder} holds an evaluation with other settings (${what}); use another --out, or --force to start over`,
    );
  }
  await moveAside(folder);
  await writeWhole(file, settings);
}

function changedKeys(before: Settings, after: Settings): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

async function moveAside(folder: string): Promise<void> {
  const names = await readdir(folder);
  let n = 1;
  while (names.includes(`old-${n}`)) n++;
  const aside = join(folder, `old-${n}`);
  await mkdir(aside);
  for (const name of [SETTINGS, TRAJECTORIES, FAILURES, SUMMARY, "agent.log"]) {
    if (names.includes(name)) await rename(join(folder, name), join(aside, name));
  }
}

/** A line is there when its end is: what a killed run left of one is cut off. */
async function dropTornLine(file: string): Promise<void> {
  if (!(await exists(file))) return;
  await using handle = await open(file, "r+");
  let { size: end } = await handle.stat();
  const chunk = Buffer.alloc(65_536);
  while (end > 0) {
    const start = Math.max(0, end - chunk.length);
    const { bytesRead } = await handle.read(chunk, 0, end - start, start);
    const newline = chunk.subarray(0, bytesRead).lastIndexOf(10);
    if (newline >= 0) {
      await handle.truncate(start + newline + 1);
      return;
    }
    end = start;
  }
  await handle.truncate(0);
}

async function readOutcomes(file: string): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  if (!(await exists(file))) return outcomes;
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++;
    const record = parse(text, `${file}:${line}`) as unknown as EpisodeRecord;
    if (typeof record.key !== "string") throw new Failure(`${file}:${line}: not an episode; use another --out`);
    outcomes.set(record.key, outcomeOf(record));
  }
  return outcomes;
}

function outcomeOf({ key, task, family, episode, seed, agentSeed, ...rest }: EpisodeRecord): Outcome {
  const { return: value, steps, terminated, truncated, error } = rest;
  return { key, task, family, episode, seed, agentSeed, return: value, steps, terminated, truncated, error };
}

function parse(text: string, place: string): Settings {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Settings;
  } catch {
    // Said below.
  }
  throw new Failure(`${place} is not JSON: no evaluation wrote it; use another --out`);
}

/** Whole or not at all. */
async function writeWhole(file: string, value: unknown): Promise<void> {
  await writeFile(`${file}.tmp`, `${JSON.stringify(value, undefined, 2)}\n`);
  await rename(`${file}.tmp`, file);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
