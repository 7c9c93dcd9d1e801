/** Is a JSON document a tool graph: ours, PhGPO's released one, or that one with its variants merged? */

import { z } from "zod";
import { reasonOf } from "../trajectory.ts";
import { type Graph, graphFile, type ToolNode } from "./graph.ts";

/** As the authors publish it: a tool with two sets of argument names stands there twice, with the same `next_tools`. */
const variants = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      original_name: z.string(),
      description: z.string().default(""),
      params: z
        .record(
          z.string(),
          z.object({
            type: z.string().default("string"),
            required: z.boolean().default(false),
            description: z.string().default(""),
          }),
        )
        .default({}),
      actual_keys: z.array(z.string()).default([]),
      call_count: z.int().min(0),
      next_tools: z.record(z.string(), z.int().min(0)).default({}),
    }),
  ),
});
type Variant = z.output<typeof variants>["tools"][number];

/** One entry a tool, edges as [from, to, count]. */
const merged = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string().default(""),
      calls: z.int().min(0),
      invocations: z.array(z.object({ keys: z.array(z.string()), count: z.int().min(0) })).default([]),
    }),
  ),
  edges: z.array(z.tuple([z.int().min(0), z.int().min(0), z.int().min(1)])),
});

/** @throws Error that says why it is none. */
export function readGraph(document: unknown): Graph {
  const ours = graphFile.safeParse(document);
  if (ours.success) return checked(ours.data);
  const released = variants.safeParse(document);
  if (released.success) return fromVariants(released.data.tools);
  const flat = merged.safeParse(document);
  if (flat.success) return checked(fromMerged(flat.data));
  const format = (document as { format?: unknown } | null)?.format;
  throw new Error(`not a tool graph: ${reasonOf(format === "trailgym-graph-1" ? ours.error : flat.error)}`);
}

function checked(graph: Graph): Graph {
  const wrong = graph.edges.find(([from, to]) => Math.max(from, to) >= graph.tools.length);
  if (wrong !== undefined) throw new Error(`not a tool graph: the edge [${wrong.join(", ")}] leads to no tool`);
  return graph;
}

function fromVariants(entries: readonly Variant[]): Graph {
  const byTool = Map.groupBy(entries, (entry) => entry.original_name);
  const originals = new Map(entries.map((entry) => [entry.name, entry.original_name]));
  const index = new Map([...byTool.keys()].map((name, i) => [name, i]));
  const edges = [...byTool.values()].flatMap((group, from) => {
    const counts = new Map<number, number>();
    for (const { next_tools: next } of group) {
      for (const [name, count] of Object.entries(next)) {
        const to = index.get(name) ?? index.get(originals.get(name) ?? name);
        // The same transitions stand at every variant: they are counted once.
        if (to !== undefined && count > 0) counts.set(to, Math.max(counts.get(to) ?? 0, count));
      }
    }
    return [...counts].map(([to, count]): Graph["edges"][number] => [from, to, count]);
  });
  return graphOf(
    [...byTool].map(([name, group]) => nodeOf(name, group)),
    edges,
  );
}

function nodeOf(name: string, group: readonly Variant[]): ToolNode {
  const properties: Record<string, unknown> = {};
  const required = new Set<string>();
  for (const { params } of group) {
    for (const [key, { type, description, required: needed }] of Object.entries(params)) {
      const known = /^(string|number|integer|boolean|array|object)$/.test(type) ? { type } : {};
      properties[key] ??= { ...known, ...(description ? { description } : {}) };
      if (needed && group.every((variant) => Object.hasOwn(variant.params, key))) required.add(key);
    }
  }
  return {
    ...bareNode(name, group.find(({ description }) => description !== "")?.description ?? ""),
    inputSchema: { type: "object", properties, required: [...required] },
    calls: group.reduce((total, { call_count: count }) => total + count, 0),
    invocations: group.map(({ actual_keys: keys, call_count: calls }) => ({ keys, calls, errors: 0, arguments: [] })),
  };
}

function fromMerged({ tools, edges }: z.output<typeof merged>): Graph {
  const nodes = tools.map(({ name, description, calls, invocations }) => ({
    ...bareNode(name, description),
    calls,
    invocations: invocations.map(({ keys, count }) => ({ keys, calls: count, errors: 0, arguments: [] })),
  }));
  return graphOf(nodes, edges);
}

const bareNode = (name: string, description: string) => ({ name, description, errors: 0, first: 0, last: 0 });

const graphOf = (tools: ToolNode[], edges: Graph["edges"]): Graph => ({
  format: "trailgym-graph-1",
  trajectories: 0,
  lengths: [],
  tools,
  edges,
});
