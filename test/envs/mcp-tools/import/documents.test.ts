import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { documentsOf, type ImportFile, textFile } from "../../../../envs/mcp-tools/import/documents.ts";

const read = (name: string, text: string, whole = false) =>
  Array.fromAsync(documentsOf(textFile(name, text), { whole }));

describe("the documents of a file", () => {
  it("of lines are read one by one, bad ones apart, each with its number", async () => {
    const found = await read("a.jsonl", '{"a":1}\n\n{"a":\n  [2]\nnot json\n{"a":"é"}');
    expect(found).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 3, problem: expect.stringMatching(/^not JSON: /) as string },
      { line: 4, value: [2] },
      { line: 5, problem: expect.stringMatching(/^not JSON: /) as string },
      { line: 6, value: { a: "é" } },
    ]);
  });

  it("are lines whatever the file is called, where the first is JSON by itself", async () => {
    expect(await read("a.json", '{"a":1}\n{"a":2}\n')).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 2, value: { a: 2 } },
    ]);
    expect(await read("a.json", "[1]\n[2]")).toEqual([
      { line: 1, value: [1] },
      { line: 2, value: [2] },
    ]);
  });

  it("of one list are its elements, each with the line where it begins", async () => {
    const text =
      '\n[\n  {"a": "],{\\"", "b": [1, {"c": []}]},\n  "text, with ] and \\\\",\n  3,\n  {"a":\n   }, {}\n]\n';
    expect(await read("a.json", text)).toEqual([
      { line: 3, value: { a: '],{"', b: [1, { c: [] }] } },
      { line: 3, value: "text, with ] and \\" },
      { line: 3, value: 3 },
      { line: 6, problem: expect.stringMatching(/^not JSON/) as string },
      { line: 7, value: {} },
    ]);
  });

  it("of one list may be wanted as one", async () => {
    expect(await read("a.json", "[1,\n2]", true)).toEqual([{ line: 1, value: [1, 2] }]);
  });

  it("of a list that breaks off are those that are whole", async () => {
    expect(await read("a.json", '[\n{"a":1},\n{"b":')).toEqual([
      { line: 2, value: { a: 1 } },
      { line: 3, problem: "the list does not end" },
    ]);
  });

  it("are one where there is one", async () => {
    expect(await read("a.json", '{\n"a": 1\n}')).toEqual([{ line: 1, value: { a: 1 } }]);
    expect(await read("a.json", "{")).toMatchObject([
      { line: 1, problem: expect.stringMatching(/not JSON/) as string },
    ]);
    expect(await read("a.json", " \n ")).toEqual([]);
    expect(await read("a.json", "[]")).toEqual([]);
    expect(await read("a.jsonl", "")).toEqual([]);
  });

  it("are what was written, in any of the ways to write a list", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { minLength: 1 }), fc.constantFrom(0, 2), async (list, indent) => {
        const wanted = JSON.parse(JSON.stringify(list)) as unknown[];
        const values = async (name: string, text: string) =>
          (await read(name, text)).map((found) => ("value" in found ? found.value : found));
        expect(await values("a.jsonl", list.map((item) => JSON.stringify(item)).join("\n"))).toEqual(wanted);
        const objects = list.map((item) => ({ item }));
        expect(await values("a.json", JSON.stringify(objects, null, indent))).toEqual(wanted.map((item) => ({ item })));
      }),
      { numRuns: 60 },
    );
  });

  it("are read without holding the file: the first comes before the rest is there", async () => {
    let given = 0;
    const file: ImportFile = {
      name: "a.json",
      async *chunks() {
        yield new TextEncoder().encode("[");
        for (; given < 1000; given++)
          yield await Promise.resolve(
            new TextEncoder().encode(`${given > 0 ? "," : ""}{"n":${given},\n"x":"${"y".repeat(2000)}"}`),
          );
        yield new TextEncoder().encode("]");
      },
    };
    for await (const found of documentsOf(file)) {
      expect(found).toMatchObject({ line: 1, value: { n: 0 } });
      break;
    }
    expect(given).toBeLessThan(5);
  });

  it("in one line of two million characters take no time", async () => {
    const started = performance.now();
    const found = await read("a.json", `{"a":"${"x y ".repeat(500_000)}"}`);
    expect(found).toHaveLength(1);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
