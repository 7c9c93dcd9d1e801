import { z } from "zod";
import { notification } from "../method.ts";

export const requestId = z.union([z.string().max(256), z.number(), z.null()]);

export const cancel = notification({
  name: "$/cancel",
  summary: "Ends a request of this socket with CANCELLED; the state is untouched. Unknown and ended ids are ignored.",
  direction: "clientToServer",
  params: z.strictObject({ id: requestId }),
});
