/** Do environments keep their contract, and are the tasks of a dataset sound? */

import { stat } from "node:fs/promises";
import { type AnyEnv, checkEnv, type CheckReport, discover, type TaskFiles } from "trailgym/env";
import { createInterpreters, findSources, type Sources } from "./compose.ts";
import { Failure, UsageError } from "./failure.ts";
import { type Io, note, print, printJson } from "./io.ts";
import { lendPackage } from "./lend-package.ts";
import { startProgress } from "./progress.ts";
import type { SourceOptions } from "./settings.ts";

export interface CheckEnvOptions extends SourceOptions {
  perSplit?: number;
  seeds?: number;
  json?: boolean;
}

interface Check {
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

/** Leaves `io.signal` alone: an environment under test may loop for ever on this thread, and Ctrl-C must end that. */
export async function checkEnvs(io: Io, envs: readonly string[], options: CheckEnvOptions): Promise<void> {
  if (envs.length === 0 && options.tasks === undefined) {
    throw new UsageError("nothing to check: give a file or an environment's id, or datasets with --tasks DIR");
  }
  const sources = await findSources(options);
  const checks = [
    ...(await Promise.all(envs.map((env) => checksOf(env, sources, options)))).flat(),
    ...datasetsOf(sources, options),
  ];
  const interpreters = createInterpreters();
  const reports: (CheckReport & { name: string })[] = [];
  const progress = await startProgress(io, "checking", checks.length);
  try {
    for (const { name, definition, files, perSplit, seeds } of checks) {
      if (perSplit === Infinity) note(io, `${name}: every task is played; --per-split N plays fewer`);
      const report = await checkEnv(definition, {
        files,
        tasks: perSplit,
        seeds: Array.from({ length: seeds }, (_, seed) => seed),
        lend: () => interpreters,
      });
      reports.push({ name, ...report });
      progress.advance(name);
    }
  } finally {
    progress.stop();
    await interpreters[Symbol.asyncDispose]();
  }
  if (reports.some(({ ok }) => !ok)) io.exitCode = 1;
  if (options.json === true) return printJson(io, reports);
  for (const report of reports) print(io, show(report));
  const errors = reports.flatMap(({ findings }) => findings.filter(({ severity }) => severity === "error"));
  if (errors.length > 0) note(io, `${errors.length} ${errors.length === 1 ? "error" : "errors"}`);
}

/** @param env a path or an id. */
async function checksOf(env: string, { definitions, files }: Sources, options: CheckEnvOptions): Promise<Check[]> {
  const settings = { perSplit: options.perSplit ?? ENV.perSplit, seeds: options.seeds ?? ENV.seeds };
  const known = definitions.find(({ id }) => id === env);
  if (known !== undefined) return [{ name: env, definition: known, files: files.get(env) ?? [], ...settings }];
  if ((await stat(env).catch(() => undefined)) === undefined) {
    throw new Failure(`${env}: neither a file nor one of ${definitions.map(({ id }) => id).join(", ")}`);
  }
  lendPackage();
  const { found, problems } = await discover([env]);
  if (problems.length > 0) throw new Failure(problems.map(({ message }) => message).join("\n"));
  return found.map(({ definition, file }) => {
    return { name: `${definition.id} (${file})`, definition, files: files.get(definition.id) ?? [], ...settings };
  });
}

function datasetsOf({ definitions, datasets }: Sources, options: CheckEnvOptions): Check[] {
  if (options.tasks === undefined) return [];
  const settings = { perSplit: options.perSplit ?? DATASET.perSplit, seeds: options.seeds ?? DATASET.seeds };
  return datasets.flatMap(({ env, files, given }) => {
    const definition = definitions.find(({ id }) => id === env);
    if (!given || definition === undefined) return [];
    return [{ name: `${env} with ${files.name}`, definition, files: [files], ...settings }];
  });
}

function show({ name, findings, episodes, steps }: CheckReport & { name: string }): string {
  const played = episodes === 0 ? "only its definition was read" : `${episodes} episodes, ${steps} steps`;
  const verdict = findings.length === 0 ? "ok" : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  const lines = findings.map(({ severity, rule, message, at }) => {
    const place = Object.entries(at ?? {})
      .map(([key, value]) => `${key} ${value}`)
      .join(", ");
    return `  ${severity.padEnd(7)}  ${rule}: ${message}${place === "" ? "" : ` (${place})`}`;
  });
  return [`${name}: ${verdict} (${played})`, ...lines].join("\n");
}
