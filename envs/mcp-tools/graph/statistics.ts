/** What does a graph say about its tools in numbers? */

import type { Graph } from "./graph.ts";

export interface GraphStatistics {
  trajectories: number;
  tools: number;
  calls: number;
  /** Share of the calls that failed. */
  errorShare: number;
  /** Distinct edges between tools, and how often they were walked. */
  edges: number;
  transitions: number;
  /** Share of the transitions from a tool to itself. */
  selfShare: number;
  /** Tools that trajectories begin and end with: edges from START, to STOP. */
  starts: number;
  stops: number;
  /** Level 2: argument-name patterns, over all tools. */
  patterns: number;
  steps: { min: number; mean: number; max: number };
  /** H(next tool | tool) in nats, over the transitions: Σ_i n_i/n · H(p_i). */
  entropy: number;
  /** e^entropy: among how many equally likely tools the next one seems to be. */
  perplexity: number;
  /** Share of the transitions that lead to their tool's most frequent successor: a bigram's accuracy on what it has seen. */
  bigramTop1: number;
}

export function statisticsOf({ trajectories, lengths, tools, edges }: Graph): GraphStatistics {
  const calls = sum(tools.map((tool) => tool.calls));
  const transitions = sum(edges.map(([, , count]) => count));
  const entropies: number[] = [];
  let likeliest = 0;
  for (const outgoing of Map.groupBy(edges, ([from]) => from).values()) {
    const counts = outgoing.map(([, , count]) => count);
    const total = sum(counts);
    entropies.push(sum(counts.map((count) => -(count / transitions) * Math.log(count / total))));
    likeliest += Math.max(...counts);
  }
  const entropy = sum(entropies);
  const steps = sum(lengths.map(([length, count]) => length * count));
  return {
    trajectories,
    tools: tools.length,
    calls,
    errorShare: share(sum(tools.map(({ errors }) => errors)), calls),
    edges: edges.length,
    transitions,
    selfShare: share(sum(edges.filter(([from, to]) => from === to).map(([, , count]) => count)), transitions),
    starts: tools.filter(({ first }) => first > 0).length,
    stops: tools.filter(({ last }) => last > 0).length,
    patterns: sum(tools.map(({ invocations }) => invocations.length)),
    steps: {
      min: lengths.at(0)?.[0] ?? 0,
      mean: share(steps, trajectories),
      max: lengths.at(-1)?.[0] ?? 0,
    },
    entropy,
    perplexity: Math.exp(entropy),
    bigramTop1: share(likeliest, transitions),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
