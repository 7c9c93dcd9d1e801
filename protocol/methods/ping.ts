import { z } from "zod";
import { method, roles } from "../method.ts";

export const ping = method({
  name: "ping",
  summary: "Answers at once: for peers whose sockets cannot ping by themselves, as those of browsers.",
  params: z.strictObject({}),
  result: z.looseObject({}),
  errors: [],
  roles,
});
