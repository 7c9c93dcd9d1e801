/** What does a person want to know of an evaluation? */

import { table } from "../terminal/table.ts";
import type { Figures, Summary } from "./summary.ts";

export function report(summary: Summary, agent: string, env: string, width: number): string {
  const families = Object.entries(summary.families);
  const rows = [...(families.length > 1 ? families : []), ["all", summary] as const];
  const columns = [
    { title: families.length > 1 ? "family" : "" },
    { title: "episodes", align: "right" as const },
    { title: "return", align: "right" as const },
    { title: "solved", align: "right" as const },
    { title: "steps mean", align: "right" as const },
    { title: "median", align: "right" as const },
    { title: "truncated", align: "right" as const },
  ];
  const head = `${agent} on ${env}: ${summary.counted} of ${summary.planned} episodes count`;
  return [
    head,
    "",
    table(
      columns,
      rows.map(([name, one]) => row(name, one)),
      width,
    ),
    ...remarks(summary),
  ].join("\n");
}

function row(name: string, { counted, return: value, solved, steps, truncated }: Figures): string[] {
  const interval = value?.low == null || value.high === null ? "" : ` [${number(value.low)}, ${number(value.high)}]`;
  return [
    name,
    String(counted),
    value === null ? "–" : `${number(value.mean)}${interval}`,
    solved === null ? "–" : `${percent(solved.rate)} [${percent(solved.low)}, ${percent(solved.high)}]`,
    steps === null ? "–" : number(steps.mean),
    steps === null ? "–" : number(steps.median),
    String(truncated),
  ];
}

function remarks({ agentErrors, agentErrorExamples, infrastructure, return: value }: Summary): string[] {
  const lines: string[] = [""];
  const returns = value?.low == null ? "none for the return, which never varied" : `return ${value.method}`;
  if (value !== null) lines.push(`95 % intervals: ${returns}; solved Wilson score over episodes`);
  const own = list(agentErrors);
  if (own !== "") lines.push(`errors of the agent, which count: ${own}`);
  for (const name of Object.keys(agentErrors)) lines.push(`  ${name}, such as: ${agentErrorExamples[name] ?? ""}`);
  const { missing, errors, attempts } = infrastructure;
  if (missing > 0) lines.push(`not counted, for no fault of the agent: ${missing} (${list(errors)})`);
  else if (attempts > 0)
    lines.push(`attempts that failed for no fault of the agent and were played again: ${attempts}`);
  return lines.length > 1 ? lines : [];
}

function list(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 3 : 1);
}

function percent(rate: number): string {
  return `${Math.round(1000 * rate) / 10} %`;
}
