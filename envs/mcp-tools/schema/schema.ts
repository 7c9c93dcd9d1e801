/** Is a tool's schema usable, and do a call's arguments fit it? JSON Schema 2020-12, and the drafts before it by `$schema`. */

import { Ajv, type Options as AjvOptions, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as formats from "ajv-formats";
import type { FormatsPluginOptions } from "ajv-formats";
import type { JsonSchema } from "trailgym/env";
import { patternProblem } from "./pattern.ts";
import { partsOf, referenceProblem } from "./references.ts";

/**
 * `bad_schema`: breaks the rules of JSON Schema, or is none of an object. `unknown_dialect`: its `$schema` is another
 * language. `schema_too_large`: bigger than any tool's. `unsafe_pattern`: its validation could take for ever.
 */
export type SchemaProblemKind =
  "bad_schema" | "unknown_dialect" | "unresolvable_ref" | "cyclic_ref" | "schema_too_large" | "unsafe_pattern";

export interface SchemaProblem {
  kind: SchemaProblemKind;
  message: string;
}

/** Far beyond what servers publish: the largest of LiveMCPBench's 527 schemas has 12 kB. */
const MAX_CHARS = 200_000;
const MAX_DEPTH = 40;
const MAX_REFERENCES = 1_000;

/** No strict mode: servers' schemas hold keywords of their own. One fault is told; a value may have a million. */
const settings: AjvOptions = {
  strict: false,
  logger: false,
  allErrors: false,
  unicodeRegExp: false,
};
const dialects = { draft7: withFormats(new Ajv(settings)), draft2019: withFormats(new Ajv2019(settings)) };
const current = withFormats(new Ajv2020(settings));

function withFormats<T extends Ajv>(ajv: T): T {
  // Ajv's type of itself and the one in its plug-in's declarations differ in nothing that matters.
  const add = formats.default as unknown as (to: Ajv, options: FormatsPluginOptions) => void;
  // The full expressions of some formats backtrack; those of dates only look at the calendar.
  add(ajv, { mode: "fast" });
  add(ajv, { mode: "full", formats: ["date", "time", "date-time"] });
  return ajv;
}

function dialectOf({ $schema }: JsonSchema): Ajv | undefined {
  if ($schema === undefined) return current;
  if (typeof $schema !== "string") return undefined;
  if (/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test($schema)) return current;
  if (/^https?:\/\/json-schema\.org\/draft\/2019-09\/schema#?$/.test($schema)) return dialects.draft2019;
  return /^https?:\/\/json-schema\.org\/(draft-0[67]\/)?schema#?$/.test($schema) ? dialects.draft7 : undefined;
}

/** What keeps a schema from being an `inputSchema`; undefined when nothing does. Compiles nothing: a dataset has hundreds. */
export function schemaProblem(schema: unknown): SchemaProblem | undefined {
  if (!isObject(schema)) return { kind: "bad_schema", message: "the schema is not an object" };
  if (isDeeper(schema, MAX_DEPTH)) {
    return { kind: "schema_too_large", message: `the schema is nested deeper than ${MAX_DEPTH}` };
  }
  if (JSON.stringify(schema).length > MAX_CHARS) {
    return { kind: "schema_too_large", message: `the schema is longer than ${MAX_CHARS} characters` };
  }
  const ajv = dialectOf(schema);
  if (ajv === undefined) {
    return { kind: "unknown_dialect", message: `$schema ${JSON.stringify(schema.$schema)} is not one that is known` };
  }
  if (schema.type !== "object") {
    return { kind: "bad_schema", message: 'the schema is not of type "object": arguments are passed by name' };
  }
  const { $schema: _, ...body } = schema;
  if (ajv.validateSchema(body) !== true) {
    const [error] = ajv.errors ?? [];
    return {
      kind: "bad_schema",
      message: `the schema at "${error?.instancePath ?? ""}" ${error?.message ?? "is none"}`,
    };
  }
  return partsProblem(schema) ?? referenceProblem(schema);
}

function partsProblem(schema: JsonSchema): SchemaProblem | undefined {
  let references = 0;
  for (const part of partsOf(schema)) {
    if ("$ref" in part && ++references > MAX_REFERENCES) {
      return { kind: "schema_too_large", message: `the schema has more than ${MAX_REFERENCES} $refs` };
    }
    const patterns = [part.pattern, ...Object.keys(isObject(part.patternProperties) ? part.patternProperties : {})];
    for (const pattern of patterns) {
      const problem = typeof pattern === "string" ? patternProblem(pattern) : undefined;
      if (problem !== undefined)
        return { kind: "unsafe_pattern", message: `the pattern "${String(pattern)}" ${problem}` };
    }
  }
  return undefined;
}

export type Check = (args: Readonly<Record<string, unknown>>) => string | undefined;

const checks = new WeakMap<JsonSchema, Check>();

/**
 * The check of a schema without a problem, compiled at its first use.
 * @returns what is wrong with arguments, as the end of a sentence; undefined when they fit.
 */
export function checkOf(schema: JsonSchema): Check {
  let check = checks.get(schema);
  if (check === undefined) {
    const compiled = compiledOf(schema);
    // Whatever `schemaProblem` did not see is not the call's fault, and a server that cannot check does not check.
    check = "problem" in compiled ? () => undefined : checkWith(compiled.validate);
    checks.set(schema, check);
  }
  return check;
}

type Compiled = { validate: ValidateFunction } | { problem: SchemaProblem };

const compilations = new WeakMap<JsonSchema, Compiled>();

/** Takes a millisecond or more for a schema, once, and finds what `schemaProblem` leaves out. */
export function compiledOf(schema: JsonSchema): Compiled {
  let compiled = compilations.get(schema);
  if (compiled === undefined) {
    compiled = compile(schema);
    compilations.set(schema, compiled);
  }
  return compiled;
}

function compile(schema: JsonSchema): Compiled {
  const { $schema: _, ...body } = schema;
  const ajv = dialectOf(schema) ?? current;
  try {
    return { validate: ajv.compile(body) };
  } catch (error) {
    return { problem: { kind: "bad_schema", message: (error as Error).message } };
  } finally {
    // What it compiled works without it, and two tools may say the same $id.
    ajv.removeSchema(body);
  }
}

function checkWith(validate: ValidateFunction): Check {
  return (args) => {
    if (validate(args)) return undefined;
    const [error] = validate.errors ?? [];
    const { instancePath = "", message = "does not fit", params = {} } = error ?? {};
    const extra: unknown = params.additionalProperty ?? params.unevaluatedProperty ?? params.allowedValues;
    const what = instancePath === "" ? "the arguments" : `"${instancePath.slice(1).replaceAll("/", ".")}"`;
    return `${what} ${message}${extra === undefined ? "" : ` (${JSON.stringify(extra)})`}`;
  };
}

/** Looks no further than it must: a file may hold anything. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
