import { z } from "zod";
import { method } from "../method.ts";
import { sessionId, snapshotId } from "../shapes.ts";

export const envFork = method({
  name: "env/fork",
  summary: "Opens independent copies of a snapshot, or of a session's last committed value.",
  description:
    "Each copy is a session of its own whose `seq` starts at 0, with the settings of the session it came from. The same " +
    "actions on two copies give the same replies.",
  params: z
    .strictObject({
      session: sessionId.optional(),
      snapshot: snapshotId.optional(),
      count: z.int().min(1).max(1024),
    })
    .refine((params) => (params.session === undefined) !== (params.snapshot === undefined), {
      message: "give either `session` or `snapshot`",
    }),
  result: z.looseObject({ sessions: z.array(sessionId) }),
  errors: ["UNKNOWN_SESSION", "UNKNOWN_SNAPSHOT", "RESET_NEEDED", "CAPACITY", "QUOTA"],
  roles: ["trainer"],
});
