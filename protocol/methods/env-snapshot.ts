import { z } from "zod";
import { method } from "../method.ts";
import { index, label, sessionId, snapshotId, stateDigest } from "../shapes.ts";

export const envSnapshot = method({
  name: "env/snapshot",
  summary: "Names the last committed value, to be restored or forked later.",
  description: "Outlives its session. Never waits for a running trial. RESET_NEEDED before the first reset.",
  params: z.strictObject({ session: sessionId, label: label.optional() }),
  result: z.looseObject({
    snapshot: snapshotId,
    index,
    digest: stateDigest,
    bytes: z.int().describe("size of the state's encoding"),
    label: label.optional().describe("as it was given"),
  }),
  errors: ["UNKNOWN_SESSION", "RESET_NEEDED", "CAPACITY"],
  roles: ["trainer"],
});
