import { describe, expect, it } from "vitest";
import { annotationSchema } from "../../../envs/code-gym/annotation.ts";
import { readDocstring } from "../../../envs/code-gym/docstring.ts";
import { aliases } from "../../../envs/code-gym/names.ts";

describe("a Python annotation", () => {
  it.each([
    ["int", { type: "integer" }],
    [
      "List[Tuple[int, str]]",
      {
        type: "array",
        items: { type: "array", prefixItems: [{ type: "integer" }, { type: "string" }], minItems: 2, maxItems: 2 },
      },
    ],
    ["tuple[int, ...]", { type: "array", items: { type: "integer" } }],
    [
      "typing.Dict[str, List[float]]",
      { type: "object", additionalProperties: { type: "array", items: { type: "number" } } },
    ],
    ["int | None", { type: ["integer", "null"] }],
    ["Optional[List[int]]", { anyOf: [{ type: "array", items: { type: "integer" } }, { type: "null" }] }],
    ["Union[int, str]", { type: ["integer", "string"] }],
    ["Literal['up', 2, None]", { enum: ["up", 2, null] }],
    ["List['int']", { type: "array", items: { type: "integer" } }],
    ["collections.abc.Sequence[bool]", { type: "array", items: { type: "boolean" } }],
    ["list of int", { type: "array" }],
    ["Callable[[int], str]", {}],
    ["Any", {}],
    ["Tree", {}],
    ["", {}],
    ["List[", { type: "array" }],
    ["]][", {}],
  ])("%s", (text, schema) => {
    expect(annotationSchema(text)).toEqual(schema);
  });
});

describe("a docstring", () => {
  it("gives description, arguments and return value, and drops every example", () => {
    const text = [
      "Moves.",
      "",
      "Twice if asked.",
      "",
      "Args:",
      "    by (Tuple[int, int]): How far,",
      "        at most 3: never more.",
      "    fast: Whether to run.",
      "",
      "Returns:",
      "    str: The place.",
      "",
      "Example Output:",
      '    "SECRET"',
      "Args:",
      "    leaked (int): no",
    ].join("\n");
    const { description, args } = readDocstring(text);
    expect(description).toBe("Moves.\nTwice if asked.\nReturns: str: The place.");
    expect([...args]).toEqual([
      ["by", { type: "Tuple[int, int]", description: "How far, at most 3: never more." }],
      ["fast", { type: undefined, description: "Whether to run." }],
    ]);
  });

  it.each(["Example:", "Examples (short):", "  Example Output: x", "Some Example Output follows"])(
    "is cut at %j",
    (line) => {
      expect(readDocstring(`Does it.\n${line}\nSECRET`).description).toBe("Does it.");
    },
  );
});

describe("names of Observe and Done", () => {
  const tools = ["Sense", "Move", "Observe", "Done"];
  it("are accepted under well-known synonyms, in any case", () => {
    const find = aliases(["Move", "Observe", "Done"], {});
    expect(["Sense", "get_obs", "SUBMIT", "finalAnswer", "Move"].map(find)).toEqual([
      "Observe",
      "Observe",
      "Done",
      "Done",
      undefined,
    ]);
  });

  it("are not taken from a program's own tool, nor from what sounds like one", () => {
    const find = aliases(tools, {});
    expect(["Sense", "sense", "Look"].map(find)).toEqual([undefined, undefined, "Observe"]);
  });

  it("lead to the name that the task shows", () => {
    const find = aliases(["Move", "Observe", "Done"], { Observe: "Gaze", Done: "HandIn" });
    expect(["Observe", "gaze", "Done", "hand_in", "Submit"].map(find)).toEqual([
      "Gaze",
      "Gaze",
      "HandIn",
      "HandIn",
      "HandIn",
    ]);
  });
});
