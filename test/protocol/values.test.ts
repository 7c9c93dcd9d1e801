import { decode, encode, type Json, NdArray, ValueError } from "trailgym/protocol";
import { describe, expect, test } from "vitest";

function parse(text: string): unknown {
  return decode(JSON.parse(text) as Json);
}

describe("what has no place in JSON travels tagged", () => {
  test.each([
    [NaN, { $type: "float", value: "NaN" }],
    [Infinity, { $type: "float", value: "Infinity" }],
    [-Infinity, { $type: "float", value: "-Infinity" }],
    [-0, { $type: "float", value: "-0" }],
    [-(2n ** 63n), { $type: "int64", value: "-9223372036854775808" }],
    [2n ** 63n - 1n, { $type: "int64", value: "9223372036854775807" }],
    [new Uint8Array([1, 2]), { $type: "bytes", base64: "AQI=" }],
    [new Uint8Array(0), { $type: "bytes", base64: "" }],
    [
      new NdArray("float32", [1, 2], new Float32Array([1, -2])),
      { $type: "ndarray", dtype: "float32", shape: [1, 2], base64: "AACAPwAAAMA=" },
    ],
    [new NdArray("int16", [], new Int16Array([258])), { $type: "ndarray", dtype: "int16", shape: [], base64: "AgE=" }],
    [
      new NdArray("uint64", [0, 3], new BigUint64Array(0)),
      { $type: "ndarray", dtype: "uint64", shape: [0, 3], base64: "" },
    ],
    [{ $type: "float" }, { $type: "object", value: { $type: "float" } }],
    [{ $type: { $type: 1 } }, { $type: "object", value: { $type: { $type: "object", value: { $type: 1 } } } }],
  ])("%s", (value, json) => {
    expect(encode(value)).toEqual(json);
    expect(decode(json as Json)).toStrictEqual(value);
  });

  test("only the parts that need a tag are copied", () => {
    const kept = { big: [1, 2, 3] };
    const encoded = encode({ kept, nan: NaN }) as { kept: unknown };
    expect(encoded.kept).toBe(kept);
  });
});

describe("properties that are undefined", () => {
  test("are left out", () =>
    expect(JSON.stringify(encode({ a: undefined, b: NaN }))).toBe('{"b":{"$type":"float","value":"NaN"}}'));

  test("a $type that is undefined needs no wrapping", () => {
    expect(parse(JSON.stringify(encode({ $type: undefined, a: 1 })))).toEqual({ a: 1 });
    expect(parse(JSON.stringify(encode({ $type: undefined, a: NaN })))).toEqual({ a: NaN });
  });

  test("have no place in a list", () => expect(() => encode([undefined])).toThrow(ValueError));
});

describe("keys that mean something to JavaScript", () => {
  test.each([
    '{"__proto__":{"polluted":true}}',
    '{"__proto__":{"$type":"float","value":"NaN"}}',
    '{"a":{"$type":"float","value":"NaN"},"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}}}',
    '{"$type":"object","value":{"$type":"x","__proto__":{"polluted":true}}}',
  ])("%s keeps its keys and pollutes nothing", (text) => {
    const value = parse(text) as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value.polluted).toBeUndefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(JSON.parse(JSON.stringify(encode(value)))).toEqual(JSON.parse(text));
  });
});

describe("a malformed tagged value is a ValueError that says where", () => {
  test.each<[unknown, RegExp]>([
    [{ $type: "float", value: "nan" }, /float is one of/],
    [{ $type: "float", value: 1 }, /float is one of/],
    [{ $type: "float", value: "toString" }, /float is one of/],
    [{ $type: "float" }, /float is one of/],
    [{ $type: "float", value: "NaN", extra: 1 }, /unknown key "extra"/],
    [{ $type: "int64", value: 5 }, /int64 is a decimal string/],
    [{ $type: "int64", value: "05" }, /int64/],
    [{ $type: "int64", value: "-0" }, /int64/],
    [{ $type: "int64", value: "+1" }, /int64/],
    [{ $type: "int64", value: "1.0" }, /int64/],
    [{ $type: "int64", value: "0x1" }, /int64/],
    [{ $type: "int64", value: "" }, /int64/],
    [{ $type: "int64", value: "9223372036854775808" }, /int64/],
    [{ $type: "int64", value: "-9223372036854775809" }, /int64/],
    [{ $type: "int64", value: "1".repeat(100_000) }, /int64/],
    [{ $type: "bytes", base64: "AQI" }, /not base64/],
    [{ $type: "bytes", base64: "AQI==" }, /not base64/],
    [{ $type: "bytes", base64: "A-_=" }, /not base64/],
    [{ $type: "bytes", base64: "AQ==AQ==" }, /not base64/],
    [{ $type: "bytes", base64: "A===" }, /not base64/],
    [{ $type: "bytes", base64: "AR==" }, /not base64/],
    [{ $type: "bytes", base64: "AQJ=" }, /not base64/],
    [{ $type: "bytes", base64: "AQI=\n" }, /not base64/],
    [{ $type: "bytes", base64: null }, /not base64/],
    [{ $type: "bytes" }, /not base64/],
    [{ $type: "ndarray", dtype: "float16", shape: [1], base64: "AAA=" }, /unknown dtype/],
    [{ $type: "ndarray", dtype: "constructor", shape: [0], base64: "" }, /unknown dtype/],
    [{ $type: "ndarray", dtype: "int8", shape: 1, base64: "AA==" }, /list of sizes/],
    [{ $type: "ndarray", dtype: "int8", shape: [1.5], base64: "AA==" }, /list of sizes/],
    [{ $type: "ndarray", dtype: "int8", shape: [-1], base64: "" }, /list of sizes/],
    [{ $type: "ndarray", dtype: "int8", shape: ["1"], base64: "AA==" }, /list of sizes/],
    [{ $type: "ndarray", dtype: "int8", shape: [2], base64: "AA==" }, /differ in size/],
    [{ $type: "ndarray", dtype: "int8", shape: [2 ** 50, 2 ** 50], base64: "AA==" }, /differ in size/],
    [{ $type: "ndarray", dtype: "int16", shape: [1], base64: "AA==" }, /not whole int16/],
    [{ $type: "ndarray", dtype: "bool", shape: [1], base64: "Ag==" }, /byte 0 or 1/],
    [{ $type: "ndarray", dtype: "int8", shape: [1], base64: "AA==", order: "F" }, /unknown key "order"/],
    [{ $type: "object", value: { a: 1 } }, /\$type/],
    [{ $type: "object", value: [1] }, /\$type/],
    [{ $type: "object", value: null }, /\$type/],
    [{ $type: "date", value: 1 }, /unknown \$type "date"/],
    [{ $type: "__proto__" }, /unknown \$type/],
    [{ $type: 1 }, /\$type is no string/],
    [{ $type: null }, /\$type is no string/],
    [{ $type: { $type: "float", value: "NaN" } }, /\$type is no string/],
  ])("%j", (json, message) => {
    expect(() => decode(json as Json)).toThrow(ValueError);
    expect(() => decode(json as Json)).toThrow(message);
    expect(() => decode({ list: [0, json as Json] })).toThrow(
      expect.objectContaining({ name: "ValueError", path: "list[1]" }),
    );
  });

  test("a $type as deep as JSON can be read does not reach the stack's end", () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    expect(() => parse(`{"$type":${deep}}`)).toThrow(ValueError);
    expect(() => parse(deep)).toThrow(ValueError);
  });

  test("a message repeats no more of the frame than it needs to", () => {
    for (const json of [{ $type: "x".repeat(1e6) }, { $type: "float", ["x".repeat(1e6)]: 1 }]) {
      expect(() => decode(json)).toThrow(
        expect.objectContaining({ message: expect.stringMatching(/^.{1,200}$/) as string }),
      );
    }
  });
});

describe("what cannot cross the wire is a ValueError that says where", () => {
  class Point {
    x = 1;
  }
  const nameless: unknown = Object.create(Object.create(null) as object);
  const cycle: unknown[] = [];
  cycle.push(cycle);
  test.each<[string, unknown, RegExp]>([
    ["a function", () => 1, /^at\.here\[0\]: a function/],
    ["a symbol", Symbol("s"), /a symbol/],
    ["undefined in a list", undefined, /a undefined/],
    ["a class instance", new Point(), /a Point/],
    ["a Date", new Date(0), /a Date/],
    ["a Map", new Map(), /a Map/],
    ["a typed array that is not bytes", new Float32Array(1), /a Float32Array/],
    ["an object whose prototype has no constructor", nameless, /a class instance/],
    ["an integer above int64", 2n ** 63n, /beyond int64/],
    ["an integer below int64", -(2n ** 63n) - 1n, /beyond int64/],
    ["a cycle", cycle, /nested deeper/],
  ])("%s", (_name, value, message) => {
    expect(() => encode({ at: { here: [value] } })).toThrow(ValueError);
    expect(() => encode({ at: { here: [value] } })).toThrow(message);
  });

  test("objects without a prototype are plain", () => {
    const bare = Object.assign(Object.create(null) as object, { a: 1n });
    expect(encode(bare)).toEqual({ a: { $type: "int64", value: "1" } });
  });
});

describe("NdArray", () => {
  test.each<[string, () => NdArray]>([
    ["a shape that the data do not fill", () => new NdArray("int8", [2], new Int8Array(1))],
    ["a negative size", () => new NdArray("int8", [-1, -1], new Int8Array(1))],
    ["data of another dtype", () => new NdArray("float32", [1], new Int8Array(1))],
    ["a bool that is neither 0 nor 1", () => new NdArray("bool", [1], new Uint8Array([2]))],
  ])("refuses %s", (_name, make) => expect(make).toThrow(ValueError));

  test("a view into a larger buffer carries only its own elements", () => {
    const view = new Int16Array([1, 2, 3, 4]).subarray(1, 3);
    expect(decode(encode(new NdArray("int16", [2], view)))).toStrictEqual(
      new NdArray("int16", [2], new Int16Array([2, 3])),
    );
  });
});
