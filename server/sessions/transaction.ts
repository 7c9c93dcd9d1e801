/** Trial, check, overwrite: how one call becomes the next committed value of an episode. */

import { randomUUID } from "node:crypto";
import { nextSeed, type ResetOutcome, rng, type StepOutcome } from "trailgym/env";
import {
  canonicalJson,
  encode,
  type Json,
  tool,
  type ToolSpec,
  type Value,
  ValueError,
  WireError,
} from "trailgym/protocol";
import { z } from "zod";
import { closest } from "../closest.ts";
import type { Episode } from "../journal/journal.ts";
import type { HostedEnv } from "../registry.ts";
import { digestOf } from "./digest.ts";
import { freeze, lend } from "./freeze.ts";
import { fault, type Trial } from "./trial.ts";

/** What a reset starts from; everything in it is the client's word or was derived from it. */
export interface Start {
  seed: number;
  task: string | null;
  /** Undefined when the client named the task. */
  split: string | undefined;
  options: { readonly [key: string]: Value };
}

export interface Transition {
  episode: Episode;
  reward: number;
}

/**
 * Which task an episode plays: the named one, or the one that the seed chooses of the split.
 * @throws WireError UNKNOWN_TASK
 */
export function chooseStart(
  env: HostedEnv,
  seed: number,
  task: string | undefined,
  split: string | undefined,
  options: { readonly [key: string]: Value },
): Start {
  const { tasks } = env;
  if (tasks === undefined) {
    if (task === undefined && split === undefined) return { seed, task: null, split: undefined, options };
    throw WireError.of("UNKNOWN_TASK", `${env.id} has no tasks`, { suggestions: [] });
  }
  if (task !== undefined) {
    if (tasks.get(task) !== undefined) return { seed, task, split: undefined, options };
    throw unknownTask(env, task);
  }
  const of = split ?? tasks.splits()[0] ?? "";
  const size = tasks.size(of);
  // A stream that no step uses, so that an environment's own draws are independent of the choice of its task.
  const chosen = size > 0 ? tasks.pick(of, rng(seed, 0xffff_ffff).int(0, size - 1)) : undefined;
  if (chosen !== undefined) return { seed, task: chosen, split: of, options };
  const suggestions = closest(of, tasks.splits());
  throw WireError.of("UNKNOWN_TASK", `${env.id} has no tasks in split "${of}"`, { suggestions });
}

function unknownTask(env: HostedEnv, task: string): WireError {
  const ids = env.tasks?.list(undefined, undefined, 1000).tasks.map(({ id }) => id) ?? [];
  const suggestions = closest(task, ids);
  const hint = suggestions.length > 0 ? `; did you mean "${suggestions[0]}"?` : "; env/tasks names those there are";
  return WireError.of("UNKNOWN_TASK", `${env.id} has no task "${task}"${hint}`, { suggestions });
}

/** The start of the episode that autoreset opens after `episode`. */
export function nextStart(env: HostedEnv, episode: Episode): Start {
  const seed = nextSeed(episode.seed, 1);
  const named = episode.split === undefined && episode.task !== null ? episode.task : undefined;
  return chooseStart(env, seed, named, episode.split, episode.options);
}

/** The options with the environment's defaults. @throws WireError INVALID_PARAMS that names the key. */
export function parseOptions(env: HostedEnv, options: { readonly [key: string]: Value }): unknown {
  const parsed = env.options.safeParse(options);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error).map(({ path, message }) => ({ path: join("options", path), message }));
  throw WireError.of("INVALID_PARAMS", `${env.id}: ${describe(issues)}`, { issues });
}

export async function tryReset(env: HostedEnv, start: Start, trial: Trial): Promise<Episode> {
  const options = parseOptions(env, start.options);
  const outcome = await trial.run(
    () => env.definition.reset(trial, options) as Awaitable<ResetOutcome<unknown, unknown>>,
  );
  return {
    ...checked(env, outcome),
    id: `ep-${randomUUID()}`,
    ...start,
    index: 0,
    status: "running",
    tools: outcome.tools === undefined ? undefined : toolsOf(env, outcome.tools),
    episodeReturn: 0,
  };
}

/** @throws WireError INVALID_ACTION before anything ran */
export function parseAction(env: HostedEnv, action: Value): unknown {
  const parsed = guarded(env, "the action schema", () => env.action.safeParse(action));
  if (!parsed.success) {
    const issues = issuesOf(parsed.error);
    throw WireError.of("INVALID_ACTION", `not an action of ${env.id}: ${describe(issues)}`, { issues });
  }
  return parsed.data;
}

/** @throws WireError as {@link Trial.run} */
export function tryStep(
  env: HostedEnv,
  { state }: Episode,
  action: unknown,
  trial: Trial,
): Promise<StepOutcome<unknown, unknown>> {
  return trial.run(() => env.definition.step(trial, lend(state), action) as Awaitable<StepOutcome<unknown, unknown>>);
}

/** What came back from the trial, checked, as the next value. @throws WireError ENV_FAULT */
export function stepped(env: HostedEnv, episode: Episode, outcome: StepOutcome<unknown, unknown>): Transition {
  const next = checked(env, outcome);
  const reward = outcome.reward === undefined ? 0 : outcome.reward;
  if (!Number.isFinite(reward)) throw fault(env.id, `the reward is ${reward}`);
  if (!Number.isFinite(episode.episodeReturn + reward)) throw fault(env.id, "the episode's return is no longer finite");
  for (const flag of ["terminated", "truncated"] as const) {
    if (typeof (outcome[flag] ?? false) !== "boolean") throw fault(env.id, `${flag} is neither true nor false`);
  }
  const index = episode.index + 1;
  const truncated = outcome.truncated === true || index >= (env.definition.maxEpisodeSteps ?? Infinity);
  return {
    reward,
    episode: {
      ...episode,
      ...next,
      index,
      // An episode that the task ended at its last allowed step did end: there is nothing left to bootstrap from.
      status: outcome.terminated === true ? "terminated" : truncated ? "truncated" : "running",
      episodeReturn: episode.episodeReturn + reward,
    },
  };
}

function toolsOf(env: HostedEnv, tools: unknown): readonly ToolSpec[] {
  const parsed = conform(env, "tools", z.array(tool), tools);
  try {
    return frozenJson(parsed, "tools") as unknown as readonly ToolSpec[];
  } catch (error) {
    if (error instanceof ValueError) throw fault(env.id, error.message);
    throw error;
  }
}

/** Of a state's canonical text: every commit journals one, and a session keeps it in memory. */
const maxStateLength = 64 * 2 ** 20;

type Checked = Pick<Episode, "state" | "stateDigest" | "observation" | "info">;

/** Holds what an environment returned against its own schemas and makes it immutable. @throws WireError ENV_FAULT */
function checked(
  env: HostedEnv,
  outcome: { state: unknown; observation: unknown; info?: Record<string, unknown> },
): Checked {
  if (!isRecord(outcome)) throw fault(env.id, "what was returned is not an outcome with a state and an observation");
  const info = outcome.info ?? {};
  if (!isRecord(info)) throw fault(env.id, "info is an object that maps names to values");
  const { state: stateSchema, observation: observationSchema } = env.definition;
  const state = conform(env, "state", stateSchema, outcome.state);
  const observation = conform(env, "observation", observationSchema, outcome.observation);
  try {
    const tagged = encode(state, "state");
    const text = canonicalJson(tagged);
    if (text.length > maxStateLength)
      throw fault(env.id, `the state has ${text.length} characters as JSON, ${maxStateLength} are allowed`);
    freeze(state);
    return {
      state: state as Value,
      stateDigest: digestOf(text),
      observation: frozenJson(observation, "observation"),
      info: frozenJson(info, "info") as { [key: string]: Json },
    };
  } catch (error) {
    if (error instanceof ValueError) throw fault(env.id, error.message);
    throw error;
  }
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The tagged JSON of a value, unchangeable: an environment may hand out an object that it keeps. */
function frozenJson(value: unknown, path: string): Json {
  const json = encode(value, path);
  freeze(json);
  return json;
}

function conform(env: HostedEnv, what: string, schema: z.ZodType, value: unknown): unknown {
  const parsed = guarded(env, `the schema of ${what}`, () => schema.safeParse(value));
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error).map(({ path, message }) => ({ path: join(what, path), message }));
  throw fault(env.id, describe(issues));
}

/** A schema's own code (a refinement, a transform) is the environment's too. @throws WireError ENV_FAULT */
function guarded<T>(env: HostedEnv, what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fault(env.id, `${what} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export type Issue = { path: string; message: string };

/** At most so many are told; a value can be wrong in a million places. */
const maxIssues = 20;

export function issuesOf(error: z.ZodError): Issue[] {
  return error.issues
    .slice(0, maxIssues)
    .map((issue) => ({ path: issue.path.map(String).join("."), message: issue.message }));
}

export function describe(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}

function join(prefix: string, path: string): string {
  return path === "" ? prefix : `${prefix}.${path}`;
}

type Awaitable<T> = T | Promise<T>;
