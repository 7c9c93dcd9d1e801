import fc from "fast-check";
import { base64, unbase64 } from "trailgym/protocol";
import { afterEach, describe, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllGlobals());

describe.each(["in Node", "in a browser"])("base64 %s", (where) => {
  const setUp = () => {
    if (where === "in a browser") vi.stubGlobal("Buffer", undefined);
  };

  // RFC 4648, section 10.
  test.each([
    ["", ""],
    ["f", "Zg=="],
    ["fo", "Zm8="],
    ["foo", "Zm9v"],
    ["foob", "Zm9vYg=="],
    ["fooba", "Zm9vYmE="],
    ["foobar", "Zm9vYmFy"],
  ])("%j ⇄ %j", (text, encoded) => {
    setUp();
    const bytes = new TextEncoder().encode(text);
    expect(base64(bytes)).toBe(encoded);
    expect(unbase64(encoded)).toEqual(bytes);
  });

  test("any bytes come back, and no other text gives them", () => {
    setUp();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        expect(unbase64(base64(bytes))).toEqual(bytes);
      }),
    );
    const digits = fc.constantFrom(..."ABQgwz019+/=-_ \n");
    fc.assert(
      fc.property(fc.string({ unit: digits, maxLength: 8 }), (text) => {
        const bytes = unbase64(text);
        if (bytes !== undefined) expect(base64(bytes)).toBe(text);
      }),
      { numRuns: 5000 },
    );
  });
});

test("a view of a larger buffer encodes its own bytes", () => {
  expect(base64(new Uint8Array([0, 1, 2, 3]).subarray(1, 3))).toBe("AQI=");
});

test("bytes come back with a buffer of their own, not a view of a shared pool", () => {
  expect(unbase64("AQI=")?.buffer.byteLength).toBe(2);
});

test("megabytes are no trouble", () => {
  const bytes = new Uint8Array(12_000_000).fill(7);
  const text = base64(bytes);
  expect(unbase64(text)?.length).toBe(bytes.length);
  expect(unbase64(`${text.slice(0, -4)}!AAA`)).toBeUndefined();
});
