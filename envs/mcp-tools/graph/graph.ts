/** Which tool followed which, how often, and with which arguments? The tool-transition graph, built from trajectories. */

import { z } from "zod";
import { looksFailed } from "../status.ts";
import { patternOf, type RecordedStep, type Trajectory } from "../trajectory.ts";

/** One level-2 node: the calls of a tool with exactly these argument names. */
const invocation = z.object({
  keys: z.array(z.string()),
  calls: z.int().min(0),
  errors: z.int().min(0),
  /** Real arguments, the most frequent first; at most `examples` of them. */
  arguments: z.array(z.object({ value: z.record(z.string(), z.unknown()), count: z.int().min(1) })),
});
export type Invocation = z.output<typeof invocation>;

const node = z.object({
  name: z.string(),
  description: z.string().default(""),
  inputSchema: z.record(z.string(), z.unknown()).optional(),
  calls: z.int().min(0),
  errors: z.int().min(0),
  /** Trajectories that begin with it (edges from START), and that end with it (edges to STOP). */
  first: z.int().min(0),
  last: z.int().min(0),
  invocations: z.array(invocation),
});
export type ToolNode = z.output<typeof node>;

/** The JSON form. Edges are [from, to, count], indices into `tools`. */
export const graphFile = z.object({
  format: z.literal("trailgym-graph-1"),
  trajectories: z.int().min(0),
  /** Steps of each length: [length, trajectories]. */
  lengths: z.array(z.tuple([z.int(), z.int()])),
  tools: z.array(node),
  edges: z.array(z.tuple([z.int().min(0), z.int().min(0), z.int().min(1)])),
});
export type Graph = z.output<typeof graphFile>;

export interface GraphOptions {
  /** Count a tool that follows itself as one call, as the authors' code does. Default false. */
  deduplicate?: boolean;
  /** Distinct arguments kept for each invocation. Default 50. */
  examples?: number;
}

type Shown = Pick<Trajectory, "reference"> & Partial<Pick<Trajectory, "tools">>;

/** Takes trajectories one at a time, so that a file of any size becomes a graph. */
export class GraphBuilder {
  readonly #deduplicate: boolean;
  readonly #examples: number;
  readonly #tools = new Map<string, NodeBuilder>();
  readonly #edges = new Map<string, Map<string, number>>();
  readonly #lengths = new Map<number, number>();
  #trajectories = 0;

  constructor({ deduplicate = false, examples = 50 }: GraphOptions = {}) {
    this.#deduplicate = deduplicate;
    this.#examples = examples;
  }

  /** What is told of tools; those that no trajectory calls are not in the graph. */
  describe(tools: Trajectory["tools"]): void {
    for (const tool of tools) {
      if (typeof tool === "string") continue;
      const known = this.#tool(tool.name);
      known.description ||= tool.description;
      known.inputSchema ??= tool.inputSchema;
    }
  }

  add({ reference, tools = [] }: Shown): void {
    this.describe(tools);
    const steps = this.#deduplicate ? reference.filter((step, i) => step.tool !== reference[i - 1]?.tool) : reference;
    for (const [i, step] of steps.entries()) {
      this.#tool(step.tool).add(step);
      const before = steps[i - 1];
      if (before !== undefined) add(this.#from(before.tool), step.tool);
    }
    const [first, last] = [steps.at(0), steps.at(-1)];
    if (first !== undefined && last !== undefined) {
      this.#tool(first.tool).first++;
      this.#tool(last.tool).last++;
    }
    add(this.#lengths, steps.length);
    this.#trajectories++;
  }

  /** Tools in the order of their names; the same trajectories in any order give the same graph, but for ties among examples. */
  build(): Graph {
    const used = [...this.#tools].filter(([, { calls }]) => calls > 0).sort(([a], [b]) => (a < b ? -1 : 1));
    const index = new Map(used.map(([name], i) => [name, i]));
    const edges = used.flatMap(([from], i) =>
      [...(this.#edges.get(from) ?? [])].map(([to, count]): Graph["edges"][number] => [i, index.get(to) ?? -1, count]),
    );
    return {
      format: "trailgym-graph-1",
      trajectories: this.#trajectories,
      lengths: [...this.#lengths].sort(([a], [b]) => a - b),
      tools: used.map(([name, tool]) => tool.build(name, this.#examples)),
      edges: edges.sort(([a, b], [c, d]) => a - c || b - d),
    };
  }

  #tool(name: string): NodeBuilder {
    let tool = this.#tools.get(name);
    if (tool === undefined) this.#tools.set(name, (tool = new NodeBuilder()));
    return tool;
  }

  #from(name: string): Map<string, number> {
    let edges = this.#edges.get(name);
    if (edges === undefined) this.#edges.set(name, (edges = new Map<string, number>()));
    return edges;
  }
}

/** Distinct arguments counted for each invocation, whatever a file holds. */
const MAX_SEEN = 2_000;

class NodeBuilder {
  description = "";
  inputSchema: Record<string, unknown> | undefined;
  calls = 0;
  errors = 0;
  first = 0;
  last = 0;
  readonly #invocations = new Map<
    string,
    { keys: string[]; calls: number; errors: number; seen: Map<string, number> }
  >();

  add(step: RecordedStep): void {
    const failed = step.isError ?? (step.output !== undefined && looksFailed(step.output));
    const pattern = patternOf(step);
    let one = this.#invocations.get(pattern);
    if (one === undefined) {
      one = { keys: Object.keys(step.arguments).sort(), calls: 0, errors: 0, seen: new Map() };
      this.#invocations.set(pattern, one);
    }
    this.calls++;
    one.calls++;
    if (failed) this.errors++;
    if (failed) one.errors++;
    const json = JSON.stringify(step.arguments);
    if (one.seen.size < MAX_SEEN || one.seen.has(json)) add(one.seen, json);
  }

  build(name: string, examples: number): ToolNode {
    const { description, inputSchema, calls, errors, first, last } = this;
    const invocations = [...this.#invocations.values()].map(({ keys, calls: times, errors: failures, seen }) => {
      const kept = [...seen].sort(([, a], [, b]) => b - a).slice(0, examples);
      const values = kept.map(([json, count]) => ({
        value: JSON.parse(json) as Invocation["arguments"][0]["value"],
        count,
      }));
      return { keys, calls: times, errors: failures, arguments: values };
    });
    invocations.sort((a, b) => b.calls - a.calls || (a.keys.join() < b.keys.join() ? -1 : 1));
    return { name, description, ...(inputSchema ? { inputSchema } : {}), calls, errors, first, last, invocations };
  }
}

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function buildGraph(trajectories: Iterable<Shown>, options?: GraphOptions): Graph {
  const builder = new GraphBuilder(options);
  for (const one of trajectories) builder.add(one);
  return builder.build();
}
