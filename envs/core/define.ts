/** What an environment is: an episode is a value, a step is a function of it. */

import type { z } from "zod";
import type { ToolSpec } from "trailgym/protocol";
import type { Model } from "./model.ts";
import type { Rng } from "./rng.ts";
import type { Interpreter, Language } from "./sandbox.ts";
import type { TaskFiles, TaskSource } from "./tasks.ts";

/** `model` is lent where one is configured, and asks for nothing where none is. */
export type Need = `interpreter:${Language}` | "model";

/** What the engine lends to one reset or step. Nothing of it may be kept for another call. */
export interface EnvContext<Task = unknown> {
  /** Derived from (seed, index); the only source of chance that an environment has. */
  readonly rng: Rng;
  /** Aborted at the deadline and on cancel. Pass it to whatever waits. */
  readonly signal: AbortSignal;
  /** The task of this episode, as `tasks.get` gave it; undefined where the environment has no tasks. */
  readonly task: Task;
  /** A line in the server's log; never crosses the wire. */
  log(message: string, fields?: Record<string, unknown>): void;
  /** Tells the waiting client how far this call is. @param fraction 0 to 1. */
  progress(fraction: number, message?: string): void;
  /** @throws SandboxUnavailable when this server has no such interpreter. Must be named in `needs`. */
  interpreter(language: Language): Interpreter;
  /** Undefined where whoever runs the server has configured none. Must be named in `needs`. */
  readonly model?: Model | undefined;
}

export interface ResetOutcome<State, Observation> {
  state: State;
  observation: Observation;
  /** Diagnostics that the policy must never read. */
  info?: Record<string, unknown>;
  /** The tools of this task, where the action is a tool call. */
  tools?: readonly ToolSpec[];
}

export interface StepOutcome<State, Observation> {
  state: State;
  observation: Observation;
  /** Reward of this transition. Finite. Default 0. */
  reward?: number;
  /** The task ended the episode: success, failure, a dead end. Do not bootstrap. Default false. */
  terminated?: boolean;
  /** Cut short from outside the task (a budget). The next state still has value: bootstrap. Default false. */
  truncated?: boolean;
  info?: Record<string, unknown>;
}

/** Actions known to lead to a known return; a bare list promises a return of 1. */
export type Reference<Action> = readonly Action[] | { actions: readonly Action[]; episodeReturn: number };

/**
 * An environment. `reset` and `step` may be async. They never mutate their inputs, keep nothing between calls
 * (module-level caches of immutable data excepted), open no socket, file or process, and take chance and time from
 * nowhere but their context: the same seed and actions give the same episode, byte for byte.
 * They throw plain Errors; the server answers ENV_FAULT and the state stays as it was.
 */
export interface EnvDefinition<
  State = unknown,
  Action = unknown,
  Observation = unknown,
  Options = unknown,
  Task = unknown,
> {
  /** `family-vN`. Raise N when the same actions could earn another reward. */
  readonly id: string;
  /** One sentence for `env/list`. */
  readonly summary: string;
  /** The committed value of an episode; must survive the value codec. */
  readonly state: z.ZodType<State>;
  readonly action: z.ZodType<Action>;
  readonly observation: z.ZodType<Observation>;
  /** What `env/make` and `env/reset` may set; every key has a default. */
  readonly options: z.ZodType<Options>;
  /** The engine truncates an episode after this many steps. Absent: it never does. */
  readonly maxEpisodeSteps?: number;
  /** Tools, where the action is a tool call and the tools do not depend on the task. */
  readonly tools?: readonly ToolSpec[];
  readonly needs?: readonly Need[];
  /** The tasks, from the dataset folders that the server was given for this environment; called once at start. */
  readonly tasks?: (files: readonly TaskFiles[]) => TaskSource<Task> | Promise<TaskSource<Task>>;

  reset(ctx: EnvContext<Task>, options: Options): Outcome<ResetOutcome<State, Observation>>;
  step(ctx: EnvContext<Task>, state: State, action: Action): Outcome<StepOutcome<State, Observation>>;
  /** From the state right after reset. Used by `checkEnv`, the demo and evaluations inside the server's process; never served. */
  reference?(ctx: EnvContext<Task>, state: State): Outcome<Reference<Action>>;
  /** What else is wrong with the context's task, as sentences; for whoever imports or writes tasks. Used by `checkEnv`. */
  checkTask?(ctx: EnvContext<Task>): Promise<readonly string[]>;
}

type Outcome<T> = T | Promise<T>;

/** For the type inference, and to catch an unusable id where it is written. */
export function defineEnv<State, Action, Observation, Options, Task = undefined>(
  definition: EnvDefinition<State, Action, Observation, Options, Task>,
): EnvDefinition<State, Action, Observation, Options, Task> {
  if (!/^[a-z][a-z0-9-]*(\/[a-z][a-z0-9-]*)?-v[0-9]+$/.test(definition.id)) {
    throw new Error(`env id "${definition.id}" is not of the form family-vN or namespace/family-vN`);
  }
  return definition;
}

/** Any environment, where its types do not matter. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- its functions take what its own schemas parsed
export type AnyEnv = EnvDefinition<any, any, any, any, any>;
