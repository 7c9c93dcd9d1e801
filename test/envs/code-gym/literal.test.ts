import { describe, expect, it } from "vitest";
import { readPayload } from "../../../envs/code-gym/literal.ts";

describe("a payload", () => {
  it.each([
    ['{"a": [1, 2.5, true, null, "x@y"]}', { a: [1, 2.5, true, null, "x@y"] }],
    ["{'a': [1, True, None, \"it's\"], }", { a: [1, true, null, "it's"] }],
    ["{'a': 'tab\\t \\x41\\u00e9\\101' 'joined' r'\\n'}", { a: "tab\t Aé" + "Ajoined\\n" }],
    ['{"surrogates": "\\ud83d\\ude00 \\/"}', { surrogates: "😀 /" }],
    ["{'''x''': -3, 'y': (4)}", { x: -3, y: 4 }],
    ["{}", {}],
    ["{'mixed': [true, None]}", { mixed: [true, null] }],
    ['{"__proto__": 1}', { ["__proto__"]: 1 }],
  ])("that JSON can hold is JSON: %s", (text, payload) => {
    expect(readPayload(text)).toEqual({ payload });
  });

  it.each([
    ["{'p': (1, 2), 'q': (3,), 'r': ()}", '{"p": (1, 2), "q": (3,), "r": ()}'],
    ["{1: {2, 3}, 'e': set()}", '{1: {2, 3}, "e": set()}'],
    ['{"f": 1.0, "t": true, "n": null}', '{"f": 1.0, "t": True, "n": None}'],
    ['{"big": 1152921504606846977}', '{"big": 1152921504606846977}'],
    ["{'b': b'\\x00', 'h': 0x1F, 'm': -0}", '{"b": b\'\\x00\', "h": 0x1F, "m": -0}'],
    ['{"q": "\\"\\n\'", "one": 1.50}', '{"q": "\\"\\n\'", "one": 1.50}'],
  ])("that JSON would change stays a Python literal: %s", (text, literal) => {
    expect(readPayload(text)).toEqual({ literal });
  });

  it.each([
    "",
    "[1]",
    "{'a': [0] * 5}",
    "{'a': open('x')}",
    "{'a': 1",
    "{'a' 1}",
    "{'a': 'b}",
    "{1, 2: 3}",
    "{,}",
    "{} {}",
  ])("is refused: %s", (text) => {
    expect(() => readPayload(text)).toThrow(/payload is not an object|neither JSON nor a Python literal/);
  });
});
