import { describe, expect, it } from "vitest";
import { parsePython, parsePythonAt, parsePythonCall } from "../../../../envs/mcp-tools/import/python.ts";

describe("a Python literal", () => {
  it.each<[string, unknown]>([
    ["1", 1],
    ["-2.5e3", -2500],
    ["1_000", 1000],
    [".5", 0.5],
    ["True", true],
    ["None", null],
    ["'a\"b'", 'a"b'],
    ['"it\\\'s\\n\\u00e9\\x41\\q"', "it's\néA\\q"],
    ["r'a\\nb'", "a\\nb"],
    ["'''two\nlines'''", "two\nlines"],
    ["'one ' \"two\"", "one two"],
    ["[1, 'a', [True,],]", [1, "a", [true]]],
    ["(1, 2)", [1, 2]],
    ["()", []],
    ["{'a': 1, 2: {'b': None}}", { a: 1, 2: { b: null } }],
    ["{1, 2}", [1, 2]],
    ["{}", {}],
  ])("%s", (text, value) => expect(parsePython(text)).toEqual(value));

  it.each(["", "[1", "{'a' 1}", "foo", "'a", "1 2", "lambda: 1", "[".repeat(100), "'\\x4'"])("%j is none", (text) => {
    expect(() => parsePython(text)).toThrow(SyntaxError);
  });

  it("may stand inside of a longer text", () => {
    expect(parsePythonAt("text='a', x=1", 5)).toEqual({ value: "a", end: 8 });
  });
});

describe("a Python call", () => {
  it.each([
    ["ls()", "ls", [], {}],
    ["sort('final.pdf')", "sort", ["final.pdf"], {}],
    ["cd(folder='a' , depth = 2)", "cd", [], { folder: "a", depth: 2 }],
    ["edit(7, updates={'priority': 2}, tags=['#x'])", "edit", [7], { updates: { priority: 2 }, tags: ["#x"] }],
    ["api.Post(content='a=b, c(d)')", "api.Post", [], { content: "a=b, c(d)" }],
  ])("%s", (text, name, positional, named) => {
    expect(parsePythonCall(text)).toEqual({ name, positional, named });
  });

  it.each(["cd", "cd(", "cd(folder=)", "cd() ls()", "cd(folder=open('x'))"])("%s is none", (text) => {
    expect(() => parsePythonCall(text)).toThrow(SyntaxError);
  });
});
