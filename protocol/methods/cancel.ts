import { z } from "zod";
import { notification } from "../method.ts";

export const requestId = z.union([z.string().max(256), z.number(), z.null()]);

export const cancel = notification({
  name: "$/cancel",
  summary:
    "Ends a request of this socket with CANCELLED; the state is untouched. Where another retry of the same call still waits, " +
    "all of them get its outcome instead. Unknown and ended ids are ignored; ids are compared with their type.",
  direction: "clientToServer",
  params: z.strictObject({ id: requestId }),
});
