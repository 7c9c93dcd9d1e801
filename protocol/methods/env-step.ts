import { z } from "zod";
import { method } from "../method.ts";
import { index, record, seq, sessionId, stateDigest, tool, value } from "../shapes.ts";

export const stepResult = z.looseObject({
  observation: value,
  reward: z.number().optional().describe("of this transition; always finite"),
  terminated: z.boolean().describe("the task ended the episode: nothing follows, do not bootstrap"),
  truncated: z.boolean().describe("cut short from outside the task: the next state still has value, bootstrap"),
  info: record.optional().describe("diagnostics; a policy must not read them"),
  index,
  stateDigest: stateDigest.optional(),
  finalObservation: value.optional().describe("with `sameStep` autoreset: the ended episode's last observation"),
  finalInfo: record.optional(),
  nextEpisode: z
    .looseObject({
      episode: z.string(),
      task: z.string().nullable(),
      seed: z.int().optional(),
      tools: z.array(tool).optional(),
    })
    .optional()
    .describe("the episode that autoreset began with this reply"),
});

export const envStep = method({
  name: "env/step",
  summary: "Tries one action on a copy of the state and overwrites the state only if the trial worked.",
  description:
    "An error reply means that nothing happened: the same `seq` is still the next one. A policy's own mistakes inside a " +
    "tool environment (unknown tool, bad arguments, a failing program) are observations, not errors.",
  params: z.strictObject({
    session: sessionId,
    seq: seq.optional(),
    action: value,
    timeoutMs: z.int().min(1).max(86_400_000).optional().describe("deadline of this step; default the session's"),
    extras: record
      .optional()
      .describe(
        "what `trajectory/get` gives back with the transition, such as log-probs; no part of what makes a retry",
      ),
  }),
  result: stepResult,
  errors: [
    "UNKNOWN_SESSION",
    "RESET_NEEDED",
    "INVALID_ACTION",
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
  roles: ["trainer", "agent"],
});
