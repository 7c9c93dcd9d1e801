/** What is a recorded trajectory, and what is a tool? The shapes of every file that this family reads or writes. */

import { z } from "zod";

/** The name that ends an episode; no tool may have it. */
export const STOP = "STOP";

const args = z.record(z.string(), z.unknown());

/** One call as it was made, and what came back. */
export const recordedStep = z.object({
  tool: z.string().min(1).max(256),
  arguments: args.default({}),
  output: z.unknown().optional().describe("text or JSON, as the tool returned it; absent: nobody recorded it"),
  isError: z.boolean().optional().describe("as the tool said; absent: it did not say"),
  turn: z.int().min(0).optional().describe("of which message of the user it is a part"),
});
export type RecordedStep = z.output<typeof recordedStep>;

export const toolEntry = z.object({
  name: z.string().min(1).max(256),
  title: z.string().optional().describe("the name in the tool's own system, where it is another"),
  description: z.string().default(""),
  inputSchema: args.default({ type: "object" }),
  outputSchema: args.optional(),
  server: z.string().optional(),
});
export type ToolEntry = z.output<typeof toolEntry>;

/** A line of a trajectory file. Other keys are kept out of the way, not refused: files of others have many. */
export const trajectory = z.object({
  id: z.string().min(1).max(256),
  source: z.string().optional(),
  task: z.string().min(1).describe("the request, as the policy reads it"),
  tools: z.array(z.union([z.string(), toolEntry])).default([]),
  reference: z.array(recordedStep).min(1).max(1000),
  chain: z.string().min(1).optional().describe("what tasks with one solution share; default: its sequence of tools"),
  success: z.boolean().default(true).describe("whether the recorded play solved the task"),
  split: z.string().min(1).optional(),
  family: z.string().min(1).optional(),
  difficulty: z.string().min(1).optional(),
});
export type Trajectory = z.output<typeof trajectory>;

export const toolsOf = ({ reference }: Pick<Trajectory, "reference">): string[] => reference.map(({ tool }) => tool);

/** What a split by chain keeps together. */
export function chainOf(one: Pick<Trajectory, "chain" | "reference">): string {
  return one.chain ?? JSON.stringify(toolsOf(one));
}

/** Level 2 of the graph: the names of a call's arguments, sorted, as one text. */
export function patternOf(call: { readonly arguments: Readonly<Record<string, unknown>> }): string {
  return Object.keys(call.arguments).sort().join(",");
}

/** A bad line in words: which field, and what is wrong with it. */
export function reasonOf(error: z.ZodError): string {
  const issues = error.issues.slice(0, 5).map(({ path, message, code }) => {
    if (path.length > 0) return `${path.map(String).join(".")}: ${message}`;
    return code === "invalid_type" ? "not a JSON object" : message;
  });
  return issues.join("; ");
}
