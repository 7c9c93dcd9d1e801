import { describe, expect, it } from "vitest";
import { patternProblem } from "../../../envs/mcp-tools/schema/pattern.ts";
import { checkOf, compiledOf, schemaProblem } from "../../../envs/mcp-tools/schema/schema.ts";

const object = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: "object",
  properties,
  ...more,
});

describe("a schema that is refused", () => {
  const deep = (levels: number): unknown => (levels === 0 ? {} : { a: deep(levels - 1) });
  it.each([
    ["bad_schema", "text", "not an object"],
    ["bad_schema", null, "not an object"],
    ["bad_schema", {}, 'not of type "object"'],
    ["bad_schema", { type: "array" }, 'not of type "object"'],
    ["bad_schema", object({ a: { type: "STRING" } }), 'at "/properties/a/type"'],
    ["bad_schema", object({ a: { minimum: "5" } }), 'at "/properties/a/minimum"'],
    ["bad_schema", object({}, { required: "a" }), 'at "/required"'],
    ["bad_schema", object({ a: { type: "number", minimum: 1, exclusiveMinimum: true } }), "exclusiveMinimum"],
    ["unknown_dialect", object({}, { $schema: "http://json-schema.org/draft-04/schema#" }), "draft-04"],
    ["unknown_dialect", object({}, { $schema: 7 }), "7"],
    ["unresolvable_ref", object({ a: { $ref: "#/$defs/nowhere" } }), '"#/$defs/nowhere" leads nowhere'],
    ["unresolvable_ref", object({ a: { $ref: "https://example.org/schema.json" } }), "leads nowhere"],
    ["unresolvable_ref", object({ a: { items: { $ref: "other.json#/a" } } }), "leads nowhere"],
    ["unresolvable_ref", object({ a: { $ref: "#unnamed" } }), "leads nowhere"],
    ["cyclic_ref", object({ a: { $ref: "#/properties/a" } }), "leads back to itself"],
    [
      "cyclic_ref",
      object({ a: { $ref: "#/$defs/b" } }, { $defs: { b: { $ref: "#/$defs/c" }, c: { $ref: "#/$defs/b" } } }),
      "leads back",
    ],
    ["cyclic_ref", object({}, { allOf: [{ $ref: "#" }] }), "leads back to itself"],
    [
      "cyclic_ref",
      object(
        { a: { $ref: "#/$defs/b" } },
        { $defs: { b: { anyOf: [{ type: "null" }, { not: { $ref: "#/$defs/b" } }] } } },
      ),
      "leads back",
    ],
    ["schema_too_large", object({ a: { description: "x".repeat(200_001) } }), "longer than"],
    ["schema_too_large", object({ a: { default: deep(60) } }), "nested deeper"],
    [
      "schema_too_large",
      object(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`p${i}`, { $ref: "#/$defs/x" }])), {
        $defs: { x: {} },
      }),
      "$refs",
    ],
    ["unsafe_pattern", object({ a: { type: "string", pattern: "^(a+)+$" } }), "repeats a repetition"],
    ["unsafe_pattern", object({ a: { patternProperties: { "(x*)*": {} } } }), "repeats a repetition"],
  ])("%s: %j", (kind, schema, message) => {
    const problem = schemaProblem(schema);
    expect(problem?.kind).toBe(kind);
    expect(problem?.message).toContain(message);
  });

  it("for its depth is refused even where it could not be walked to its end", () => {
    const bottomless = JSON.parse(
      `${'{"type":"object","properties":{"a":'.repeat(20_000)}{}${"}}".repeat(20_000)}`,
    ) as unknown;
    expect(schemaProblem(bottomless)?.kind).toBe("schema_too_large");
  });
});

describe("a schema that is taken", () => {
  it.each([
    object({}),
    object({ a: { type: ["string", "null"], "x-server": true } }, { additionalProperties: false }),
    object({ $ref: { type: "string" }, pattern: { type: "string" }, enum: { type: "array" } }),
    object({ a: { const: { $ref: "#/nowhere" } }, b: { enum: [{ $ref: 5 }] }, c: { default: { $ref: "x" } } }),
    object(
      { node: { $ref: "#/$defs/node" } },
      { $defs: { node: object({ children: { type: "array", items: { $ref: "#/$defs/node" } } }) } },
    ),
    object({ self: { $ref: "#" } }),
    object({ a: { $ref: "#here" } }, { $defs: { here: { $anchor: "here", type: "integer" } } }),
    object({ a: { $ref: "#/$defs/a~1b~0c%20d" } }, { $defs: { "a/b~c d": { type: "integer" } } }),
    object({ a: { format: "email" }, b: { format: "no-such-format" } }),
    object(
      { a: { items: [{ type: "string" }], type: "array" } },
      { $schema: "http://json-schema.org/draft-07/schema#" },
    ),
    object({ a: {} }, { $schema: "https://json-schema.org/draft/2019-09/schema" }),
    object({ a: {} }, { $schema: "https://json-schema.org/draft/2020-12/schema" }),
  ])("%j, and it compiles", (schema) => {
    expect(schemaProblem(schema)).toBeUndefined();
    expect(compiledOf(schema)).toHaveProperty("validate");
  });
});

describe("the arguments of a call", () => {
  const check = (schema: Record<string, unknown>, args: Record<string, unknown>) => checkOf(schema)(args);

  it("are held against 2020-12 where a schema does not say what it is", () => {
    const tuple = object({
      at: { type: "array", prefixItems: [{ type: "integer" }, { type: "string" }], items: false },
    });
    expect(check(tuple, { at: [1, "x"] })).toBeUndefined();
    expect(check(tuple, { at: ["x", 1] })).toBe('"at.0" must be integer');
    expect(check(tuple, { at: [1, "x", 2] })).toMatch(/"at" must NOT have more than 2 items/);
  });

  it("are held against the draft that a schema names", () => {
    const old = object({ at: { type: "array", items: [{ type: "integer" }], additionalItems: false } });
    const named = { ...old, $schema: "http://json-schema.org/draft-07/schema#" };
    expect(check(named, { at: ["x"] })).toBe('"at.0" must be integer');
    expect(check(named, { at: [1, 2] })).toMatch(/"at" must NOT have more than 1 items/);
  });

  it("follow references, recurring ones too, as deep as the arguments go", () => {
    const tree = object(
      { node: { $ref: "#/$defs/node" } },
      {
        $defs: {
          node: object(
            { value: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
            { required: ["value"] },
          ),
        },
      },
    );
    const nested = (levels: number, last: unknown): unknown =>
      levels === 0 ? { value: last } : { value: 1, children: [nested(levels - 1, last)] };
    expect(check(tree, { node: nested(20, 7) })).toBeUndefined();
    expect(check(tree, { node: nested(20, "7") })).toMatch(/children\.0\.value" must be integer$/);
  });

  it("have their formats checked, unknown formats excepted", () => {
    const schema = object({
      mail: { type: "string", format: "email" },
      day: { format: "date" },
      odd: { format: "odd" },
    });
    expect(check(schema, { mail: "a@b.example", day: "2031-02-03", odd: "!" })).toBeUndefined();
    expect(check(schema, { mail: "nobody" })).toMatch(/"mail" must match format "email"/);
    expect(check(schema, { day: "2031-13-03" })).toMatch(/"day" must match format "date"/);
  });

  it("are told what is allowed", () => {
    const schema = object({ a: { enum: ["x", "y"] } }, { unevaluatedProperties: false });
    expect(check(schema, { a: "z" })).toBe('"a" must be equal to one of the allowed values (["x","y"])');
    expect(check(schema, { b: 1 })).toMatch(/must NOT have unevaluated properties \("b"\)/);
  });

  it("do not share a check with a tool whose schema has the same $id", () => {
    const [one, two] = ["string", "integer"].map((type) =>
      object({ a: { type } }, { $id: "https://example.org/args" }),
    );
    expect(check(one as Record<string, unknown>, { a: "x" })).toBeUndefined();
    expect(check(two as Record<string, unknown>, { a: "x" })).toBe('"a" must be integer');
  });
});

describe("a pattern", () => {
  it.each([
    "^a+$",
    "(foo|bar)*",
    "[(+*]+",
    "\\(a+\\)+",
    "(a{2}b)+",
    "^(?:\\d{1,3}\\.){3}\\d{1,3}$",
    "a+b+c+",
    "(a+b)?c",
  ])("such as %s is taken", (pattern) => expect(patternProblem(pattern)).toBeUndefined());

  it.each(["(a+)+", "(a*)*b", "((ab)+c)*", "(a|b+)+", "(x{2,})+", "([a-z]+\\d)*", "^((a)+(b)+)+$"])(
    "such as %s, which may take for ever, is refused",
    (pattern) => expect(patternProblem(pattern)).toMatch(/repeats a repetition/),
  );

  it("that is none, or longer than anybody's, is refused", () => {
    expect(patternProblem("(")).toMatch(/no regular expression/);
    expect(patternProblem("a".repeat(1001))).toMatch(/longer/);
  });
});
