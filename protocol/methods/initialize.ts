import { z } from "zod";
import { method, roles } from "../method.ts";
import { record } from "../shapes.ts";

export const initialize = method({
  name: "initialize",
  summary: "Agrees on a protocol version; must be the first call on a socket.",
  description:
    "The token may come in the upgrade's `Authorization: Bearer` header instead; browsers cannot set one. " +
    "A second call on the same socket is INVALID_REQUEST.",
  params: z.strictObject({
    protocolVersions: z.array(z.string().max(64)).min(1).max(64).describe("versions the client speaks, best first"),
    client: z.strictObject({ name: z.string().max(256), version: z.string().max(64) }),
    token: z.string().max(4096).optional(),
    traceparent: z
      .string()
      .regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/, "a W3C traceparent of version 00")
      .optional()
      .describe("trace and span that this socket's calls belong to, as in W3C Trace Context"),
  }),
  result: z.looseObject({
    protocolVersion: z.string(),
    server: z.looseObject({
      name: z.string(),
      version: z.string(),
      instance: z.string().describe("differs after every start of the server"),
    }),
    role: z.enum(roles),
    capabilities: record,
    limits: z.looseObject({
      maxMessageBytes: z.int(),
      maxBatch: z.int(),
      maxSessions: z.int(),
      stepTimeoutMs: z.number().describe("default deadline of a reset, step or restore"),
      leaseMs: z.number().describe("default lease: a session nobody calls or holds for this long is closed"),
    }),
  }),
  errors: ["UNSUPPORTED_VERSION", "UNAUTHENTICATED"],
  roles,
});
