/** What does TrailGym do? A server, a client, every kind of task, and what happens when something goes wrong. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, WireError } from "trailgym/client";
import { type PublicTask, toolAction } from "trailgym/env";
import type { EnvEntry } from "trailgym/protocol";
import { beside } from "../beside.ts";
import { openEndpoint } from "../compose/endpoint.ts";
import { Failure } from "../terminal/failure.ts";
import { type Io, note, print, printJson, width } from "../terminal/io.ts";
import { builtInTasks, commandName } from "../package.ts";
import { startProgress } from "../terminal/progress.ts";
import { table } from "../terminal/table.ts";
import type { Row } from "./scene.ts";
import { endless, forked, imperfect, invalid, type Piece, reference, type Scene, type Stage } from "./scenes.ts";

export interface DemoOptions {
  json?: boolean;
}

const LOOP = fileURLToPath(beside(import.meta.url, "./loop.env.ts"));
const LOOP_ID = "demo-loop-v1";
/** The interpreters of two languages start side by side. */
const AT_ONCE = 2;

export async function demo(io: Io, { json }: DemoOptions): Promise<void> {
  const began = performance.now();
  const sources = { envs: [LOOP], builtinTasks: true, threads: true, logLevel: "fatal" };
  // Nobody has a use for the end of a step that is shown to nobody.
  await using endpoint = await openEndpoint(io, sources, { graceMs: 0 });
  const { client, embedded } = endpoint;
  if (embedded === undefined) throw new Failure("the demo plays on its own server");
  if (json !== true) note(io, `a server at ${embedded.url}, and a client that plays on it over a WebSocket`);

  // First of all the server: a client waits for one that still answers, and a scene for its step.
  io.signal.addEventListener("abort", () => void embedded.close(), { once: true });
  const scenes = await scenesOf(client);
  const rows = await playAll(io, scenes, { client, server: embedded });
  const failed = rows.filter(({ ok }) => !ok);
  if (failed.length > 0) io.exitCode = 1;
  if (json === true) return printJson(io, rows);
  print(io, show(rows, width(io)));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const steps = rows.reduce((sum, row) => sum + row.steps, 0);
  const verdict = failed.length === 0 ? "All as it should be." : `${failed.length} did not go as they should: see ✗.`;
  print(io, `\n${rows.length} episodes, ${steps} steps, ${seconds} s. ${verdict}\n\n${next}`);
}

const next = `Next:
  ${commandName} play code-gym-v1     play a task yourself
  ${commandName} eval --env code-gym-v1 --agent random --limit 10
  ${commandName} serve                and connect: the client is TypeScript, the wire is for any language`;

async function playAll(io: Io, scenes: readonly Scene[], stage: Stage): Promise<Row[]> {
  const progress = await startProgress(io, "playing", scenes.length);
  const rows = new Map<Scene, Row[]>();
  const queue = scenes.values();
  const work = async () => {
    for (const scene of queue) {
      io.signal.throwIfAborted();
      rows.set(scene, await played(scene, stage));
      progress.advance(scene.label);
    }
  };
  try {
    await Promise.race([Promise.all(Array.from({ length: AT_ONCE }, work)), interrupted(io.signal)]);
  } finally {
    progress.stop();
  }
  return scenes.toSorted((a, b) => a.place - b.place).flatMap((scene) => rows.get(scene) ?? []);
}

function interrupted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** A scene that fails is a row too; what a client may try again is tried once more. */
async function played(scene: Scene, stage: Stage, attempts = 2): Promise<Row[]> {
  try {
    return await scene.play(stage);
  } catch (error) {
    if (attempts > 1 && error instanceof WireError && error.retryable) return played(scene, stage, attempts - 1);
    const figures = { steps: 0, return: 0, msPerStep: 0 };
    return [{ env: scene.label, task: null, family: null, ...figures, shown: (error as Error).message, ok: false }];
  }
}

async function scenesOf(client: Client): Promise<Scene[]> {
  const entries = await client.list();
  const served = entries.filter(({ id }) => id !== LOOP_ID).toSorted((a, b) => a.splits.length - b.splits.length);
  const pieces = (await Promise.all(served.map((env) => piecesOf(client, env)))).flat();
  const loop = entries.find(({ id }) => id === LOOP_ID);
  const plain = pieces.find(({ env, task }) => task === null && env.id === "countdown-v1");
  const wrong = await wrongPlays();
  const erring = pieces.find(
    ({ env, task }) => env.id === "code-gym-v1" && task?.language === "javascript" && wrong.has(task.id),
  );
  const play = wrong.get(erring?.task?.id ?? "") ?? [];
  return [
    // Two at once: the slow starters of one language overlap with the other's.
    ...interleaved(pieces).map((piece) => reference(piece, pieces.indexOf(piece))),
    ...(plain ? [invalid(plain, { amount: 9 })] : []),
    ...(erring ? [imperfect(erring, play), forked(erring, play.at(-1))] : []),
    ...(loop ? [endless(loop)] : []),
  ];
}

/** One task of each family; the environment itself where it has no tasks. */
async function piecesOf(client: Client, env: EnvEntry): Promise<Piece[]> {
  const split = env.splits[0];
  if (split === undefined) return [{ env, task: null }];
  const first = new Map<unknown, PublicTask>();
  // A family that has programs in two languages shows both.
  for await (const task of client.tasks(env.id, { split })) {
    const kind = `${String(task.family)} ${String(task.language)}`;
    if (!first.has(kind)) first.set(kind, task);
  }
  return [...first.values()].map((task) => ({ env, task }));
}

function interleaved(pieces: readonly Piece[]): Piece[] {
  const groups = [...Map.groupBy(pieces, ({ task }) => task?.language).values()];
  const longest = Math.max(0, ...groups.map((group) => group.length));
  return Array.from({ length: longest }, (_, i) => groups.flatMap((group) => group[i] ?? [])).flat();
}

/** Plays that end with a wrong answer, by task. */
async function wrongPlays(): Promise<Map<string, unknown[]>> {
  const file = join(builtInTasks, "code-gym", "wrong-plays.json");
  const plays = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown[][]>;
  const ending = Object.entries(plays).map(([task, list]) => {
    const play = list.find((actions) => /^(Done|Submit)/.test(toolOf(actions.at(-1)) ?? ""));
    return [task, play] as const;
  });
  return new Map(ending.flatMap(([task, play]) => (play === undefined ? [] : [[task, play] as const])));
}

function toolOf(action: unknown): string | undefined {
  const parsed = toolAction.safeParse(action);
  const { tool } = (parsed.success ? parsed.data : {}) as { tool?: unknown };
  return typeof tool === "string" ? tool : undefined;
}

function show(rows: readonly Row[], wide: number): string {
  const columns = [
    { title: "" },
    { title: "environment" },
    { title: "task" },
    { title: "steps", align: "right" as const },
    { title: "return", align: "right" as const },
    { title: "ms a step", align: "right" as const },
    { title: "what was shown", shrink: true },
  ];
  const cells = rows.map(({ ok, env, task, steps, return: value, msPerStep, shown }) => {
    return [ok ? "✓" : "✗", env, task ?? "–", String(steps), String(value), msPerStep.toFixed(2), shown];
  });
  return table(columns, cells, Math.max(wide, 150));
}
