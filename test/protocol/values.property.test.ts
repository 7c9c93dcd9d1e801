// assert, not expect: toStrictEqual compares what `.constructor` says, and a value may have a key of that name.
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  canonical,
  canonicalJson,
  decode,
  encode,
  MAX_DEPTH,
  type Json,
  type Value,
  ValueError,
} from "trailgym/protocol";
import { describe, expect, test } from "vitest";
import { anyValue, dtypes, ndarray } from "./values.arbitrary.ts";

function throughText(value: Value): Value {
  return decode(JSON.parse(JSON.stringify(encode(value))) as Json);
}

/** JSON, and nothing that the codec has to tag. */
const plain = fc
  .jsonValue({ depthSize: "medium", noUnicodeString: false })
  .filter((json) => !JSON.stringify(json).includes('"$type"') && !hasNegativeZero(json)) as fc.Arbitrary<Json>;

function hasNegativeZero(json: unknown): boolean {
  if (typeof json === "object" && json !== null) return Object.values(json).some(hasNegativeZero);
  return Object.is(json, -0);
}

describe("the value codec", () => {
  test("gives back any value that went through JSON text", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        deepStrictEqual(throughText(value), value);
      }),
      { numRuns: 2000 },
    );
  });

  test("gives back each element of an ndarray of every dtype, bit by bit", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(ndarray, (array) => {
        seen.add(array.dtype);
        const back = throughText(array) as typeof array;
        expect(back.dtype).toBe(array.dtype);
        expect(back.shape).toEqual(array.shape);
        expect(new Uint8Array(back.data.buffer)).toEqual(new Uint8Array(array.data.buffer));
      }),
      { numRuns: 1000 },
    );
    expect([...seen].sort()).toEqual([...dtypes].sort());
  });

  test("never writes to a prototype", () => {
    const before = Object.getOwnPropertyNames(Object.prototype).sort();
    fc.assert(
      fc.property(anyValue, (value) => {
        const back = throughText(value);
        if (typeof back === "object" && back !== null && !Array.isArray(back) && !ArrayBuffer.isView(back)) {
          const prototype: unknown = Object.getPrototypeOf(back);
          expect([Object.prototype, Object.getPrototypeOf(value)]).toContain(prototype);
        }
      }),
    );
    expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before);
  });

  test("leaves plain JSON as the same object, both ways", () => {
    fc.assert(
      fc.property(plain, (json) => {
        expect(encode(json)).toBe(json);
        expect(decode(json)).toBe(json);
      }),
    );
  });

  test("never changes its input", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const before = canonical(value);
        const json = encode(value);
        const text = JSON.stringify(json);
        decode(json);
        expect(JSON.stringify(json)).toBe(text);
        expect(canonical(value)).toBe(before);
      }),
    );
  });

  test("answers any JSON with a value that can be encoded again, or with a ValueError", () => {
    const tag = fc.constantFrom("float", "int64", "bytes", "ndarray", "object", "date", "__proto__", 1, null);
    const tagged = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { depthSize: "small" },
        fc.jsonValue(),
        fc.constantFrom("NaN", "-0", "AQI=", "12", "float64", [2], [0]),
        fc.dictionary(fc.constantFrom("value", "base64", "shape", "dtype", "x"), tie("json"), { maxKeys: 3 }),
        fc.tuple(tag, tie("json")).map(([$type, value]) => ({ $type, value })),
        fc.tuple(tag, tie("json")).map(([$type, base64]) => ({ $type, base64 })),
        fc
          .tuple(tie("json"), tie("json"), tie("json"))
          .map(([dtype, shape, base64]) => ({ $type: "ndarray", dtype, shape, base64 })),
      ),
    })).json;
    fc.assert(
      fc.property(tagged, (json) => {
        try {
          const value = decode(json as Json);
          deepStrictEqual(throughText(value), throughText(throughText(value)));
        } catch (error) {
          expect(error).toBeInstanceOf(ValueError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the canonical text", () => {
  test("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(anyValue, fc.integer(), (value, seed) => {
        expect(canonical(reordered(value, seed))).toBe(canonical(value));
      }),
    );
  });

  test("is its own canonical text, and stands for one value only", () => {
    fc.assert(
      fc.property(anyValue, anyValue, (a, b) => {
        const text = canonical(a);
        expect(canonicalJson(JSON.parse(text) as Json)).toBe(text);
        expect(canonical(decode(JSON.parse(text) as Json))).toBe(text);
        if (canonical(b) === text) deepStrictEqual(b, a);
      }),
    );
  });
});

function reordered(value: Value, seed: number): Value {
  if (Array.isArray(value)) return (value as Value[]).map((item) => reordered(item, seed));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, reordered(item as Value, seed)] as const);
  return Object.fromEntries(seed % 2 === 0 ? entries.reverse() : entries.toSorted(([a], [b]) => (a < b ? 1 : -1)));
}

test(`values nest ${MAX_DEPTH} containers deep, whatever the containers are and whatever the leaf is`, () => {
  const containers = fc.constantFrom<(inner: Value) => Value>(
    (inner) => [inner],
    (inner) => ({ a: inner }),
    (inner) => ({ $type: inner }),
  );
  const leaf = fc.constantFrom<Value>(1, NaN, 5n, new Uint8Array(2));
  const nest = (levels: ((inner: Value) => Value)[], inner: Value) =>
    levels.reduce((value, wrap) => wrap(value), inner);
  fc.assert(
    fc.property(fc.array(containers, { minLength: MAX_DEPTH, maxLength: MAX_DEPTH }), leaf, (levels, inner) => {
      const deep = nest(levels, inner);
      deepStrictEqual(throughText(deep), deep);
      expect(() => encode([deep])).toThrow(ValueError);
      const tooDeep = { a: encode(deep) };
      expect(() => decode(JSON.parse(JSON.stringify(tooDeep)) as Json)).toThrow(ValueError);
    }),
    { numRuns: 50 },
  );
});
