import { describe, expect, it } from "vitest";
import { isApiError } from "../../../../envs/mcp-tools/import/api-errors.ts";
import { safeName } from "../../../../envs/mcp-tools/import/names.ts";
import { ToolRegistry } from "../../../../envs/mcp-tools/import/registry.ts";
import { soundSchema, widened } from "../../../../envs/mcp-tools/import/sound-schema.ts";
import { toolsIn } from "../../../../envs/mcp-tools/import/tool-files.ts";
import { checkOf } from "../../../../envs/mcp-tools/schema/schema.ts";

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

describe("the tools of a document", () => {
  const schema = object({ a: { type: "string" } });
  it.each<[string, unknown, string[]]>([
    [
      "a list as MCP has it",
      [
        { name: "x", description: "X.", inputSchema: schema },
        { name: "y", inputSchema: schema },
      ],
      ["x", "y"],
    ],
    ["a reply of tools/list", { tools: [{ name: "x", description: "X.", inputSchema: schema }] }, ["x"]],
    ["OpenAI's tools", [{ type: "function", function: { name: "x", description: "X.", parameters: schema } }], ["x"]],
    ["Anthropic's tools", [{ name: "x", description: "X.", input_schema: schema }], ["x"]],
    [
      "a table by name",
      { x: { description: "X.", inputSchema: schema }, "y z": { description: "Y.", inputSchema: schema } },
      ["x", "y z"],
    ],
    [
      "LiveMCPBench's packages",
      [
        {
          name: "Pack",
          description: "P.",
          tools: { chart: { server_name: "chart", tools: [{ name: "pie", inputSchema: schema }] } },
        },
      ],
      ["chart.pie"],
    ],
    [
      "TRAJECT-Bench's endpoints",
      [
        {
          "tool name": "Radio: Get Channels",
          "tool description": "X.",
          "required parameters": [{ name: "a", type: "STRING" }],
          "optional parameters": [],
        },
      ],
      ["Radio: Get Channels"],
    ],
    [
      "… with underscores",
      [{ parent_tool_name: "Radio", API_name: "Get", required_parameters: [{ name: "a" }] }],
      ["Radio: Get"],
    ],
  ])("%s", (_, document, names) => {
    const tools = toolsIn(document);
    expect(tools?.map(({ name }) => name)).toEqual(names);
    expect(JSON.stringify(tools?.[0]?.schema)).toContain('"a"');
  });

  it("of BFCL's function documents belong to the class that the file is about", () => {
    const line = {
      name: "cd",
      description: "Changes.",
      parameters: { type: "dict", properties: {} },
      response: { type: "dict" },
    };
    expect(toolsIn(line, "x/multi_turn_func_doc/gorilla_file_system.json")).toMatchObject([
      { name: "GorillaFileSystem.cd", server: "GorillaFileSystem" },
    ]);
    expect(toolsIn(line, "mine.json")).toMatchObject([{ name: "cd" }]);
  });

  it.each([5, {}, [], { a: 1 }, [{ name: "x" }], [{ name: "x", description: "X." }, 7], { messages: [] }])(
    "are not in %j",
    (document) => {
      expect(toolsIn(document)).toBeUndefined();
    },
  );
});

describe("a schema in somebody's dialect", () => {
  it.each<[string, unknown, unknown]>([
    ["none at all", undefined, { type: "object" }],
    [
      "capital types",
      object({ a: { type: "STRING" }, b: { type: "NUMBER" }, c: { type: "ENUM" } }),
      object({ a: { type: "string" }, b: { type: "number" }, c: { type: "string" } }),
    ],
    ["words after the type", object({ a: { type: "DATE (YYYY-MM-DD)" } }), object({ a: { type: "string" } })],
    [
      "Python's types",
      { type: "dict", properties: { a: { type: "float" }, b: { type: "tuple", items: { type: "any" } } } },
      object({ a: { type: "number" }, b: { type: "array", items: {} } }),
    ],
    ["a type of its own", object({ a: { type: "file" } }), object({ a: {} })],
    ["no type", { properties: { a: {} } }, object({ a: {} })],
    [
      "draft 4's bounds",
      object({ a: { type: "number", minimum: 1, exclusiveMinimum: true } }),
      object({ a: { type: "number", exclusiveMinimum: 1 } }),
    ],
    ["draft 3's required", object({ a: { required: true } }), object({ a: {} })],
    ["a name twice in required", object({ a: {} }, { required: ["a", "a"] }), object({ a: {} }, { required: ["a"] })],
  ])("%s is repaired", (_, raw, schema) => expect(soundSchema(raw)).toEqual({ schema }));

  it("that cannot be repaired is replaced by one that takes anything, with the reason", () => {
    const { schema, replaced } = soundSchema(object({ a: { $ref: "#/nowhere" } }));
    expect(schema).toEqual({ type: "object" });
    expect(replaced).toMatch(/leads nowhere/);
    expect(soundSchema("text").replaced).toBeDefined();
  });
});

describe("a schema that refuses what has worked", () => {
  it.each<[object, Record<string, unknown>]>([
    [object({ a: { type: "number", description: "A." } }), { a: "050000" }],
    [object({ a: { type: "string", enum: ["x"] } }), { a: "y" }],
    [object({ a: { type: "array", items: { type: "integer" } } }), { a: ["x"] }],
    [object({}, { required: ["a", "b"] }), { b: 1 }],
    [object({}, { additionalProperties: false }), { new: 1 }],
    [object({ a: {} }, { anyOf: [{ required: ["z"] }] }), { a: 1 }],
    [object({ "a/b": { type: "null" } }), { "a/b": 1 }],
  ])("%j takes %j afterwards", (schema, args) => {
    const wider = widened(schema as never, args);
    expect(checkOf(wider)(args)).toBeUndefined();
    expect(widened(wider, args)).toBe(wider);
  });

  it("still refuses what it can", () => {
    const wider = widened(object({ a: { type: "number" }, b: { type: "number" } }), { a: "1" });
    expect(checkOf(wider)({ b: "1" })).toBe('"b" must be number');
    expect(checkOf(wider)({ a: [] })).toMatch(/"a" must be number,string/);
  });
});

describe("a tool's name", () => {
  it("stays where model APIs take it", () => expect(safeName("fs-read_file.v2")).toBe("fs-read_file.v2"));

  it.each(["Radio: Get Channels", "a".repeat(65), "查询", "STOP", "", "x/y"])(
    "%j becomes one that they take",
    (name) => {
      expect(safeName(name)).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      expect(safeName(name)).not.toBe("STOP");
      expect(safeName(name)).toBe(safeName(name));
    },
  );

  it("differs where the names differ", () => {
    const names = ["a b", "a_b", "a: b", "a  b", `${"a".repeat(80)}1`, `${"a".repeat(80)}2`];
    expect(new Set(names.map(safeName)).size).toBe(names.length);
  });
});

describe("a registry", () => {
  it("takes the first word of a tool, and from later ones what it left out", () => {
    const registry = new ToolRegistry();
    registry.add("x");
    registry.add({ name: "x", description: "X.", schema: object({ a: {} }) });
    registry.add({ name: "x", description: "Another.", schema: object({ b: {} }) });
    expect(registry.tools).toEqual([{ name: "x", description: "X.", inputSchema: object({ a: {} }) }]);
  });

  it("describes a tool by its name where nobody else does", () => {
    const registry = new ToolRegistry();
    registry.add("list_open-orders");
    registry.add("Radio: Get");
    expect(registry.tools.map(({ description, title }) => [description, title])).toEqual([
      ["Radio: Get", "Radio: Get"],
      ["list open orders", undefined],
    ]);
  });

  it("widens what refuses a call that worked, once, and says so", () => {
    const registry = new ToolRegistry();
    registry.add({ name: "x", schema: object({ a: { type: "integer" } }) });
    for (const a of ["1", "2", 3]) registry.hasWorked({ tool: "x", arguments: { a } });
    expect(registry.repairs.widened).toEqual(["x"]);
    expect(registry.tools[0]?.inputSchema).toEqual(object({ a: { type: ["integer", "string"] } }));
  });

  it("chooses other tools to show, half of them near, the same ones for the same task", () => {
    const registry = new ToolRegistry();
    for (const server of ["a", "b", "c"]) {
      for (let i = 0; i < 10; i++) registry.add({ name: `${server}-${i}`, server });
    }
    const chosen = registry.distractors(["a-1", "a-2"], 8, "task 1");
    expect(chosen).toHaveLength(8);
    expect(chosen.filter((name) => ["a-1", "a-2"].includes(name))).toEqual([]);
    expect(chosen.filter((name) => name.startsWith("a-")).length).toBeGreaterThanOrEqual(4);
    expect(registry.distractors(["a-1", "a-2"], 8, "task 1")).toEqual(chosen);
    expect(registry.distractors(["a-1", "a-2"], 8, "task 2")).not.toEqual(chosen);
    expect(registry.distractors(["a-1"], 100, "x")).toHaveLength(29);
  });
});

describe("an output that is an API's error although it counts as a success", () => {
  it.each([
    "{'messages': 'The API is unreachable, please contact the API provider'}",
    "You are not subscribed to this API.",
    '{"success": false, "message": "no"}',
    "{'code': 403, 'message': 'pro plan only'}",
    '{"cod":"400"}',
    "{'detail': 'Either place_id, or lat+lon must be specified'}",
    "<html><head><title>504 Gateway Time-out</title>",
    "Invalid API key",
    { error: "Not Found" },
  ])("%j", (output) => expect(isApiError(output)).toBe(true));

  it.each([
    "told",
    '{"code":200,"data":[404,500]}',
    '{"status":"success","total":403}',
    "a visa is required for 5 countries",
    [],
    "",
  ])("is not %j", (output) => expect(isApiError(output)).toBe(false));
});
