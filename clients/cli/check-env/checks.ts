/** What is there to check? Files, folders and ids, and the datasets that were given. */

import { stat } from "node:fs/promises";
import { type AnyEnv, discover, type TaskFiles } from "trailgym/env";
import { findSources, type Sources } from "../compose/compose.ts";
import { Failure } from "../terminal/failure.ts";
import { lendPackage } from "../compose/lend-package.ts";
import { failureOf } from "../compose/problems.ts";
import type { SourceOptions } from "../settings.ts";

export interface CheckSettings extends SourceOptions {
  perSplit?: number;
  seeds?: number;
}

export interface Check {
  /** What was asked for, for a person. */
  name: string;
  definition: AnyEnv;
  files: readonly TaskFiles[];
  perSplit: number;
  seeds: number;
}

const ENV = { perSplit: 3, seeds: 3 };
/** A dataset's tasks are what is in question; one seed is enough to see whether a task can be won. */
const DATASET = { perSplit: Infinity, seeds: 1 };

/** @throws Failure when something cannot be loaded, or is not known. */
export async function findChecks(envs: readonly string[], options: CheckSettings): Promise<Check[]> {
  const sources = await findSources(options);
  return [
    ...(await Promise.all(envs.map((env) => checksOf(env, sources, options)))).flat(),
    ...datasetsOf(sources, options),
  ];
}

/** @param env a path or an id. */
async function checksOf(env: string, { definitions, files }: Sources, options: CheckSettings): Promise<Check[]> {
  const settings = { perSplit: options.perSplit ?? ENV.perSplit, seeds: options.seeds ?? ENV.seeds };
  const known = definitions.find(({ id }) => id === env);
  if (known !== undefined) return [{ name: env, definition: known, files: files.get(env) ?? [], ...settings }];
  if ((await stat(env).catch(() => undefined)) === undefined) {
    throw new Failure(`${env}: neither a file nor one of ${definitions.map(({ id }) => id).join(", ")}`);
  }
  lendPackage();
  const { found, problems } = await discover([env]);
  if (problems.length > 0) throw failureOf(problems);
  return found.map(({ definition, file }) => {
    return { name: `${definition.id} (${file})`, definition, files: files.get(definition.id) ?? [], ...settings };
  });
}

function datasetsOf({ definitions, datasets }: Sources, options: CheckSettings): Check[] {
  if (options.tasks === undefined) return [];
  const settings = { perSplit: options.perSplit ?? DATASET.perSplit, seeds: options.seeds ?? DATASET.seeds };
  return datasets.flatMap(({ env, files, given }) => {
    const definition = definitions.find(({ id }) => id === env);
    if (!given || definition === undefined) return [];
    return [{ name: `${env} with ${files.name}`, definition, files: [files], ...settings }];
  });
}
