/** What does an environment need to be played without a server? A context, real interpreters, and a loop. */

import {
  rng,
  SandboxUnavailable,
  type AnyEnv,
  type EnvContext,
  type Interpreter,
  type Language,
  type Model,
  type StepOutcome,
  type TaskFiles,
} from "trailgym/env";

export interface ContextParts<Task> {
  task?: Task;
  seed?: number;
  index?: number;
  signal?: AbortSignal;
  interpreter?: (language: Language) => Interpreter;
  model?: Model;
}

export function context<Task = unknown>(parts: ContextParts<Task> = {}): EnvContext<Task> {
  const { task, seed = 0, index = 0, signal = new AbortController().signal } = parts;
  const none = (language: Language) => {
    throw new SandboxUnavailable(`interpreter:${language}`, "this test lends none");
  };
  return {
    rng: rng(seed, index),
    signal,
    task: task as Task,
    log: () => undefined,
    progress: () => undefined,
    interpreter: parts.interpreter ?? none,
    model: parts.model,
  };
}

export interface Player {
  /** Of the last reset or step. */
  observation: unknown;
  tools: readonly { name: string; description: string; inputSchema: unknown }[];
  state: unknown;
  episodeReturn: number;
  step(action: unknown): Promise<StepOutcome<unknown, unknown>>;
}

/** Plays one episode as the engine would: inputs parsed by the schemas, frozen, a fresh context for each call. */
export async function play(env: AnyEnv, parts: ContextParts<unknown> = {}, options: unknown = {}): Promise<Player> {
  let index = 0;
  const started = await env.reset(context({ ...parts, index }), env.options.parse(options));
  const player: Player = {
    observation: env.observation.parse(started.observation),
    tools: started.tools ?? [],
    state: freeze(env.state.parse(started.state)),
    episodeReturn: 0,
    async step(action) {
      const ctx = context({ ...parts, index: ++index });
      const outcome = await env.step(ctx, player.state, freeze(env.action.parse(action)));
      player.state = freeze(env.state.parse(outcome.state));
      player.observation = env.observation.parse(outcome.observation);
      player.episodeReturn += outcome.reward ?? 0;
      return outcome as StepOutcome<unknown, unknown>;
    },
  };
  return player;
}

/** Bytes cannot be frozen; everything around them can. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}

/** A dataset folder in memory. */
export function taskFiles(files: Readonly<Record<string, string>>, name = "memory"): TaskFiles {
  return {
    name,
    list: () => Promise.resolve(Object.keys(files)),
    read: (path) => {
      const text = files[path];
      if (text === undefined) return Promise.reject(new Error("no such file"));
      return Promise.resolve(new TextEncoder().encode(text));
    },
  };
}
