/** Which programs are plain, and what is said of those that are not? */

import { describe, expect, it } from "vitest";
import { plainness } from "../../../../server/sandboxes/isolate/plain.ts";

describe("a program is plain when its top level", () => {
  it.each([
    ["declares functions, classes and constants", "function f() {} class A {} const a = 1, b = [a], c = { b, f };"],
    ["extends what is there", "class A extends Error {} class B extends A {} const C = class extends Map {};"],
    ["has variables that nobody assigns to", "let a = 1; var b; function f(a) { a = 2; let b; b = a; return b }"],
    [
      "shadows them",
      "const list = []; function f() { let list = 0; list++; for (list of []); [list] = [1]; return list }",
    ],
    ["freezes", "const a = Object.freeze({ b: Object.freeze([1, () => 2]) }); Object.freeze(a);"],
    [
      "computes with data",
      "const a = 2 ** 3 - 1, b = `${a} ${[a, 1].join()}`, c = { [b]: a > 1 ? a : !a }, d = c.x ?? b[0];",
    ],
    ["takes data apart", "const [a, , ...b] = [1, 2, 3], { length, [a]: c = 4, ...d } = b; const { floor } = Math;"],
    [
      "maps data",
      "const a = Array.from({ length: 3 }, (_, i) => i * i), b = 'a b'.split(' ').map((w) => [w, w.length]);",
    ],
    ["reads keys of anything", "const o = { f() {} }; const names = Object.keys(o);"],
    ["has collections with content", "const a = new Set(['a', 'b']), b = new Map([['a', 1]]), c = /x/;"],
    ["spreads", "const a = { f() {} }, b = { ...a, c: 1 }, c = [...'abc'];"],
    [
      "has private and static fields",
      "class A { #n = 0; static MAX = 3; static of() { return new A() } get n() { return this.#n } }",
    ],
    ["has methods with names of symbols", "class A { *[Symbol.iterator]() { yield 1 } }"],
    [
      "calls no function of the program, whose own calls may do nearly anything",
      "function f(s) { const m = new Map(); m.set(1, () => m); class P { #x; static { } } try { s.x = [...m] } catch {} finally { delete s.y } return [eval2(), s] } const eval2 = () => new Proxy({}, {});",
    ],
  ])("%s", (_name, text) => {
    expect(plainness([text])).toMatchObject({ names: expect.any(Array) as string[] });
  });

  it("is spread over several texts", () => {
    const plain = plainness(["const a = { n: 1 };", "const b = [a.n]; function f() { return a }"]);
    expect(plain).toMatchObject({ names: ["a", "f", "b"], reworded: false, sloppyThis: false, ordinary: true });
    expect(plainness(["const a = 1;", "function f() { a++ }"])).toBe("assigns to a, which outlives a call (line 1)");
  });
});

describe("a program that is not plain hears why:", () => {
  it.each([
    ["\n\nlet n = 0;\nfunction f() { n++ }", "assigns to n, which outlives a call (line 4)"],
    ["function f() { m = 1 }", "assigns to m, which outlives a call (line 1)"],
    ["const next = (() => 1)();", "calls a function at the top level (line 1)"],
    ["const d = new Date(0);", "does more at the top level than declare (line 1)"],
    ["const cache = new Map();", "does more at the top level than declare (line 1)"],
    ["if (true) { var g = 1 }", "does more at the top level than declare (line 1)"],
    ["const o = { f() {} }; const s = o + '';", "computes with functions at the top level (line 1)"],
    ["const gs = [1].map((n) => () => n);", "computes with functions at the top level (line 1)"],
    ["function f() {} function f() {}", "declares f twice (line 1)"],
    ["class A { #m() {} }", "has a private method (line 1)"],
    ["class A extends Object { #n }", "has a private field that may live on (line 1)"],
    ["const f = () => this;", "uses the global object (line 1)"],
    ["function f() { return g(this) }", "passes on a this that may be the global object (line 1)"],
    ["function f() { return this?.x }", "passes on a this that may be the global object (line 1)"],
    ["const o = { f() { return super.toString() } };", "hands a method a this that may be the global object (line 1)"],
    ["function f() { return arguments }", "uses arguments (line 1)"],
    ["async function f() {}", "is asynchronous (line 1)"],
    ["function f() { return Promise }", "uses Promise (line 1)"],
    ["function f() { try {} finally { return 1 } }", "may leave a finally block (line 1)"],
    ["function f() { { function g() {} } }", "declares a function in a block (line 1)"],
    ["function f() { return import('x') }", "has a ImportExpression (line 1)"],
    ["function f(trailgym_caught) { try {} catch { } }", "uses trailgym_caught (line 1)"],
    ["function f( {", expect.stringMatching(/^cannot be read: Unexpected token/) as string],
    ["with (Math) { var a = floor(1) }", expect.stringMatching(/^cannot be read: 'with' in strict mode/) as string],
    [
      `const a = ${"[".repeat(20_000)}${"]".repeat(20_000)};`,
      expect.stringMatching(/cannot be read|too deeply/) as string,
    ],
    [`const a = "${"x".repeat(300_000)}";`, "is too long"],
  ])("%.60s", (text, why) => {
    expect(plainness([text])).toEqual(why);
  });
});
