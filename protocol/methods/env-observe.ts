import { z } from "zod";
import { method, roles } from "../method.ts";
import { observed, sessionId } from "../shapes.ts";

export const envObserve = method({
  name: "env/observe",
  summary: "The last committed value of a session. Never waits for a running trial.",
  params: z.strictObject({ session: sessionId }),
  result: observed,
  errors: ["UNKNOWN_SESSION"],
  roles,
});
