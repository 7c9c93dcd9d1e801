import { z } from "zod";
import { method } from "../method.ts";
import { cursor, sessionId } from "../shapes.ts";
import { trajectory } from "../trajectory.ts";

export const trajectoryGet = method({
  name: "trajectory/get",
  summary:
    "What was played in an episode, from the journal: of one that runs, and of ended ones as long as they are kept.",
  description:
    "`session` means its latest episode; `previous` leads to those before it, also after the session has ended. A fork's " +
    "trajectory begins with what its source had played, so that it can be replayed by itself. An episode that never was, or " +
    "is no longer kept, is UNKNOWN_SESSION.",
  params: z
    .strictObject({
      session: sessionId.optional(),
      episode: z.string().min(1).max(128).optional(),
      cursor: cursor.optional(),
      limit: z
        .int()
        .min(1)
        .max(10_000)
        .optional()
        .describe("transitions in one page, default 1000; a page may be shorter"),
    })
    .refine((params) => (params.session === undefined) !== (params.episode === undefined), {
      message: "give either `session` or `episode`",
    }),
  result: trajectory.extend({ nextCursor: z.string().optional() }),
  errors: ["UNKNOWN_SESSION", "RESET_NEEDED"],
  roles: ["trainer", "observer"],
});
