import { z } from "zod";
import { method, roles } from "../method.ts";
import { cursor } from "../shapes.ts";

export const envTasks = method({
  name: "env/tasks",
  summary: "The tasks of an environment: their public fields, never an answer or a hidden test.",
  params: z.strictObject({
    env: z.string(),
    split: z.string().optional().describe("all splits when absent"),
    cursor: cursor.optional(),
    limit: z.int().min(1).max(1000).optional().describe("default 100"),
  }),
  result: z.looseObject({
    tasks: z.array(z.looseObject({ id: z.string() })),
    total: z.int(),
    nextCursor: z.string().optional(),
  }),
  errors: ["UNKNOWN_ENV", "UNKNOWN_TASK"],
  roles,
});
