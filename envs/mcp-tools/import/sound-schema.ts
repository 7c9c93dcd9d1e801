/** How does a schema in somebody's dialect become a JSON Schema, and what if calls that worked do not fit it? */

import type { JsonSchema } from "trailgym/env";
import { compiledOf, schemaProblem } from "../schema/schema.ts";
import { isObject } from "./draft.ts";

/** What data sets write for a type. */
const types: Readonly<Record<string, string>> = {
  dict: "object",
  map: "object",
  list: "array",
  tuple: "array",
  str: "string",
  text: "string",
  enum: "string",
  date: "string",
  int: "integer",
  long: "integer",
  float: "number",
  double: "number",
  bool: "boolean",
  none: "null",
};
const known = new Set(["object", "array", "string", "integer", "number", "boolean", "null"]);

/**
 * @returns a schema without a problem; where even the repaired one has one, a schema that takes any arguments, with the
 * reason.
 */
export function soundSchema(raw: unknown): { schema: JsonSchema; replaced?: string } {
  if (raw === undefined || raw === null) return { schema: open };
  const repaired = repair(raw, 0);
  const schema = isObject(repaired) ? { ...repaired, type: "object" } : repaired;
  const problem = schemaProblem(schema);
  if (problem !== undefined) return { schema: open, replaced: problem.message };
  const compiled = compiledOf(schema as JsonSchema);
  if ("problem" in compiled) return { schema: open, replaced: compiled.problem.message };
  return { schema: schema as JsonSchema };
}

const open: JsonSchema = { type: "object" };

function repair(schema: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > 40) return schema;
  const fixed: Record<string, unknown> = { ...schema };
  if ("type" in fixed) {
    const type = repairedType(fixed.type);
    if (type === undefined) delete fixed.type;
    else fixed.type = type;
  }
  // Draft 4 said it with two keywords.
  for (const [exclusive, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof fixed[exclusive] !== "boolean") continue;
    if (fixed[exclusive] === true && typeof fixed[bound] === "number") {
      fixed[exclusive] = fixed[bound];
      delete fixed[bound];
    } else delete fixed[exclusive];
  }
  if (fixed.required !== undefined && !isTexts(fixed.required)) delete fixed.required;
  else if (isTexts(fixed.required)) fixed.required = [...new Set(fixed.required)];
  if (fixed.enum !== undefined && !Array.isArray(fixed.enum)) delete fixed.enum;
  if (fixed.description !== undefined && typeof fixed.description !== "string") delete fixed.description;
  for (const keyword of ["properties", "patternProperties", "$defs", "definitions"]) {
    if (isObject(fixed[keyword])) fixed[keyword] = mapped(fixed[keyword], depth);
    else delete fixed[keyword];
  }
  for (const keyword of ["items", "additionalProperties", "not", "contains", "propertyNames"]) {
    if (isObject(fixed[keyword])) fixed[keyword] = repair(fixed[keyword], depth + 1);
  }
  for (const keyword of ["anyOf", "oneOf", "allOf", "prefixItems"]) {
    const list: unknown = fixed[keyword];
    if (Array.isArray(list)) fixed[keyword] = list.map((part: unknown) => repair(part, depth + 1));
  }
  return fixed;
}

const mapped = (table: Record<string, unknown>, depth: number) =>
  Object.fromEntries(Object.entries(table).map(([key, part]) => [key, isObject(part) ? repair(part, depth + 1) : {}]));

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** Undefined: it says nothing that is known, such as "any" or "DATE (YYYY-MM-DD)" beyond its first word. */
function repairedType(type: unknown): unknown {
  if (Array.isArray(type)) {
    const list = type.map(repairedType).filter((one) => typeof one === "string");
    return list.length > 0 ? [...new Set(list)] : undefined;
  }
  if (typeof type !== "string") return undefined;
  const [word = ""] = type
    .trim()
    .toLowerCase()
    .split(/[^a-z]/);
  return known.has(word) ? word : types[word];
}

/** Calls that worked show what a server takes; a schema that refuses one of them is wrong, not the call. */
export function widened(schema: JsonSchema, args: Readonly<Record<string, unknown>>): JsonSchema {
  let wider = schema;
  for (let tries = 0; tries < 50; tries++) {
    const compiled = compiledOf(wider);
    if ("problem" in compiled) return open;
    if (compiled.validate(args)) return wider;
    const [error] = compiled.validate.errors ?? [];
    if (error === undefined) return open;
    wider = without(wider, error.keyword, error.instancePath, error.params, args);
  }
  return open;
}

function without(
  schema: JsonSchema,
  keyword: string,
  path: string,
  params: Record<string, unknown>,
  args: Readonly<Record<string, unknown>>,
): JsonSchema {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const [, key] = path.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (key !== undefined) {
    const before = properties[key];
    const { description } = isObject(before) ? before : {};
    const type =
      isObject(before) && keyword === "type" && path === `/${key}`
        ? [before.type, kindOf(args[key])].flat()
        : undefined;
    const after =
      type && isObject(before)
        ? { ...before, type: [...new Set(type)] }
        : description === undefined
          ? {}
          : { description };
    return { ...schema, properties: { ...properties, [key]: after } };
  }
  if (keyword === "required" && isTexts(schema.required)) {
    return { ...schema, required: schema.required.filter((name) => name !== params.missingProperty) };
  }
  const extra = params.additionalProperty ?? params.unevaluatedProperty;
  if (typeof extra === "string") return { ...schema, properties: { ...properties, [extra]: {} } };
  const { [keyword]: _, ...rest } = schema;
  return keyword in schema ? rest : open;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
