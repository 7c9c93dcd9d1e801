import { z } from "zod";
import { method } from "../method.ts";
import { name, record, seq, sessionId } from "../shapes.ts";

/** What happens after an episode's end; the names are Gymnasium's. */
export const autoreset = z.enum(["disabled", "nextStep", "sameStep"]);
export type Autoreset = z.infer<typeof autoreset>;

export const envMake = method({
  name: "env/make",
  summary: "Opens a session on an environment and attaches this socket to it.",
  description:
    "Nothing runs before `env/reset`. `autoreset`: `disabled` (default) answers a step after the end with RESET_NEEDED; " +
    "`nextStep` lets that step's action go unused and answers with the next episode's first observation and reward 0; " +
    "`sameStep` resets within the step that ends the episode and gives its last values as `finalObservation`, `finalInfo`.",
  params: z.strictObject({
    env: name,
    options: record.optional().describe("defaults for every reset of this session"),
    leaseMs: z
      .int()
      .min(1000)
      .max(7 * 86_400_000)
      .optional(),
    stepTimeoutMs: z.int().min(1).max(86_400_000).optional().describe("deadline of each reset, step and restore"),
    autoreset: autoreset.optional(),
    wait: z
      .boolean()
      .optional()
      .describe(
        "when the server is full: wait in its queue (default; `$/progress` tells the position), or have CAPACITY at once",
      ),
    digest: z.enum(["step", "end"]).optional().describe("`end`: `stateDigest` only at reset and at the episode's end"),
  }),
  result: z.looseObject({
    session: sessionId,
    seq: seq.describe("the seq of the first reset"),
    env: z.string(),
    leaseMs: z.number(),
    stepTimeoutMs: z.number(),
  }),
  errors: ["UNKNOWN_ENV", "CAPACITY", "QUOTA", "SANDBOX_UNAVAILABLE"],
  roles: ["trainer"],
});
