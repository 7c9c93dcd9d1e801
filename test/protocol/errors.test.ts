import fc from "fast-check";
import { errorObject, errorTable, type ErrorName, type ErrorObject, WireError } from "trailgym/protocol";
import { describe, expect, test } from "vitest";

const jsonRpc: Partial<Record<ErrorName, number>> = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
};
const names = Object.keys(errorTable) as ErrorName[];

describe("the error table", () => {
  test("gives every name a code of its own", () => {
    const codes = names.map((name) => errorTable[name].code);
    expect(new Set(codes).size).toBe(codes.length);
  });

  test.each(names)("%s has a code where JSON-RPC allows one", (name) => {
    const { code } = errorTable[name];
    expect(code).toSatisfy(Number.isInteger);
    if (name in jsonRpc) expect(code).toBe(jsonRpc[name]);
    else expect(code < -32768 || code > -32000, "the range is reserved").toBe(true);
  });

  test("has all of JSON-RPC's own", () => expect(names).toEqual(expect.arrayContaining(Object.keys(jsonRpc))));

  test.each(names)("%s says when it is sent", (name) => expect(errorTable[name].when).toMatch(/^.{10,}\.$/));
});

describe("a WireError", () => {
  const fields = fc.dictionary(
    fc.string().filter((key) => !["name", "retryable", "__proto__"].includes(key)),
    fc.jsonValue(),
  );

  test("crosses the wire with its name, code, message and fields", () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.string(), fields, (name, message, extra) => {
        const error = WireError.of(name, message, extra);
        const object = JSON.parse(JSON.stringify(error.toObject())) as ErrorObject;
        expect(errorObject.parse(object)).toEqual(object);
        expect(object.code).toBe(errorTable[name].code);
        const back = WireError.fromObject(object);
        expect(back).toBeInstanceOf(Error);
        expect(back).toMatchObject({ name, message, code: error.code, retryable: errorTable[name].retryable });
        expect(back.data).toEqual(JSON.parse(JSON.stringify(extra)));
        expect(back.toObject()).toEqual(object);
      }),
    );
  });

  test("keeps a name that this version does not know, with what it says about itself", () => {
    const newer: ErrorObject = { code: 1999, message: "new", data: { name: "FROM_THE_FUTURE", retryable: true, x: 1 } };
    const error = WireError.fromObject(newer);
    expect(error).toMatchObject({ name: "FROM_THE_FUTURE", retryable: true, data: { x: 1 } });
    expect(error.toObject()).toEqual(newer);
  });

  test.each([
    [-32601, "METHOD_NOT_FOUND"],
    [1203, "SEQ_CONFLICT"],
    [-32000, "INTERNAL_ERROR"],
  ])("takes its name from the code %i when another server sent no data", (code, name) => {
    expect(WireError.fromObject({ code, message: "m" })).toMatchObject({ name, code, message: "m" });
  });

  test("its fields cannot claim another name or retryability", () => {
    const error = WireError.of("CANCELLED", "m", { name: "DEADLINE", retryable: false });
    expect(error.toObject().data).toMatchObject({ name: "CANCELLED", retryable: true });
  });
});
