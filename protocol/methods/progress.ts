import { z } from "zod";
import { notification } from "../method.ts";
import { requestId } from "./cancel.ts";

export const progress = notification({
  name: "$/progress",
  summary: "How far a running request is; at most 10 a second for one id.",
  direction: "serverToClient",
  params: z.looseObject({
    id: requestId,
    fraction: z.number().min(0).max(1).optional(),
    message: z.string().optional(),
    position: z.int().min(1).optional().describe("place in the queue of a call that has not begun; 1 is next"),
  }),
});
