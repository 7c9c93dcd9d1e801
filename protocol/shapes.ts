/** Shapes that several methods share. Values (observations, actions, info, options) are tagged as in `values.ts`. */

import { z } from "zod";

/** Any value of the codec; an environment's own schema says more. */
export const value = z.unknown();
/** An object of values. Not `z.record`: that drops a key named `__proto__` without a word, and here every key is data. */
export const record = z
  .custom<Record<string, unknown>>(
    (given) => typeof given === "object" && given !== null && !Array.isArray(given),
    "Invalid input: expected an object",
  )
  .meta({ type: "object", additionalProperties: {} });

/** Names that clients send: an environment, a task, a split. */
export const name = z.string().max(256);

export const sessionId = z.string().min(1).max(128).describe("a session of this principal");
export const snapshotId = z.string().min(1).max(128).describe("a snapshot that this principal may read");
export const cursor = z.string().max(1024).describe("`nextCursor` of the page before");
export const label = z.string().max(256);

/** The number that this mutating call of the session is expected to have; see "Sequence numbers" in the README. */
export const seq = z
  .int()
  .min(0)
  .describe("the number this reset, step or restore is expected to have; the first is 0");
export const index = z.int().min(0).describe("transitions committed in this episode");

export const stateDigest = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .describe("SHA-256 of the state's canonical encoding, first 16 bytes in hex");

export const jsonSchema = record.describe("a JSON Schema, draft 2020-12");

export const tool = z.looseObject({
  name: z.string(),
  description: z.string(),
  inputSchema: jsonSchema,
});
export type ToolSpec = z.infer<typeof tool>;

/** `new`: never reset. `running`: takes steps. `terminated` / `truncated`: the episode ended; reset starts the next. */
export const status = z.enum(["new", "running", "terminated", "truncated"]);
export type Status = z.infer<typeof status>;

/** The last committed value of a session. */
export const observed = z.looseObject({
  status,
  observation: value,
  info: record.optional(),
  index,
  seq: seq.describe("the seq that the next reset, step or restore will have"),
  episodeReturn: z.number().optional().describe("sum of this episode's rewards so far"),
  stateDigest: stateDigest.optional().describe("absent before the first reset"),
});

export const resetResult = z.looseObject({
  observation: value,
  info: record,
  episode: z.string(),
  task: z.string().nullable().describe("null where the environment has no tasks"),
  seed: z.int().min(0),
  tools: z.array(tool).optional().describe("the tools of this task, where the action is a tool call"),
  index: z.literal(0),
  stateDigest,
});
