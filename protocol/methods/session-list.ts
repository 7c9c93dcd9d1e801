import { z } from "zod";
import { method, roles } from "../method.ts";
import { cursor, index, seq, sessionId, status } from "../shapes.ts";

export const sessionList = method({
  name: "session/list",
  summary: "The caller's open sessions, oldest first.",
  description:
    "What a client needs to take up its work again after its own process was lost: `session/attach` each of them.",
  params: z.strictObject({
    cursor: cursor.optional(),
    limit: z.int().min(1).max(1000).optional().describe("sessions in one page, default 100"),
  }),
  result: z.looseObject({
    sessions: z.array(
      z.looseObject({
        session: sessionId,
        env: z.string(),
        status,
        seq,
        index,
        episode: z.string().nullable().describe("null before the first reset"),
        held: z.boolean().describe("whether a socket keeps its lease alive"),
        leaseMs: z.number(),
        openedAt: z.number().describe("ms since 1970"),
        usedAt: z.number().describe("when it was last called or held, ms since 1970"),
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  errors: [],
  roles,
});
