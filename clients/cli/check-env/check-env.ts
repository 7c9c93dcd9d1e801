/** Do environments keep their contract, and are the tasks of a dataset sound? */

import type { Finding } from "trailgym/env";
import { UsageError } from "../terminal/failure.ts";
import { type Io, note, print, printJson } from "../terminal/io.ts";
import { type Progress, startProgress } from "../terminal/progress.ts";
import type { CheckSettings } from "./checks.ts";
import { type Named, runChecks } from "./watched.ts";

export interface CheckEnvOptions extends CheckSettings {
  stepTimeoutMs: number;
  json?: boolean;
}

/** Tasks that are named for a person; JSON has all of them. */
const SHOWN = 20;

/** Leaves `io.signal` alone: Ctrl-C ends the process, whatever the code under test does on its thread. */
export async function checkEnvs(io: Io, envs: readonly string[], options: CheckEnvOptions): Promise<void> {
  if (envs.length === 0 && options.tasks === undefined) {
    throw new UsageError("nothing to check: give a file or an environment's id, or datasets with --tasks DIR");
  }
  const { stepTimeoutMs, json, ...settings } = options;
  const reports: Named[] = [];
  let progress: Promise<Progress> | undefined;
  try {
    await runChecks(
      { envs, options: settings, stuckMs: stepTimeoutMs },
      {
        found: (total) => void (progress ??= startProgress(io, "checking", total)),
        begins(name, everyTask) {
          if (everyTask) note(io, `${name}: every task is played; --per-split N plays fewer`);
        },
        report(report) {
          reports.push(report);
          void progress?.then((shown) => shown.advance(report.name));
        },
      },
    );
  } finally {
    (await progress)?.stop();
  }
  if (reports.some(({ ok }) => !ok)) io.exitCode = 1;
  if (json === true) return printJson(io, reports);
  for (const report of reports) print(io, show(report));
  const errors = reports.flatMap(({ findings }) => findings.filter(({ severity }) => severity === "error"));
  if (errors.length > 0) note(io, `${errors.length} ${errors.length === 1 ? "error" : "errors"}`);
}

function show({ name, findings, episodes, steps, unfinished }: Named): string {
  const played = unfinished
    ? "not played to the end"
    : episodes === 0
      ? "only its definition was read"
      : `${episodes} episodes, ${steps} steps`;
  const verdict = findings.length === 0 ? "ok" : `${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
  const lines = findings.map(({ severity, rule, message, at, alsoAt }) => {
    const place = Object.entries(at ?? {})
      .map(([key, value]) => `${key} ${value}`)
      .join(", ");
    return `  ${severity.padEnd(7)}  ${rule}: ${message}${place === "" ? "" : ` (${place})`}${others(alsoAt)}`;
  });
  return [`${name}: ${verdict} (${played})`, ...lines].join("\n");
}

function others(tasks: Finding["alsoAt"] = []): string {
  if (tasks.length === 0) return "";
  const more = tasks.length > SHOWN ? ", …" : "";
  return ` (and ${tasks.length} more: ${tasks.slice(0, SHOWN).join(", ")}${more})`;
}
