import { z } from "zod";
import { method } from "../method.ts";
import { name, record, resetResult, seq, sessionId } from "../shapes.ts";

export const envReset = method({
  name: "env/reset",
  summary: "Starts an episode.",
  description:
    "Without `seed` the server draws one and says it; without `task` the seed chooses one of `split` (default: the " +
    "environment's first). Options given here win over those of `env/make`, key by key.",
  params: z.strictObject({
    session: sessionId,
    seq: seq.optional(),
    seed: z.int().min(0).optional(),
    task: name.optional(),
    split: name.optional(),
    options: record.optional(),
    timeoutMs: z.int().min(1).max(86_400_000).optional(),
  }),
  result: resetResult,
  errors: [
    "UNKNOWN_SESSION",
    "UNKNOWN_TASK",
    "SEQ_CONFLICT",
    "SEQ_GAP",
    "SESSION_BUSY",
    "DEADLINE",
    "CANCELLED",
    "ENV_FAULT",
    "SANDBOX_LOST",
    "SANDBOX_UNAVAILABLE",
    "CAPACITY",
  ],
  roles: ["trainer"],
});
