/**
 * How does the MLP play an environment whose observations and actions are JSON? Its schemas say: every discrete action once,
 * and a vector of numbers for an observation. What has no such form (free text, open lists) is refused by name.
 */

type Schema = Readonly<Record<string, unknown>>;

export class NotPlain extends Error {
  override readonly name = "NotPlain";
}

/** All actions of a schema of enumerations, constants, booleans, bounded integers, and objects of them. @throws NotPlain */
export function discreteActions(schema: Schema, limit = 4096): unknown[] {
  const found = optionsOf(schema, "action", limit);
  if (found.length === 0) throw new NotPlain("no action fits the schema");
  return found;
}

function optionsOf(schema: Schema, path: string, limit: number): unknown[] {
  const { type, minimum, maximum } = schema;
  const within = (options: unknown[]) => {
    if (options.length > limit) throw new NotPlain(`${path} has more than ${limit} values`);
    return options;
  };
  if (Array.isArray(schema.enum)) return within(schema.enum as unknown[]);
  if ("const" in schema) return [schema.const];
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches)) return within(branches.flatMap((each) => optionsOf(each as Schema, path, limit)));
  if (type === "boolean") return [false, true];
  if (type === "null") return [null];
  if (type === "integer" && typeof minimum === "number" && typeof maximum === "number") {
    if (maximum - minimum >= limit) throw new NotPlain(`${path} has more than ${limit} values`);
    return Array.from({ length: maximum - minimum + 1 }, (_, i) => minimum + i);
  }
  if (type === "object") {
    const required = new Set((schema.required ?? []) as string[]);
    const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
    return properties.reduce<unknown[]>(
      (sofar, [key, value]) => {
        const values = optionsOf(value, `${path}.${key}`, limit).map((each) => ({ [key]: each }));
        const choices = required.has(key) ? values : [{}, ...values];
        return within(sofar.flatMap((base) => choices.map((choice) => ({ ...(base as object), ...choice }))));
      },
      [{}],
    );
  }
  throw new NotPlain(`${path} is not a choice among few: ${JSON.stringify(schema)}`);
}

export interface ObservationEncoder {
  width: number;
  /** @throws NotPlain for an observation that is not of the schema. */
  encode(observation: unknown): Float32Array;
}

/** Small integers have a place of their own, so that a policy need not learn that 3 is not a little more than 2. */
const places = 8;
const widestRange = 64;

type Writer = (value: unknown, out: Float32Array, at: number) => void;

interface Part {
  width: number;
  write: Writer;
}

/**
 * Numbers as x/10, sign·log(1+|x|) and, for integers, which of 0 … 7 (or of the schema's range) it is; enumerations and
 * booleans as one of their members; objects and lists of fixed length as their parts. @throws NotPlain
 */
export function observationEncoder(schema: Schema): ObservationEncoder {
  const { width, write } = partOf(schema, "observation");
  return {
    width,
    encode(observation) {
      const out = new Float32Array(width);
      write(observation, out, 0);
      return out;
    },
  };
}

function partOf(schema: Schema, path: string): Part {
  if (Array.isArray(schema.enum)) return memberOf(schema.enum as unknown[], path);
  if ("const" in schema) return { width: 0, write: () => undefined };
  switch (schema.type) {
    case "boolean":
      return { width: 1, write: (value, out, at) => (out[at] = value === true ? 1 : 0) };
    case "integer":
      return integer(schema, path);
    case "number":
      return { width: 2, write: (value, out, at) => writeNumber(numberOf(value, path), out, at) };
    case "object":
      return sequence(
        Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(([key, value]) => [
          partOf(value, `${path}.${key}`),
          (whole) => (whole as Record<string, unknown> | null)?.[key],
        ]),
      );
    case "array": {
      const items = Array.isArray(schema.prefixItems)
        ? (schema.prefixItems as Schema[])
        : fixedLength(schema, path).map(() => schema.items as Schema);
      return sequence(
        items.map((each, i) => [partOf(each, `${path}[${i}]`), (whole) => (whole as unknown[] | undefined)?.[i]]),
      );
    }
    default:
      throw new NotPlain(`${path} has no fixed size: ${JSON.stringify(schema)}`);
  }
}

function fixedLength({ minItems, maxItems, items }: Schema, path: string): undefined[] {
  if (typeof maxItems !== "number" || minItems !== maxItems || typeof items !== "object") {
    throw new NotPlain(`${path} is a list of no fixed length`);
  }
  return new Array<undefined>(maxItems).fill(undefined);
}

function integer({ minimum, maximum }: Schema, path: string): Part {
  const [low, high] = [minimum, maximum].map((bound) => (typeof bound === "number" ? bound : undefined));
  const bounded = low !== undefined && high !== undefined && high - low < widestRange;
  const [first, count] = bounded ? [low, high - low + 1] : [0, places];
  return {
    width: 2 + count,
    write(value, out, at) {
      const number = numberOf(value, path);
      writeNumber(number, out, at);
      if (number >= first && number < first + count) out[at + 2 + number - first] = 1;
    },
  };
}

function memberOf(members: readonly unknown[], path: string): Part {
  const places = new Map(members.map((member, i) => [JSON.stringify(member), i]));
  return {
    width: members.length,
    write(value, out, at) {
      const place = places.get(JSON.stringify(value) ?? "");
      if (place === undefined)
        throw new NotPlain(`${path} is ${JSON.stringify(value)}, which its schema does not list`);
      out[at + place] = 1;
    },
  };
}

function sequence(parts: readonly (readonly [Part, (whole: unknown) => unknown])[]): Part {
  return {
    width: parts.reduce((sum, [{ width }]) => sum + width, 0),
    write(value, out, at) {
      for (const [part, pick] of parts) {
        part.write(pick(value), out, at);
        at += part.width;
      }
    },
  };
}

function writeNumber(value: number, out: Float32Array, at: number): void {
  out[at] = value / 10;
  out[at + 1] = Math.sign(value) * Math.log1p(Math.abs(value));
}

function numberOf(value: unknown, path: string): number {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new NotPlain(`${path} is ${JSON.stringify(value)}, not a number`);
  }
  return value;
}
