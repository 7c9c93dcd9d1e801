import { z } from "zod";
import { method } from "../method.ts";
import { observed, seq, sessionId, snapshotId } from "../shapes.ts";

export const envRestore = method({
  name: "env/restore",
  summary: "Puts a session back to a snapshot of the same environment; it continues from that value.",
  params: z.strictObject({ session: sessionId, seq: seq.optional(), snapshot: snapshotId }),
  result: observed,
  errors: ["UNKNOWN_SESSION", "UNKNOWN_SNAPSHOT", "SEQ_CONFLICT", "SEQ_GAP", "SESSION_BUSY", "CAPACITY"],
  roles: ["trainer"],
});
