import { z } from "zod";
import { method, roles } from "../method.ts";
import { cursor, jsonSchema, tool } from "../shapes.ts";

export const envEntry = z.looseObject({
  id: z.string().describe("family-vN; N is raised when the same actions could earn another reward"),
  summary: z.string(),
  actionSchema: jsonSchema,
  observationSchema: jsonSchema,
  optionsSchema: jsonSchema,
  tools: z.array(tool).optional().describe("where the action is a tool call and the tools do not depend on the task"),
  maxEpisodeSteps: z.int().nullable().describe("steps after which an episode is truncated"),
  splits: z.array(z.string()),
  families: z.array(z.string()).describe("groups of tasks that an evaluation reports apart"),
  needs: z.array(z.string()).describe("sandboxes it runs on, such as `interpreter:python`"),
});
export type EnvEntry = z.infer<typeof envEntry>;

export const envList = method({
  name: "env/list",
  summary: "The environments this server has.",
  params: z.strictObject({ cursor: cursor.optional() }),
  result: z.looseObject({ envs: z.array(envEntry), nextCursor: z.string().optional() }),
  errors: [],
  roles,
});
