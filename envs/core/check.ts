/** Does an environment keep the contract of `define.ts`? Answered by playing it, without a test runner or a server. */

import { checkDefinition } from "./checks/definition.ts";
import { type Finding, Findings, messageOf } from "./checks/finding.ts";
import { checkReplay, play } from "./checks/play.ts";
import { type Actions, randomPlayer, referencePlayer } from "./checks/players.ts";
import { type CallBegins, type Lender, Stage, type Start } from "./checks/stage.ts";
import { checkTasks, pickTasks } from "./checks/tasks.ts";
import type { AnyEnv, Need } from "./define.ts";
import type { TaskFiles } from "./tasks.ts";

export interface CheckOptions {
  /** Called once when the environment needs interpreters. Whoever lends them ends them. Absent: such an environment is not played. */
  lend?: (needs: readonly Need[]) => Lender | Promise<Lender>;
  /** Dataset folders for the environment's tasks. Default none. */
  files?: readonly TaskFiles[];
  /** Tasks to play of each split. Default 3. */
  tasks?: number;
  /** Default 0, 1 and 2. */
  seeds?: readonly number[];
  /** Random episodes for each task and seed, beside the reference's. Default 1. */
  episodes?: number;
  /** Steps after which an episode is left. Default 1,000. */
  maxSteps?: number;
  /** Default: random values of the action schema, or random calls of the tools. */
  actions?: Actions;
  /** A call that waits longer is a finding. A loop that never waits cannot be ended from here. Default 60,000. */
  callMs?: number;
  /** Told of each call before it begins: who watches from another thread can then say which one never returned. */
  onCall?: (begins: CallBegins) => void;
}

export interface CheckReport {
  readonly id: string;
  /** No finding is an error. */
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** How much was played; 0 means that only the definition was read. */
  readonly episodes: number;
  readonly steps: number;
}

/** Never throws for the environment's faults; the same definition and options give the same report. */
export async function checkEnv(definition: AnyEnv, options: CheckOptions = {}): Promise<CheckReport> {
  const findings = new Findings();
  const played = { episodes: 0, steps: 0 };
  try {
    if (checkDefinition(definition, findings)) await checkEpisodes(definition, options, findings, played);
  } catch (error) {
    // A getter or schema that throws where none should; still the environment's fault, and no reason to stop a list of checks.
    findings.error("throws", `the definition could not be read: ${messageOf(error)}`);
  }
  const ok = findings.list.every(({ severity }) => severity !== "error");
  return { id: String(definition?.id), ok, findings: findings.list, ...played };
}

async function checkEpisodes(
  definition: AnyEnv,
  options: CheckOptions,
  findings: Findings,
  played: { episodes: number; steps: number },
): Promise<void> {
  const { files = [], seeds = [0, 1, 2], episodes = 1, maxSteps = 1_000, callMs = 60_000 } = options;
  const source = await checkTasks(definition, files, findings);
  if (definition.tasks !== undefined && source === undefined) return;
  // A model is optional wherever it is needed, and a check must not depend on what one says.
  const needs = (definition.needs ?? []).filter((need) => need !== "model");
  if (needs.length > 0 && options.lend === undefined) {
    findings.warning("not-played", `it needs ${needs.join(", ")} and nobody lent it: pass \`lend\``);
    return;
  }
  const lender = needs.length > 0 ? await options.lend?.(needs) : undefined;
  const stage = new Stage(definition, findings, lender, callMs, options.onCall);
  const ids = source === undefined ? [undefined] : pickTasks(source, options.tasks ?? 3);
  for (const taskId of ids) {
    const task: unknown = taskId === undefined ? undefined : source?.get(taskId);
    for (const seed of seeds) {
      const start: Start = { seed, taskId, task };
      if (stage.hung) return;
      if (seed === seeds[0]) await checkTask(stage, start);
      if (definition.reference !== undefined) {
        const { player, judge } = referencePlayer(stage, start);
        const episode = await playTwice(stage, start, player, maxSteps, played);
        if (episode !== undefined) judge(episode);
      }
      for (let round = 0; round < episodes; round++) {
        await playTwice(stage, start, randomPlayer(stage, start, round, options.actions), maxSteps, played);
      }
    }
  }
}

async function playTwice(
  stage: Stage,
  start: Start,
  player: Parameters<typeof play>[2],
  maxSteps: number,
  played: { episodes: number; steps: number },
) {
  const episode = await play(stage, start, player, maxSteps);
  if (episode === undefined) return undefined;
  played.episodes++;
  played.steps += episode.steps.length;
  if (episode.end === "capped" && stage.definition.maxEpisodeSteps === undefined) {
    stage.findings.error(
      "no-end",
      `after ${maxSteps} steps the episode still runs and no maxEpisodeSteps would end it: set one`,
      { ...(start.taskId === undefined ? {} : { task: start.taskId }), seed: start.seed, step: maxSteps },
    );
  }
  await checkReplay(stage, episode);
  return episode;
}

async function checkTask(stage: Stage, start: Start): Promise<void> {
  const { definition, findings } = stage;
  if (definition.checkTask === undefined) return;
  const done = await stage.call("checkTask", start, 0, {}, (ctx) => definition.checkTask?.(ctx));
  for (const sentence of done?.value ?? []) {
    findings.error("tasks", sentence, start.taskId === undefined ? undefined : { task: start.taskId });
  }
}
