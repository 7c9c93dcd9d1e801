/** The lossless value codec: what JSON cannot hold travels as a tagged object and comes back as it was. */

import { base64, unbase64 } from "./base64.ts";

/** Deepest nesting a value or a message may have, counted in containers. */
export const MAX_DEPTH = 64;

const arrayTypes = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

export type Dtype = keyof typeof arrayTypes;
export type NumericArray = InstanceType<(typeof arrayTypes)[Dtype]>;

/** An n-dimensional array in C order; `data.length` is the product of `shape`. `bool` holds bytes 0 and 1. */
export class NdArray {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data: NumericArray;

  constructor(dtype: Dtype, shape: readonly number[], data: NumericArray) {
    const size = shape.reduce((product, n) => product * n, 1);
    if (!shape.every((n) => Number.isSafeInteger(n) && n >= 0)) throw new ValueError("ndarray", "bad shape");
    if (size !== data.length) throw new ValueError("ndarray", `shape holds ${size} elements, data ${data.length}`);
    if (data.constructor !== arrayTypes[dtype]) throw new ValueError("ndarray", `data is not ${dtype}`);
    if (!holds(dtype, data)) throw new ValueError("ndarray", "a bool is a byte 0 or 1");
    this.dtype = dtype;
    this.shape = shape;
    this.data = data;
  }
}

function holds(dtype: Dtype, data: NumericArray): boolean {
  return dtype !== "bool" || (data as Uint8Array).every((byte) => byte <= 1);
}

/** What an action, observation, info, option or state may be made of. `bigint` is an int64. */
export type Value =
  | null
  | boolean
  | number
  | string
  | bigint
  | Uint8Array
  | NdArray
  | readonly Value[]
  | { readonly [key: string]: Value };

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A value that the wire cannot carry, or a tagged object that is malformed; `path` says where, as in `a.b[2]`. */
export class ValueError extends Error {
  readonly path: string;
  readonly problem: string;
  constructor(path: string, problem: string) {
    super(`${path || "value"}: ${problem}`);
    this.name = "ValueError";
    this.path = path;
    this.problem = problem;
  }
}

/**
 * The JSON form of `value`. Shares every part that needs no tag with its input (plain JSON comes back as the same
 * object), so the result is read-only too. Properties that are `undefined` are left out, as `JSON.stringify` does.
 * @throws ValueError for functions, symbols, class instances, bigints beyond int64, and nesting deeper than MAX_DEPTH
 * (which is also how a cycle ends).
 */
export function encode(value: unknown, path = "", depth = 0): Json {
  try {
    return encodeAny(value, depth);
  } catch (error) {
    throw within(path, error);
  }
}

/** The inverse of {@link encode}. @throws ValueError for malformed or unknown tags and for too deep nesting. */
export function decode(json: Json, path = ""): Value {
  try {
    return decodeAny(json, 0);
  } catch (error) {
    throw within(path, error);
  }
}

/** Paths are put together while an error travels up, so that a value without one pays nothing for them. */
function within(place: string, error: unknown): unknown {
  if (!(error instanceof ValueError) || place === "") return error;
  const dot = error.path === "" || error.path.startsWith("[") ? "" : ".";
  return new ValueError(`${place}${dot}${error.path}`, error.problem);
}

function encodeAny(value: unknown, depth: number): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : tagFloat(value);
    case "bigint":
      return tagInt64(value);
    case "object":
      return value === null ? null : encodeObject(value, depth);
    default:
      throw new ValueError("", `a ${typeof value} cannot cross the wire`);
  }
}

function encodeObject(value: object, depth: number): Json {
  if (Array.isArray(value)) return mapArray(value, encodeAny, depth) as Json[];
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return encodeInstance(value, prototype);
  const encoded = mapObject(value as Record<string, unknown>, encodeAny, depth) as { [key: string]: Json };
  // A `$type` that is undefined is left out, and then there is nothing to wrap.
  return Object.hasOwn(encoded, "$type") && encoded.$type !== undefined ? { $type: "object", value: encoded } : encoded;
}

function encodeInstance(value: object, prototype: unknown): Json {
  if (value instanceof Uint8Array) return { $type: "bytes", base64: base64(value) };
  if (value instanceof NdArray) return tagNdArray(value);
  throw new ValueError("", `a ${className(prototype)} cannot cross the wire`);
}

/** For the message only: a prototype chain need not lead to a constructor at all. */
function className(prototype: unknown): string {
  const { constructor } = prototype as { constructor?: unknown };
  return typeof constructor === "function" && constructor.name !== "" ? constructor.name : "class instance";
}

function decodeAny(json: Json, depth: number): Value {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return mapArray(json, decodeAny, depth) as Value[];
  if (Object.hasOwn(json, "$type")) return untag(json, depth);
  return mapObject(json, decodeAny, depth) as Value;
}

// Depth counts the containers of the value: a tag is not one, however deep it stands.
function checkDepth(depth: number): void {
  if (depth >= MAX_DEPTH) throw new ValueError("", `nested deeper than ${MAX_DEPTH}`);
}

/** `array` itself when `map` changes no item; otherwise a copy. */
function mapArray<T>(array: readonly T[], map: (item: T, depth: number) => unknown, depth: number): readonly unknown[] {
  checkDepth(depth);
  let copy: unknown[] | undefined;
  let i = 0;
  try {
    for (; i < array.length; i++) {
      const item = map(array[i] as T, depth + 1);
      if (copy === undefined && item !== array[i]) copy = array.slice(0, i);
      copy?.push(item);
    }
  } catch (error) {
    throw within(`[${i}]`, error);
  }
  return copy ?? array;
}

/** `object` itself when `map` changes no value; otherwise a copy, safe for keys such as `__proto__`. */
function mapObject<T>(
  object: { readonly [key: string]: T },
  map: (item: T, depth: number) => unknown,
  depth: number,
): { readonly [key: string]: unknown } {
  checkDepth(depth);
  let copy: Record<string, unknown> | undefined;
  const keys = Object.keys(object);
  let i = 0;
  try {
    for (; i < keys.length; i++) {
      const key = keys[i] as string;
      const before = object[key] as T;
      const item = before === undefined ? undefined : map(before, depth + 1);
      if (copy === undefined && item !== before) {
        copy = {};
        for (let j = 0; j < i; j++) define(copy, keys[j] as string, object[keys[j] as string]);
      }
      if (copy !== undefined && item !== undefined) define(copy, key, item);
    }
  } catch (error) {
    throw within(keys[i] as string, error);
  }
  return copy ?? object;
}

function define(object: Record<string, unknown>, key: string, value: unknown): void {
  // Plain assignment to `__proto__` would set the prototype and lose the key.
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

function tagFloat(value: number): Json {
  return { $type: "float", value: Object.is(value, -0) ? "-0" : String(value) };
}

function tagInt64(value: bigint): Json {
  if (BigInt.asIntN(64, value) !== value) throw new ValueError("", "an integer beyond int64 cannot cross the wire");
  return { $type: "int64", value: value.toString() };
}

function tagNdArray(array: NdArray): Json {
  const bytes = new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength);
  return { $type: "ndarray", dtype: array.dtype, shape: [...array.shape], base64: base64(bytes) };
}

const floats: Record<string, number> = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity, "-0": -0 };

function untag(json: { [key: string]: Json }, depth: number): Value {
  const fields = (...names: string[]) => {
    const unknown = Object.keys(json).find((key) => key !== "$type" && !names.includes(key));
    if (unknown !== undefined) throw new ValueError("", `unknown key "${unknown.slice(0, 64)}" in a tagged value`);
    return names.map((name) => json[name]);
  };
  switch (json.$type) {
    case "float": {
      const [value] = fields("value");
      if (typeof value === "string" && Object.hasOwn(floats, value)) return floats[value] as number;
      throw new ValueError("", 'a float is one of "NaN", "Infinity", "-Infinity", "-0"');
    }
    case "int64": {
      const [value] = fields("value");
      if (typeof value === "string" && /^(0|-?[1-9]\d{0,18})$/.test(value)) {
        const integer = BigInt(value);
        if (BigInt.asIntN(64, integer) === integer) return integer;
      }
      throw new ValueError("", "an int64 is a decimal string from -2^63 to 2^63-1");
    }
    case "bytes":
      return bytesOf(fields("base64")[0]);
    case "ndarray":
      return untagNdArray(fields("dtype", "shape", "base64"));
    case "object": {
      const [value] = fields("value");
      if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, "$type")) {
        return mapObject(value, decodeAny, depth) as Value;
      }
      throw new ValueError("", 'a wrapped object holds a "value" with a "$type" key of its own');
    }
    default:
      // What is not a string may be as large and deep as the frame that carried it: not repeated in the message.
      throw new ValueError(
        "",
        typeof json.$type === "string"
          ? `unknown $type ${JSON.stringify(json.$type.slice(0, 64))}`
          : "$type is no string",
      );
  }
}

function untagNdArray([dtype, shape, data]: (Json | undefined)[]): NdArray {
  if (typeof dtype !== "string" || !Object.hasOwn(arrayTypes, dtype)) throw new ValueError("", "unknown dtype");
  const isShape =
    Array.isArray(shape) && shape.every((n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 0);
  if (!isShape) throw new ValueError("", "a shape is a list of sizes");
  const bytes = bytesOf(data);
  const ArrayType = arrayTypes[dtype as Dtype];
  if (bytes.byteLength % ArrayType.BYTES_PER_ELEMENT !== 0) throw new ValueError("", `data is not whole ${dtype}s`);
  // slice(): a fresh, aligned buffer, whatever pool the decoder took its bytes from. Little-endian on every platform of V8.
  const array = new ArrayType(bytes.slice().buffer);
  if ((shape as number[]).reduce((product, n) => product * n, 1) !== array.length) {
    throw new ValueError("", "shape and data differ in size");
  }
  if (!holds(dtype as Dtype, array)) throw new ValueError("", "a bool is a byte 0 or 1");
  return new NdArray(dtype as Dtype, shape as number[], array);
}

function bytesOf(text: Json | undefined): Uint8Array {
  const bytes = typeof text === "string" ? unbase64(text) : undefined;
  if (bytes === undefined) throw new ValueError("", "not base64");
  return bytes;
}
