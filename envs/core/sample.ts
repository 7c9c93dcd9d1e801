/** Which actions would a player try who knows nothing but the action's JSON Schema? */

import type { ToolSpec } from "trailgym/protocol";
import type { Rng } from "./rng.ts";

/** A JSON Schema, draft 2020-12, or one of its boolean schemas. */
type JsonSchema = { readonly [keyword: string]: unknown } | boolean;

/**
 * One random value of `schema`. Knows types, enum, const, anyOf, oneOf, allOf of objects, local $ref, bounds, multipleOf,
 * lengths, and the usual string formats; a `pattern` is not solved, so hold the result against the schema where one matters.
 * Optional properties are there half of the time. The same generator state gives the same value.
 */
export function sampleAction(schema: JsonSchema, rng: Rng): unknown {
  return sample(schema, { rng, root: schema, depth: 0 });
}

/** A call of one of `tools` with random arguments, in the form that tool environments take. */
export function sampleToolCall(tools: readonly ToolSpec[], rng: Rng): { tool: string; arguments: unknown } {
  const { name, inputSchema } = rng.choice(tools);
  return { tool: name, arguments: sampleAction(inputSchema, rng) };
}

interface Place {
  rng: Rng;
  root: JsonSchema;
  depth: number;
}

/** Beneath this only what is required is filled in, so that a recursive schema ends. */
const SHALLOW = 6;
/** A recursive schema whose every value is infinite. */
const DEEPEST = 48;

function sample(schema: JsonSchema, place: Place): unknown {
  if (place.depth > DEEPEST) throw new RangeError("the schema has no finite value");
  if (schema === false) throw new RangeError("no value satisfies the schema `false`");
  if (schema === true) return anything(place.rng);
  const { rng } = place;
  if (typeof schema.$ref === "string") return sample(resolve(schema.$ref, place.root), deeper(place));
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return rng.choice(schema.enum as unknown[]);
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches)) return sampleBranch(schema, branches as JsonSchema[], place);
  if (Array.isArray(schema.allOf))
    return sample(merge(schema, schema.allOf as JsonSchema[], place.root), deeper(place));
  const type = Array.isArray(schema.type) ? rng.choice(schema.type as unknown[]) : (schema.type ?? implied(schema));
  switch (type) {
    case "null":
      return null;
    case "boolean":
      return rng.int(0, 1) === 1;
    case "integer":
      return integer(schema, rng);
    case "number":
      return number(schema, rng);
    case "string":
      return string(schema, rng);
    case "array":
      return array(schema, place);
    case "object":
      return object(schema, place);
    default:
      return anything(rng);
  }
}

function deeper(place: Place): Place {
  return { ...place, depth: place.depth + 1 };
}

function sampleBranch(schema: Exclude<JsonSchema, boolean>, branches: readonly JsonSchema[], place: Place): unknown {
  // Deep inside a recursive type the branch without references is the one that ends.
  const ending = branches.filter((branch) => !JSON.stringify(branch).includes('"$ref"'));
  const branch = place.rng.choice(place.depth >= SHALLOW && ending.length > 0 ? ending : branches);
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema;
  return sample(Object.keys(rest).length > 0 ? merge(rest, [branch], place.root) : branch, deeper(place));
}

/** One schema that asks for what all of them ask: enough for object types that were put together. */
function merge(base: Exclude<JsonSchema, boolean>, parts: readonly JsonSchema[], root: JsonSchema): JsonSchema {
  const { allOf: _allOf, ...start } = base;
  let merged: Record<string, unknown> = start;
  for (let part of parts) {
    if (typeof part === "object" && typeof part.$ref === "string") part = resolve(part.$ref, root);
    if (part === true) continue;
    if (part === false) return false;
    merged = {
      ...merged,
      ...part,
      ...union(merged, part, "properties", (a, b) => ({ ...(a as object), ...(b as object) })),
      ...union(merged, part, "required", (a, b) => [...(a as unknown[]), ...(b as unknown[])]),
    };
  }
  return merged;
}

function union(
  a: Record<string, unknown>,
  b: Record<string, unknown>,
  keyword: string,
  join: (a: unknown, b: unknown) => unknown,
): Record<string, unknown> {
  return a[keyword] === undefined || b[keyword] === undefined ? {} : { [keyword]: join(a[keyword], b[keyword]) };
}

function resolve(ref: string, root: JsonSchema): JsonSchema {
  let found: unknown = root;
  for (const part of ref.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = (found as Record<string, unknown> | undefined)?.[key];
  }
  if (!ref.startsWith("#") || found === undefined) throw new RangeError(`the schema has nothing at "${ref}"`);
  return found as JsonSchema;
}

function implied(schema: Exclude<JsonSchema, boolean>): string | undefined {
  if ("properties" in schema || "required" in schema || "additionalProperties" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  if ("pattern" in schema || "minLength" in schema || "maxLength" in schema) return "string";
  return "minimum" in schema || "maximum" in schema ? "number" : undefined;
}

type Bounds = Exclude<JsonSchema, boolean>;

function integer(schema: Bounds, rng: Rng): number {
  const unit = numberOf(schema.multipleOf) ?? 1;
  // zod writes the safe range for an unbounded int: play near zero there, where environments live.
  const given = (bound: unknown) => {
    const n = numberOf(bound);
    return n === undefined || Math.abs(n) >= Number.MAX_SAFE_INTEGER ? undefined : n;
  };
  const above = given(schema.exclusiveMinimum);
  const below = given(schema.exclusiveMaximum);
  const low = max(given(schema.minimum), above === undefined ? undefined : Math.floor(above) + 1);
  const high = min(given(schema.maximum), below === undefined ? undefined : Math.ceil(below) - 1);
  const from = low ?? (high === undefined ? -10 : high - 20);
  const to = high ?? from + 20;
  const [first, last] = [Math.ceil(from / unit), Math.floor(to / unit)];
  if (first > last && high === undefined) return first * unit;
  return rng.int(first, last) * unit + 0;
}

function number(schema: Bounds, rng: Rng): number {
  const unit = numberOf(schema.multipleOf);
  if (unit !== undefined) return integer(schema, rng);
  const low = max(numberOf(schema.minimum), numberOf(schema.exclusiveMinimum));
  const high = min(numberOf(schema.maximum), numberOf(schema.exclusiveMaximum));
  const from = low ?? (high === undefined ? -1 : high - 2);
  const to = high ?? from + 2;
  // Never the lower end itself, which may be excluded; the ends of a closed range have probability zero anyway.
  const t = rng.float() + 2 ** -54;
  return from === to ? from : from * (1 - t) + to * t;
}

const formats: Record<string, (rng: Rng) => string> = {
  date: (rng) => `20${two(rng.int(0, 99))}-${two(rng.int(1, 12))}-${two(rng.int(1, 28))}`,
  time: (rng) => `${two(rng.int(0, 23))}:${two(rng.int(0, 59))}:${two(rng.int(0, 59))}Z`,
  "date-time": (rng) => `${formats.date?.(rng)}T${formats.time?.(rng)}`,
  email: (rng) => `${letters(rng, 5)}@example.com`,
  uri: (rng) => `https://example.com/${letters(rng, 5)}`,
  hostname: (rng) => `${letters(rng, 5)}.example.com`,
  ipv4: (rng) => Array.from({ length: 4 }, () => rng.int(1, 254)).join("."),
  uuid: (rng) =>
    [8, 4, 4, 4, 12]
      .map((n, i) => (i === 2 ? "4" : i === 3 ? "8" : "") + hex(rng, i === 2 || i === 3 ? n - 1 : n))
      .join("-"),
};

function string(schema: Bounds, rng: Rng): string {
  const format = typeof schema.format === "string" ? formats[schema.format] : undefined;
  if (format !== undefined) return format(rng);
  const least = numberOf(schema.minLength) ?? 0;
  const most = numberOf(schema.maxLength) ?? Math.max(least, 8);
  return letters(rng, rng.int(least, Math.min(most, least + 16)));
}

function array(schema: Bounds, place: Place): unknown[] {
  const { rng } = place;
  const prefix = Array.isArray(schema.prefixItems) ? (schema.prefixItems as JsonSchema[]) : [];
  const items =
    schema.items === false ? undefined : ((schema.items ?? (prefix.length > 0 ? undefined : true)) as JsonSchema);
  const least = Math.max(numberOf(schema.minItems) ?? 0, prefix.length);
  const most = Math.max(least, numberOf(schema.maxItems) ?? least + 3);
  const length =
    items === undefined ? least : place.depth >= SHALLOW ? least : rng.int(least, Math.min(most, least + 8));
  const list: unknown[] = [];
  for (let tries = 0; list.length < length && tries < length * 10; tries++) {
    const item = sample(prefix[list.length] ?? items ?? true, deeper(place));
    if (schema.uniqueItems !== true || !list.some((other) => JSON.stringify(other) === JSON.stringify(item)))
      list.push(item);
  }
  return list;
}

function object(schema: Bounds, place: Place): Record<string, unknown> {
  const { rng } = place;
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const required = new Set((schema.required ?? []) as string[]);
  const entries: [string, unknown][] = [];
  for (const key of new Set([...Object.keys(properties), ...required])) {
    if (required.has(key) || (place.depth < SHALLOW && rng.int(0, 1) === 1)) {
      entries.push([
        key,
        sample(Object.hasOwn(properties, key) ? (properties[key] as JsonSchema) : true, deeper(place)),
      ]);
    }
  }
  const extra = schema.additionalProperties;
  if (typeof extra === "object" && extra !== null && place.depth < SHALLOW) {
    const names = schema.propertyNames as JsonSchema | undefined;
    for (let count = rng.int(0, 2); count > 0; count--) {
      const key = names === undefined ? letters(rng, 4) : String(sample(names, deeper(place)));
      if (!entries.some(([name]) => name === key)) entries.push([key, sample(extra as JsonSchema, deeper(place))]);
    }
  }
  return Object.fromEntries(entries);
}

/** Where the schema says nothing, something of each kind. */
function anything(rng: Rng): unknown {
  return rng.choice([null, true, false, rng.int(-10, 10), letters(rng, rng.int(0, 8)), [], {}]);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
function max(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.max(a, b);
}
function min(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
function letters(rng: Rng, length: number): string {
  return Array.from({ length }, () => rng.choice([..."abcdefghijklmnopqrstuvwxyz"])).join("");
}
function hex(rng: Rng, length: number): string {
  return Array.from({ length }, () => rng.choice([..."0123456789abcdef"])).join("");
}
function two(n: number): string {
  return String(n).padStart(2, "0");
}
