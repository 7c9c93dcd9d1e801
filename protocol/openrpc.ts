/** The OpenRPC 1.3 document, derived from the method and error tables. */

import { z } from "zod";
import { errorTable, type ErrorName } from "./errors.ts";
import type { Method } from "./method.ts";
import { methods, notifications } from "./methods/index.ts";
import { protocolVersions } from "./version.ts";

/** Errors that any call may get, beside its own. */
export const anyCall: readonly ErrorName[] = [
  "PARSE_ERROR",
  "INVALID_REQUEST",
  "METHOD_NOT_FOUND",
  "INVALID_PARAMS",
  "INTERNAL_ERROR",
  "NOT_INITIALIZED",
  "FORBIDDEN",
  "MESSAGE_TOO_LARGE",
  "SHUTTING_DOWN",
];

export function openrpc(): Record<string, unknown> {
  return {
    openrpc: "1.3.2",
    info: {
      title: "TrailGym",
      version: protocolVersions[0],
      description:
        "Reinforcement-learning environments over JSON-RPC 2.0 on a WebSocket. One text frame is one message or batch.",
    },
    methods: Object.values(methods).map(methodObject),
    components: {
      errors: Object.fromEntries(Object.keys(errorTable).map((name) => [name, errorRef(name as ErrorName)])),
    },
    "x-notifications": notifications.map(({ name, summary, direction, params }) => ({
      name,
      summary,
      direction,
      params: contentDescriptors(params),
    })),
  };
}

function methodObject(method: Method): Record<string, unknown> {
  return {
    name: method.name,
    summary: method.summary,
    ...(method.description === undefined ? {} : { description: method.description }),
    paramStructure: "by-name",
    params: contentDescriptors(method.params),
    result: { name: "result", schema: jsonSchema(method.result, "output") },
    errors: [...anyCall, ...method.errors].map((name) => ({ $ref: `#/components/errors/${name}` })),
    "x-roles": method.roles,
  };
}

interface ObjectSchema {
  properties?: Record<string, { description?: string }>;
  required?: string[];
}

/** OpenRPC describes params one by one; ours are always one object, sent by name. */
function contentDescriptors(params: z.ZodType): Record<string, unknown>[] {
  const { properties = {}, required = [] } = jsonSchema(params, "input") as ObjectSchema;
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    ...(schema.description === undefined ? {} : { summary: schema.description }),
    required: required.includes(name),
    schema,
  }));
}

export function jsonSchema(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  void $schema; // The same line in each of two hundred schemas says nothing.
  return rest;
}

function errorRef(name: ErrorName): Record<string, unknown> {
  const { code, when, retryable, fields } = errorTable[name];
  return { code, message: when, data: { name, retryable, fields: jsonSchema(fields, "output") } };
}
