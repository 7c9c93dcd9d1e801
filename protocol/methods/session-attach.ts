import { z } from "zod";
import { method, roles } from "../method.ts";
import { observed, record, sessionId } from "../shapes.ts";

export const sessionAttach = method({
  name: "session/attach",
  summary: "Makes this socket hold the session's lease from now on.",
  description:
    "A session belongs to its principal, not to a socket: any of the principal's connections may call it, side by side. " +
    "After a dropped socket, attach and resend what was not answered with the same `seq`.",
  params: z.strictObject({ session: sessionId }),
  result: observed.extend({
    leaseMs: z.number(),
    lastReply: record.optional().describe("the result of the last committed call, whose seq is `seq - 1`"),
  }),
  errors: ["UNKNOWN_SESSION"],
  roles,
});
