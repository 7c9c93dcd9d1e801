/** Which environments this server has, ready to be run and to be described. */

import { z } from "zod";
import type { AnyEnv, TaskFiles, TaskSource } from "trailgym/env";
import { canonicalJson, type EnvEntry, type Json, WireError } from "trailgym/protocol";
import { closest } from "./closest.ts";
import { digestOf } from "./sessions/digest.ts";

/** A definition with its tasks loaded and its schemas made strict. */
export interface HostedEnv {
  readonly id: string;
  readonly definition: AnyEnv;
  readonly tasks: TaskSource | undefined;
  readonly action: z.ZodType;
  readonly options: z.ZodType;
  readonly entry: EnvEntry;
  /** Digest of `entry`: trajectories say under which definition they were played. */
  readonly fingerprint: string;
}

export interface Registry {
  list(): readonly HostedEnv[];
  /** @throws WireError UNKNOWN_ENV with near ids. */
  get(id: string): HostedEnv;
}

/** @param files the dataset folders of each environment, by id. @throws Error when two definitions share an id. */
export async function createRegistry(
  definitions: readonly AnyEnv[],
  files: ReadonlyMap<string, readonly TaskFiles[]> = new Map(),
): Promise<Registry> {
  const envs = new Map<string, HostedEnv>();
  for (const definition of definitions) {
    if (envs.has(definition.id)) throw new Error(`two environments have the id "${definition.id}"`);
    envs.set(definition.id, await host(definition, files.get(definition.id) ?? []));
  }
  return {
    list: () => [...envs.values()],
    get(id) {
      const env = envs.get(id);
      if (env !== undefined) return env;
      const suggestions = closest(id, [...envs.keys()]);
      const hint = suggestions.length > 0 ? `did you mean "${suggestions[0]}"?` : "env/list names those there are";
      throw WireError.of("UNKNOWN_ENV", `env "${id}" not found; ${hint}`, { suggestions });
    },
  };
}

async function host(definition: AnyEnv, files: readonly TaskFiles[]): Promise<HostedEnv> {
  const tasks = await definition.tasks?.(files);
  const action = strict(definition.action);
  const options = strict(definition.options);
  const entry: EnvEntry = {
    id: definition.id,
    summary: definition.summary,
    actionSchema: jsonSchema(action, "input"),
    observationSchema: jsonSchema(definition.observation, "output"),
    optionsSchema: jsonSchema(options, "input"),
    ...(definition.tools === undefined ? {} : { tools: [...definition.tools] }),
    maxEpisodeSteps: definition.maxEpisodeSteps ?? null,
    splits: [...(tasks?.splits() ?? [])],
    families: [...(tasks?.families?.() ?? [])],
    needs: [...(definition.needs ?? [])],
  };
  const fingerprint = digestOf(canonicalJson(entry as Json));
  return { id: definition.id, definition, tasks, action, options, entry, fingerprint };
}

/** A misspelt key is an error that names it, never a default in silence. */
function strict(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodObject ? schema.strict() : schema;
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  return z.toJSONSchema(schema, { io, unrepresentable: "any" });
}
