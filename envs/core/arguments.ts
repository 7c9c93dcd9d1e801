/** Do the arguments of a call fit a tool's JSON Schema, and if not, what is to be told to the policy? */

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The first thing that is wrong, as a sentence's end such as `"row" must be an integer, not a string`; undefined when
 * nothing is. Checks what tools' schemas use (types, enum, const, anyOf, oneOf, allOf, items, properties, required,
 * additionalProperties, bounds) and lets pass what it does not know, `$ref` included: the tool itself has the last word.
 */
export function problemWith(schema: unknown, value: unknown, path = ""): string | undefined {
  if (schema === false) return `${name(path)} is not allowed`;
  if (!isObject(schema)) return undefined;
  return (
    typeProblem(schema, value, path) ??
    choiceProblem(schema, value, path) ??
    boundProblem(schema, value, path) ??
    partsProblem(schema, value, path)
  );
}

function typeProblem(schema: JsonSchema, value: unknown, path: string): string | undefined {
  if (schema.type === undefined) return undefined;
  const types = Array.isArray(schema.type) ? (schema.type as unknown[]) : [schema.type];
  const kind = kindOf(value);
  if (types.includes(kind) || (kind === "integer" && types.includes("number"))) return undefined;
  return `${name(path)} must be ${types.map((type) => article(String(type))).join(" or ")}, not ${article(kind)}`;
}

function choiceProblem(schema: JsonSchema, value: unknown, path: string): string | undefined {
  const choices = schema.const !== undefined ? [schema.const] : schema.enum;
  if (Array.isArray(choices) && !choices.some((choice) => sameJson(choice, value))) {
    return `${name(path)} must be one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`;
  }
  for (const part of list(schema.allOf)) {
    const problem = problemWith(part, value, path);
    if (problem !== undefined) return problem;
  }
  // oneOf as anyOf: a tool is not harmed by a value that fits two branches.
  const branches = [...list(schema.anyOf), ...list(schema.oneOf)];
  const problems = branches.map((branch) => problemWith(branch, value, path));
  if (branches.length === 0 || problems.includes(undefined)) return undefined;
  return problems.join(", or ");
}

function boundProblem(schema: JsonSchema, value: unknown, path: string): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems } = schema;
  if (typeof value === "number" || typeof value === "bigint") {
    if (isNumber(minimum) && value < minimum) return `${name(path)} must be at least ${minimum}`;
    if (isNumber(maximum) && value > maximum) return `${name(path)} must be at most ${maximum}`;
    if (isNumber(exclusiveMinimum) && value <= exclusiveMinimum)
      return `${name(path)} must be over ${exclusiveMinimum}`;
    if (isNumber(exclusiveMaximum) && value >= exclusiveMaximum)
      return `${name(path)} must be under ${exclusiveMaximum}`;
  } else if (typeof value === "string") {
    if (isNumber(minLength) && value.length < minLength) return `${name(path)} is shorter than ${minLength} characters`;
    if (isNumber(maxLength) && value.length > maxLength) return `${name(path)} is longer than ${maxLength} characters`;
  } else if (Array.isArray(value)) {
    if (isNumber(minItems) && value.length < minItems) return `${name(path)} has fewer than ${minItems} items`;
    if (isNumber(maxItems) && value.length > maxItems) return `${name(path)} has more than ${maxItems} items`;
  }
  return undefined;
}

function partsProblem(schema: JsonSchema, value: unknown, path: string): string | undefined {
  if (Array.isArray(value)) {
    const first = list(schema.prefixItems);
    for (let i = 0; i < value.length; i++) {
      const problem = problemWith(i < first.length ? first[i] : schema.items, value[i], `${path}[${i}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  return isObject(value) ? fieldsProblem(schema, value, path) : undefined;
}

function fieldsProblem(schema: JsonSchema, value: JsonSchema, path: string): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const key of list(schema.required) as string[]) {
    if (!Object.hasOwn(value, key)) return `${name(join(path, key))} is missing`;
  }
  for (const key of Object.keys(value)) {
    const known = Object.hasOwn(properties, key);
    if (!known && schema.additionalProperties === false) {
      const names = Object.keys(properties);
      return `there is no ${name(join(path, key))}; ${names.length > 0 ? `there are ${names.join(", ")}` : "none is taken"}`;
    }
    const problem = problemWith(known ? properties[key] : schema.additionalProperties, value[key], join(path, key));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return typeof value;
}

/** Equality of JSON values; the order of keys does not count. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

const article = (type: string) => (type === "null" ? "null" : /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);
const name = (path: string) => (path === "" ? "the value" : `"${path}"`);
const join = (path: string, key: string) => (path === "" ? key : `${path}.${key}`);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isNumber = (value: unknown): value is number => typeof value === "number";
const isObject = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
