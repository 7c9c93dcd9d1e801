import { problemWith, rng, sampleAction, sampleToolCall } from "trailgym/env";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const tree: z.ZodType = z.lazy(() => z.object({ value: z.int(), children: z.array(tree).max(3) }));
const list: z.ZodType = z.lazy(() => z.union([z.null(), z.object({ head: z.int(), tail: list })]));

const schemas: [string, z.ZodType][] = [
  ["null", z.null()],
  ["boolean", z.boolean()],
  ["integer", z.int()],
  ["integer in a range", z.int().min(1).max(3)],
  ["integer between excluded ends", z.int().gt(-5).lt(-2)],
  ["integer with one bound", z.int().min(1_000_000)],
  ["integer with the other bound", z.int().max(-1_000_000)],
  ["integer of a multiple", z.int().min(1).max(40).multipleOf(7)],
  ["number", z.number()],
  ["number in a range", z.number().min(-2.5).max(2.5)],
  ["positive number", z.number().positive()],
  ["number that has but one value", z.number().min(4).max(4)],
  ["float64", z.float64()],
  ["string", z.string()],
  ["string of a length", z.string().min(3).max(5)],
  ["long string", z.string().min(40)],
  ["date", z.iso.date()],
  ["date and time", z.iso.datetime()],
  ["uuid", z.uuid()],
  ["email", z.email()],
  ["ip address", z.ipv4()],
  ["enum", z.enum(["up", "down"])],
  ["literal", z.literal("go")],
  ["several literals", z.literal([1, "two", null])],
  ["nullable", z.int().nullable()],
  ["union", z.union([z.int(), z.string(), z.object({ a: z.boolean() })])],
  [
    "discriminated union",
    z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("move"), by: z.int().min(0) }),
      z.object({ kind: z.literal("wait") }),
    ]),
  ],
  ["intersection", z.intersection(z.object({ a: z.int() }), z.object({ b: z.string() }))],
  ["list", z.array(z.int()).min(2).max(4)],
  ["tuple", z.tuple([z.int(), z.string()])],
  ["tuple with a rest", z.tuple([z.int()], z.boolean())],
  ["strict object", z.strictObject({ a: z.int(), b: z.string().optional(), c: z.boolean().default(true) })],
  ["object with keys like any other", z.object({ ["__proto__x"]: z.int(), constructor: z.int() })],
  ["record", z.record(z.string(), z.int())],
  ["record of an enum", z.partialRecord(z.enum(["x", "y"]), z.int())],
  ["anything", z.unknown()],
  ["recursive tree", tree],
  ["recursive list", list],
];

describe.each(schemas)("a sample of %s", (_name, schema) => {
  const json = z.toJSONSchema(schema, { io: "input" }) as Record<string, unknown>;

  test("is what the schema says, and what its JSON form says", () => {
    for (let seed = 0; seed < 200; seed++) {
      const value = sampleAction(json, rng(seed));
      expect(schema.safeParse(value).error?.issues, JSON.stringify(value)).toBeUndefined();
      expect(problemWith(json, value)).toBeUndefined();
    }
  });

  test("is the same for the same generator", () => {
    expect(sampleAction(json, rng(3))).toEqual(sampleAction(json, rng(3)));
  });
});

describe("samples reach", () => {
  const values = (schema: Record<string, unknown>) => {
    const source = rng(0);
    return new Set(Array.from({ length: 400 }, () => JSON.stringify(sampleAction(schema, source))));
  };
  test.each<[string, Record<string, unknown>, string[]]>([
    ["every integer of a range", { type: "integer", minimum: 1, maximum: 3 }, ["1", "2", "3"]],
    ["every member of an enum", { enum: ["a", null, 3] }, ['"a"', "null", "3"]],
    ["every branch", { anyOf: [{ const: 1 }, { type: "boolean" }] }, ["1", "true", "false"]],
    ["every type of a list of types", { type: ["null", "boolean"] }, ["null", "true", "false"]],
    [
      "objects with and without what is optional",
      { type: "object", properties: { a: { const: 1 } } },
      ["{}", '{"a":1}'],
    ],
    [
      "allOf, with what stands beside it",
      {
        type: "object",
        properties: { a: { const: 1 } },
        required: ["a"],
        allOf: [{ properties: { b: { const: 2 } }, required: ["b"] }],
      },
      ['{"a":1,"b":2}'],
    ],
    [
      "what a $ref leads to",
      { $defs: { "a/b": { const: 7 } }, type: "object", properties: { x: { $ref: "#/$defs/a~1b" } }, required: ["x"] },
      ['{"x":7}'],
    ],
    [
      "lists without repeats",
      { type: "array", items: { enum: [1, 2] }, minItems: 2, uniqueItems: true },
      ["[1,2]", "[2,1]"],
    ],
  ])("%s", (_name, schema, expected) => {
    expect([...values(schema)].toSorted()).toEqual(expected.toSorted());
  });
});

describe("a schema that has no value is a RangeError that says so", () => {
  test.each<[string, Record<string, unknown> | boolean]>([
    ["false", false],
    ["a range with nothing in it", { type: "integer", minimum: 2, maximum: 1 }],
    ["an empty enum", { enum: [] }],
    ["a $ref to nowhere", { $ref: "#/$defs/x" }],
    ["a $ref to elsewhere", { $ref: "https://example.com/schema" }],
    ["endless recursion", { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }],
  ])("%s", (_name, schema) => expect(() => sampleAction(schema, rng(0))).toThrow(RangeError));
});

test("a tool call names one of the tools, with arguments of its schema", () => {
  const tools = [
    {
      name: "add",
      description: "",
      inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    },
    { name: "look", description: "", inputSchema: { type: "object", properties: {} } },
  ];
  const calls = Array.from({ length: 50 }, (_, seed) => sampleToolCall(tools, rng(seed)));
  expect(new Set(calls.map(({ tool }) => tool))).toEqual(new Set(["add", "look"]));
  for (const call of calls) {
    if (call.tool === "add") expect(call.arguments).toEqual({ n: expect.any(Number) as number });
    else expect(call.arguments).toEqual({});
  }
  expect(() => sampleToolCall([], rng(0))).toThrow(RangeError);
});
