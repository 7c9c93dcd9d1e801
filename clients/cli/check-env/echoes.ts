/** Which findings say again what another one has said? */

import type { Finding } from "trailgym/env";

/**
 * A task whose program is broken is found by the look at the task, and again by each call that runs the program, which throws
 * the same sentence. Once is enough, and the shorter one says it better.
 */
export function withoutEchoes(findings: readonly Finding[]): Finding[] {
  const faults = findings.filter(({ rule }) => rule === "tasks");
  return findings.filter((finding) => finding.rule !== "throws" || !faults.some((fault) => repeats(finding, fault)));
}

function repeats(thrown: Finding, fault: Finding): boolean {
  if (!thrown.message.includes(fault.message)) return false;
  const known = new Set(tasksOf(fault));
  const tasks = tasksOf(thrown);
  return tasks.length > 0 && tasks.every((task) => known.has(task));
}

function tasksOf({ at, alsoAt = [] }: Finding): readonly string[] {
  return at?.task === undefined ? [] : [at.task, ...alsoAt];
}
