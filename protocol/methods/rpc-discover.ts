import { z } from "zod";
import { method, roles } from "../method.ts";

export const rpcDiscover = method({
  name: "rpc.discover",
  summary: "The OpenRPC document of this server; also at `GET /openrpc.json`.",
  params: z.strictObject({}),
  result: z.looseObject({ openrpc: z.string() }),
  errors: [],
  roles,
});
