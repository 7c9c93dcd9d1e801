import { describe, expect, test } from "vitest";
import { splitWords } from "../../../clients/cli/eval/agents/words.ts";
import { readTyped } from "../../../clients/cli/play/line.ts";
import { table } from "../../../clients/cli/terminal/table.ts";

describe("an agent's command line", () => {
  test.each([
    ["node agent.js --x 1", ["node", "agent.js", "--x", "1"]],
    [`python3 "my agent.py" 'a "b"' c\\ d ""`, ["python3", "my agent.py", 'a "b"', "c d", ""]],
    ["  ", []],
    ["echo $HOME *", ["echo", "$HOME", "*"]],
  ])("%s", (line, words) => expect(splitWords(line)).toEqual(words));

  test("says when a quote does not end", () => expect(() => splitWords("node 'x")).toThrow(/does not end/));
});

describe("what a person types", () => {
  const properties = { direction: { type: "string" }, count: { type: "integer" } };
  const tools = [{ name: "Move", description: "", inputSchema: { type: "object", properties } }];
  const action = (value: unknown) => ({ kind: "action", action: value });

  test.each([
    ['{"amount": 2}', [], action({ amount: 2 })],
    ["amount=2 name=x", [], action({ amount: 2, name: "x" })],
    ["3", [], action(3)],
    ["move direction=7 count=7", tools, action({ tool: "Move", arguments: { direction: "7", count: 7 } })],
    ['Move direction="far north"', tools, action({ tool: "Move", arguments: { direction: "far north" } })],
    ["Sing", tools, action({ tool: "Sing", arguments: {} })],
    [":restore before the end", tools, { kind: "command", name: "restore", rest: "before the end" }],
    ["", tools, { kind: "nothing" }],
  ])("%s", (line, known, typed) => expect(readTyped(line, known)).toEqual(typed));

  test.each(["{amount: 2}", "Move north", "x='"])("a mistake is told: %s", (line) => {
    expect(readTyped(line, tools)).toMatchObject({ kind: "mistake" });
  });
});

describe("a table", () => {
  test("lines columns up, and cuts the one that may be cut", () => {
    const columns = [{ title: "id" }, { title: "n", align: "right" as const }, { title: "text", shrink: true }];
    const lines = table(
      columns,
      [
        ["a", "1", "x".repeat(50)],
        ["bcd", "200", "one\ntwo"],
      ],
      30,
    ).split("\n");
    expect(lines).toEqual([
      "id     n  text",
      `───  ───  ${"─".repeat(20)}`,
      `a      1  ${"x".repeat(19)}…`,
      "bcd  200  one two",
    ]);
  });
});
