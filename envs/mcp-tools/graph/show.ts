/** How does a graph look to a person, and to Graphviz? */

import type { Graph } from "./graph.ts";
import { statisticsOf } from "./statistics.ts";

/** @param top how many tools, edges and starts are listed. */
export function summaryOf(graph: Graph, top = 10): string {
  const { tools, edges } = graph;
  const facts = statisticsOf(graph);
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const { min, mean, max } = facts.steps;
  const busiest = tools.toSorted((a, b) => b.calls - a.calls).slice(0, top);
  const starts = tools.filter(({ first }) => first > 0).toSorted((a, b) => b.first - a.first);
  const walked = edges.toSorted(([, , a], [, , b]) => b - a).slice(0, top);
  const nameOf = (index: number) => tools[index]?.name ?? "";
  return [
    `${facts.trajectories} trajectories of ${min} to ${max} steps (mean ${mean.toFixed(2)}), ${facts.calls} calls, ${percent(facts.errorShare)} failed`,
    `${facts.tools} tools with ${facts.patterns} argument patterns; ${facts.starts} of them begin a trajectory, ${facts.stops} end one`,
    `${facts.edges} edges walked ${facts.transitions} times, ${percent(facts.selfShare)} of them from a tool to itself`,
    `next tool given the last: ${facts.entropy.toFixed(3)} nats, as one of ${facts.perplexity.toFixed(1)}; the likeliest is right in ${percent(facts.bigramTop1)}`,
    "",
    "tools by calls",
    ...busiest.map(({ name, calls, invocations }) => `  ${calls}  ${name}  (${patterns(invocations)})`),
    "",
    "first tools",
    ...starts.slice(0, top).map(({ name, first }) => `  ${first}  ${name}`),
    ...(starts.length > top ? [`  … and ${starts.length - top} more`] : []),
    "",
    "edges by count",
    ...walked.map(([from, to, count]) => `  ${count}  ${nameOf(from)} → ${nameOf(to)}`),
  ].join("\n");
}

function patterns(invocations: Graph["tools"][number]["invocations"]): string {
  const shown = invocations
    .slice(0, 3)
    .map(({ keys, calls }) => `${keys.length > 0 ? keys.join(", ") : "no arguments"}: ${calls}`);
  return [...shown, ...(invocations.length > 3 ? [`… ${invocations.length} in all`] : [])].join("; ");
}

/** @param minCount edges that were walked less often are left out, and tools with them that have no other. */
export function dotOf({ tools, edges }: Graph, minCount = 1): string {
  const lines: string[] = [];
  const shown = new Set<number>();
  const edge = (from: string, to: string, count: number) =>
    lines.push(`  ${from} -> ${to} [label="${count}", weight=${count}];`);
  for (const [i, { first, last }] of tools.entries()) {
    if (first >= minCount) edge("START", node(i), first);
    if (last >= minCount) edge(node(i), "STOP", last);
    if (Math.max(first, last) >= minCount) shown.add(i);
  }
  for (const [from, to, count] of edges) {
    if (count < minCount) continue;
    edge(node(from), node(to), count);
    shown.add(from).add(to);
  }
  const nodes = [...shown].sort((a, b) => a - b).map((i) => `  ${node(i)} [label=${quoted(tools[i]?.name ?? "")}];`);
  const ends = lines.length > 0 ? ["  START [shape=circle];", "  STOP [shape=doublecircle];"] : [];
  return ["digraph tools {", "  rankdir=LR;", "  node [shape=box];", ...ends, ...nodes, ...lines, "}", ""].join("\n");
}

const node = (index: number): string => `t${index}`;
const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&").replaceAll("\n", " ")}"`;
