/** Any value of the codec, for property tests: every tag, every dtype, awkward keys, nested. */

import fc from "fast-check";
import { NdArray, type Dtype, type Value } from "trailgym/protocol";

const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

export const dtypes: Dtype[] = [
  "bool",
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "int64",
  "uint64",
  "float32",
  "float64",
];

const widths: Record<Dtype, number> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float32: 4,
  float64: 8,
};

/** The array of `dtype` that these little-endian bytes are. */
export function arrayOf(dtype: Dtype, bytes: Uint8Array): NdArray["data"] {
  const buffer = bytes.slice().buffer;
  switch (dtype) {
    case "bool":
      return bytes.map((byte) => byte & 1);
    case "int8":
      return new Int8Array(buffer);
    case "uint8":
      return new Uint8Array(buffer);
    case "int16":
      return new Int16Array(buffer);
    case "uint16":
      return new Uint16Array(buffer);
    case "int32":
      return new Int32Array(buffer);
    case "uint32":
      return new Uint32Array(buffer);
    case "int64":
      return new BigInt64Array(buffer);
    case "uint64":
      return new BigUint64Array(buffer);
    case "float32":
      return new Float32Array(buffer);
    case "float64":
      return new Float64Array(buffer);
  }
}

export const ndarray: fc.Arbitrary<NdArray> = fc
  .tuple(fc.constantFrom(...dtypes), fc.array(fc.nat(3), { maxLength: 4 }))
  .chain(([dtype, shape]) => {
    const size = shape.reduce((product, n) => product * n, 1) * widths[dtype];
    return fc
      .uint8Array({ minLength: size, maxLength: size })
      .map((bytes) => new NdArray(dtype, shape, arrayOf(dtype, bytes)));
  });

export const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom<Value>(null, true, false, NaN, Infinity, -Infinity, -0, 0, INT64.min, INT64.max, 0n, -1n),
  fc.double(),
  fc.integer(),
  fc.bigInt(INT64),
  fc.string({ unit: "binary" }),
  // Lone surrogates too: a program may cut a string anywhere.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 4 }).map((units) => String.fromCharCode(...units)),
  fc.uint8Array({ maxLength: 24 }),
  ndarray,
);

const key = fc.oneof(
  fc.constantFrom("$type", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "value", "0", ""),
  fc.string({ maxLength: 6 }),
);

/** `Object.fromEntries` defines keys, so `__proto__` is a key like any other. */
export const anyValue: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries) => Object.fromEntries<Value>(entries)),
  ),
})).value;
