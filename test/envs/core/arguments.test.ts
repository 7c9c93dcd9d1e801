import { problemWith } from "trailgym/env";
import { expect, it } from "vitest";

const cases: [schema: unknown, value: unknown, problem: string | undefined][] = [
  [{ type: "integer" }, 3, undefined],
  [{ type: "integer" }, 3n, undefined],
  [{ type: "integer" }, 3.5, "the value must be an integer, not a number"],
  [{ type: "number" }, NaN, "the value must be a number, not a NaN"],
  [{ type: ["string", "null"] }, 1, "the value must be a string or null, not an integer"],
  [{ enum: ["a", { b: 1 }] }, { b: 1 }, undefined],
  [{ enum: ["a", "b"] }, "c", 'the value must be one of "a", "b"'],
  [{ const: 0 }, 0, undefined],
  [
    { anyOf: [{ type: "string" }, { type: "null" }] },
    1,
    "the value must be a string, not an integer, or the value must be null, not an integer",
  ],
  [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, 4, "the value must be at most 3"],
  [{ exclusiveMinimum: 0 }, 0, "the value must be over 0"],
  [{ type: "string", maxLength: 2 }, "abc", "the value is longer than 2 characters"],
  [{ type: "array", items: { type: "integer" } }, [1, "2"], '"[1]" must be an integer, not a string'],
  [{ prefixItems: [{ type: "string" }], minItems: 1 }, [], "the value has fewer than 1 items"],
  [{ properties: { a: { type: "string" } }, required: ["a"] }, {}, '"a" is missing'],
  [{ properties: { a: {} }, additionalProperties: false }, { b: 1 }, 'there is no "b"; there are a'],
  [{ properties: {}, additionalProperties: false }, { b: 1 }, 'there is no "b"; none is taken'],
  [
    { properties: { a: { properties: { b: { type: "string" } } } } },
    { a: { b: 1 } },
    '"a.b" must be a string, not an integer',
  ],
  [{ additionalProperties: { type: "string" } }, { b: 1 }, '"b" must be a string, not an integer'],
  [{ required: ["toString"] }, {}, '"toString" is missing'],
  [{ $ref: "#/elsewhere", pattern: "(" }, "anything", undefined],
  [true, 1, undefined],
  [false, 1, "the value is not allowed"],
];

it.each(cases)("%o and %o: %s", (schema, value, problem) => {
  expect(problemWith(schema, value)).toBe(problem);
});
