/** What does a generator know of tools beyond their schemas? How people ask for them, typical values, and which follows which. */

import { z } from "zod";
import type { Graph, ToolNode } from "../graph/graph.ts";
import { safeName } from "../import/names.ts";
import { toolEntry } from "../trajectory.ts";

const weight = z.number().positive();

const bookTool = toolEntry.extend({
  /** "look up {query}[ at {branch}]": arguments in braces; a bracket is left out when an argument in it is. */
  phrases: z.array(z.string().min(1)).default([]),
  /** Values that an argument may have where no earlier output has one for it. */
  values: z.record(z.string(), z.array(z.unknown()).min(1)).default({}),
  /** A template of the simulated output; its language is in `outputs.ts`. */
  output: z.unknown().optional(),
});
export type BookTool = z.output<typeof bookTool>;

/** The JSON form: edges as {from: {to: weight}}. */
export const toolbookFile = z.object({
  name: z.string().min(1).optional(),
  tools: z.array(bookTool).min(1),
  starts: z.record(z.string(), weight),
  edges: z.record(z.string(), z.record(z.string(), weight)),
});

export interface Toolbook {
  readonly tools: ReadonlyMap<string, BookTool>;
  readonly starts: ReadonlyMap<string, number>;
  readonly edges: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** @throws Error that names a tool which is not in the book, or is in it twice. */
export function toolbookOf(file: z.output<typeof toolbookFile>): Toolbook {
  const tools = new Map(file.tools.map((tool) => [tool.name, tool]));
  if (tools.size < file.tools.length) throw new Error("two tools of the book have one name");
  const named = [
    ...Object.keys(file.starts),
    ...Object.entries(file.edges).flatMap(([from, to]) => [from, ...Object.keys(to)]),
  ];
  const stranger = named.find((name) => !tools.has(name));
  if (stranger !== undefined) throw new Error(`the book has no tool "${stranger}"`);
  return {
    tools,
    starts: new Map(Object.entries(file.starts)),
    edges: new Map(Object.entries(file.edges).map(([from, to]) => [from, new Map(Object.entries(to))])),
  };
}

/**
 * A graph's tools, under names that model APIs take, with the arguments that were recorded. Where the graph knows no first
 * tools, every tool may be one.
 */
export function toolbookFromGraph(graph: Graph): Toolbook {
  const nameOf = (index: number) => safeName(graph.tools[index]?.name ?? "");
  const starts = graph.tools.filter(({ first }) => first > 0);
  const edges = new Map<string, Map<string, number>>();
  for (const [from, to, count] of graph.edges) {
    const known = edges.get(nameOf(from)) ?? new Map<string, number>();
    edges.set(nameOf(from), known.set(nameOf(to), count));
  }
  return {
    tools: new Map(graph.tools.map((node) => [safeName(node.name), fromNode(node)])),
    starts: new Map(
      starts.length > 0
        ? starts.map(({ name, first }) => [safeName(name), first])
        : graph.tools.filter(({ calls }) => calls > 0).map(({ name, calls }) => [safeName(name), calls]),
    ),
    edges,
  };
}

function fromNode({ name, description, inputSchema, invocations }: ToolNode): BookTool {
  const values = new Map<string, Map<string, unknown>>();
  const keys = new Set<string>();
  for (const invocation of invocations) {
    for (const key of invocation.keys) keys.add(key);
    for (const { value } of invocation.arguments) {
      for (const [key, item] of Object.entries(value)) {
        const known = values.get(key) ?? new Map<string, unknown>();
        values.set(key, known.set(JSON.stringify(item), item));
      }
    }
  }
  const usual = invocations[0]?.keys ?? [];
  const schema = inputSchema ?? {
    type: "object",
    properties: Object.fromEntries([...keys].map((key) => [key, {}])),
    required: usual.filter((key) => invocations.every((invocation) => invocation.keys.includes(key))),
  };
  const shown = safeName(name);
  return bookTool.parse({
    name: shown,
    ...(shown === name ? {} : { title: name }),
    description: description || shown.replace(/[-_.]+/g, " "),
    inputSchema: schema,
    values: Object.fromEntries([...values].map(([key, known]) => [key, [...known.values()].slice(0, 50)])),
  });
}
