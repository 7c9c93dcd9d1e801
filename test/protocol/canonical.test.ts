import { canonical, canonicalJson, type Json, ValueError } from "trailgym/protocol";
import { describe, expect, test } from "vitest";

/** RFC 8785, appendix B: IEEE 754 bits in hex, and their JSON text. */
const numbers: [string, string][] = [
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["ffefffffffffffff", "-1.7976931348623157e+308"],
  ["4340000000000000", "9007199254740992"],
  ["c340000000000000", "-9007199254740992"],
  ["4430000000000000", "295147905179352830000"],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["44b52d02c7e14af7", "1.0000000000000001e+23"],
  ["444b1ae4d6e2ef4e", "999999999999999700000"],
  ["444b1ae4d6e2ef4f", "999999999999999900000"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["41b3de4355555554", "333333333.33333325"],
  ["41b3de4355555555", "333333333.3333333"],
  ["41b3de4355555556", "333333333.3333334"],
  ["41b3de4355555557", "333333333.33333343"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
];

function doubleOf(hex: string): number {
  return new DataView(BigUint64Array.of(BigInt(`0x${hex}`)).buffer).getFloat64(0, true);
}

describe("RFC 8785", () => {
  test.each(numbers)("appendix B: %s is %s", (hex, text) => expect(canonicalJson(doubleOf(hex))).toBe(text));

  test.each(["7fffffffffffffff", "7ff0000000000000"])("appendix B: %s is an error", (hex) => {
    expect(() => canonicalJson(doubleOf(hex))).toThrow(ValueError);
    expect(() => canonicalJson([{ a: doubleOf(hex) }])).toThrow(ValueError);
  });

  test("section 3.2.2: primitive types and strings", () => {
    const text = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(canonicalJson(JSON.parse(text) as Json)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test("section 3.2.3: keys sort by UTF-16 code unit, not by code point or locale", () => {
    const text = String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`;
    expect(canonicalJson(JSON.parse(text) as Json)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",' +
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });
});

test.each<[unknown, string]>([
  [{ b: 1, a: undefined }, '{"b":1}'],
  [{ 10: "x", 9: "y" }, '{"10":"x","9":"y"}'],
  [{ a: NaN }, '{"a":{"$type":"float","value":"NaN"}}'],
  [-0, '{"$type":"float","value":"-0"}'],
  [7n, '{"$type":"int64","value":"7"}'],
  [new Uint8Array([1, 2]), '{"$type":"bytes","base64":"AQI="}'],
])("canonical(%s)", (value, text) => expect(canonical(value)).toBe(text));
