import { z } from "zod";
import { method } from "../method.ts";
import { sessionId } from "../shapes.ts";

export const envClose = method({
  name: "env/close",
  summary: "Ends a session and whatever runs in it. Again: the same answer.",
  description: "A trial that still runs is cancelled; its caller gets CANCELLED.",
  params: z.strictObject({ session: sessionId }),
  result: z.looseObject({ closed: z.literal(true) }),
  errors: ["UNKNOWN_SESSION"],
  roles: ["trainer"],
});
