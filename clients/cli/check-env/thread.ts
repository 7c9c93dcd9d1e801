/** The thread that checks: the code under test runs here, where it can be ended. */

import { parentPort, workerData } from "node:worker_threads";
import { checkEnv } from "trailgym/env";
import { createInterpreters } from "trailgym/server";
import { Failure } from "../terminal/failure.ts";
import { findChecks } from "./checks.ts";
import { withoutEchoes } from "./echoes.ts";
import type { FromThread, Job } from "./messages.ts";

const ALIVE_MS = 200;
/** Deadline of a call that waits, where none is longer: to check a task may take many steps. */
const CALL_MS = 60_000;

const { envs, options, skip, stuckMs } = workerData as Job;
// Taken now: an environment may replace what it finds on global objects.
const say = parentPort!.postMessage.bind(parentPort) as (message: FromThread) => void;

// A call that waits is checkEnv's own to end; what stops this is a loop that gives the thread to nobody.
const alive = setInterval(() => say({ kind: "alive" }), ALIVE_MS);

try {
  const checks = await findChecks(envs, options);
  say({ kind: "found", total: checks.length });
  await using interpreters = createInterpreters();
  for (const { name, definition, files, perSplit, seeds } of checks.slice(skip)) {
    say({ kind: "begins", name, id: definition.id, everyTask: perSplit === Infinity });
    const report = await checkEnv(definition, {
      files,
      tasks: perSplit,
      seeds: Array.from({ length: seeds }, (_, seed) => seed),
      callMs: Math.max(CALL_MS, stuckMs),
      onCall: (begins) => say({ kind: "call", ...begins }),
      lend: () => interpreters,
    });
    say({ kind: "report", report: { ...report, findings: withoutEchoes(report.findings) } });
  }
  say({ kind: "done" });
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  say({ kind: "failed", message: error.message });
} finally {
  clearInterval(alive);
}
