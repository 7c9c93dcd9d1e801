/** Which schemas are in a schema, and where do its `$ref`s lead: to a place in it, to nowhere, or round in circles? */

import type { JsonSchema } from "trailgym/env";

export type ReferenceProblem = { kind: "unresolvable_ref" | "cyclic_ref"; message: string };

/** Keywords that hold one schema, a list of them, or a table; the first group is held against the very same value. */
const onTheSameValue = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] as const;
const onItsParts = [
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
] as const;
const tables = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] as const;

/** Every schema in a schema, itself first. */
export function partsOf(schema: JsonSchema): JsonSchema[] {
  const found = new Set<JsonSchema>();
  const visit = (part: JsonSchema) => {
    if (found.has(part)) return;
    found.add(part);
    for (const keyword of [...onTheSameValue, ...onItsParts]) schemasIn(part[keyword]).forEach(visit);
    for (const keyword of tables) {
      if (isObject(part[keyword])) Object.values(part[keyword]).filter(isObject).forEach(visit);
    }
  };
  visit(schema);
  return [...found];
}

/** Nothing is ever fetched: what is not in the schema is unresolvable. A schema that recurs into parts of its value is fine. */
export function referenceProblem(schema: JsonSchema): ReferenceProblem | undefined {
  const parts = partsOf(schema);
  const named = namesOf(parts);
  const targets = new Map<JsonSchema, JsonSchema>();
  for (const part of parts) {
    const reference = part.$ref ?? part.$dynamicRef;
    if (reference === undefined) continue;
    if (typeof reference !== "string") return { kind: "unresolvable_ref", message: "a $ref is not a text" };
    const target = named.get(reference) ?? pointed(schema, reference);
    if (target === undefined) return { kind: "unresolvable_ref", message: `$ref "${reference}" leads nowhere` };
    targets.set(part, target);
  }
  return circle(targets);
}

function namesOf(parts: readonly JsonSchema[]): Map<string, JsonSchema> {
  const named = new Map<string, JsonSchema>([["#", parts[0] as JsonSchema]]);
  for (const part of parts) {
    for (const anchor of [part.$anchor, part.$dynamicAnchor]) {
      if (typeof anchor === "string") named.set(`#${anchor}`, part);
    }
    if (typeof part.$id === "string") named.set(part.$id, part).set(`${part.$id}#`, part);
  }
  return named;
}

/** RFC 6901 in a fragment. */
function pointed(schema: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith("#/")) return undefined;
  let place: unknown = schema;
  for (const step of reference.slice(2).split("/")) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as Record<string, unknown>)[key];
  }
  if (typeof place === "boolean") return {};
  return isObject(place) ? place : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A circle of steps that all stay on one value would be walked for ever. Depth first. */
function circle(targets: ReadonlyMap<JsonSchema, JsonSchema>): ReferenceProblem | undefined {
  const done = new Set<JsonSchema>();
  const open = new Set<JsonSchema>();
  const closes = (part: JsonSchema): boolean => {
    if (open.has(part)) return true;
    if (done.has(part)) return false;
    open.add(part);
    const target = targets.get(part);
    const next = onTheSameValue.flatMap((keyword) => schemasIn(part[keyword]));
    const found = (target ? [target, ...next] : next).some(closes);
    open.delete(part);
    done.add(part);
    return found;
  };
  const start = [...targets.keys()].find(closes);
  if (start === undefined) return undefined;
  return { kind: "cyclic_ref", message: `$ref "${String(start.$ref ?? start.$dynamicRef)}" leads back to itself` };
}

function schemasIn(value: unknown): JsonSchema[] {
  return Array.isArray(value) ? value.filter(isObject) : isObject(value) ? [value] : [];
}

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
