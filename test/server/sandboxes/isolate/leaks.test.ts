/**
 * Can anything that one call does reach the next? Each program here tries its own way. Whatever it is, a call must be just
 * as if it were the first that the process ever made, with or without a context that is shared.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plainness } from "../../../../server/sandboxes/isolate/plain.ts";
import { Engines, wordsOf } from "../../../resources/engines.ts";

type Program = readonly [name: string, source: string];

/** Each `f` counts in some place how often it was called, or leaves some other trace for the next call to see. */
const leaks: Readonly<Record<string, readonly Program[]>> = {
  variables: [
    ["let", `let n = 0; function f() { return [++n, null] }`],
    ["var", `var n = 0; function f() { return [++n, null] }`],
    ["a destructuring assignment", `let n = 0; function f() { [n] = [n + 1]; return [n, null] }`],
    [
      "a destructuring assignment with a default",
      `let n = 0; function f() { ({ a: n = 3 } = { a: n + 1 }); return [n, null] }`,
    ],
    ["the head of a loop", `let n = 0; function f() { for (n of [n + 1]); return [n, null] }`],
    ["a field's initialiser", `let n = 0; function f() { class A { x = n++ } new A(); return [n, null] }`],
    ["a labelled block", `let n = 0; function f() { a: { n += 1; break a } return [n, null] }`],
    ["logical assignments", `let n; function f() { n ??= 0; n ||= 5; n++; return [n, null] }`],
    ["a statement without a semicolon", "let n = 0\nfunction f() { const a = 1\n++n\nreturn [n, null] }"],
    ["a name with an escape", "let \\u006e = 0; function f() { return [++n, null] }"],
    ["a line that begins like HTML", "let n = 0; <!-- x\nfunction f() { return [++n, null] }"],
    ["a line for the shell", "#!x\nlet n = 0; function f() { return [++n, null] }"],
    ["an undeclared name", `function f() { if (typeof q === "undefined") q = 0; q++; return [q, null] }`],
    ["undefined", `function f() { const was = String(undefined); try { undefined = 1 } catch {} return [was, null] }`],
    ["a closure", `const next = (() => { let n = 0; return () => ++n })(); function f() { return [next(), null] }`],
    ["a block", `{ let n = 0; var g = () => ++n } function f() { return [g(), null] }`],
    ["a catch clause", `try { throw 0 } catch (n) { var g = () => ++n } function f() { return [g(), null] }`],
    ["a loop", `for (let n = 0; n < 1; n++) { var g = () => ++n } function f() { return [g(), null] }`],
    ["a switch", `let g; switch (1) { case 1: let n = 0; g = () => ++n } function f() { return [g(), null] }`],
    [
      "a default value",
      `const { g = (() => { let n = 0; return () => ++n })() } = {}; function f() { return [g(), null] }`,
    ],
    [
      "a class made by a function",
      `function mk() { let n = 0; return class { g() { return ++n } } } class A extends mk() {} function f() { return [new A().g(), null] }`,
    ],
    ["a static block", `class A { static { let n = 0; this.g = () => ++n } } function f() { return [A.g(), null] }`],
    [
      "a static field",
      `class A { static g = (() => { let n = 0; return () => ++n })() } function f() { return [A.g(), null] }`,
    ],
    [
      "functions made by map",
      `const gs = [0].map(() => { let n = 0; return () => ++n }); function f() { return [gs[0](), null] }`,
    ],
    ["map's own variable", `const gs = [0].map((n) => () => ++n); function f() { return [gs[0](), null] }`],
    [
      "functions made by Array.from",
      `const gs = Array.from({ length: 1 }, (_, n) => ({ g: () => ++n })); function f() { return [gs[0].g(), null] }`,
    ],
    [
      "toString while it loads",
      `const o = { toString() { let n = 0; o.g = () => ++n; return "x" } }; const s = o + ""; function f() { return [o.g(), null] }`,
    ],
    [
      "a computed key",
      `const o = { toString() { let n = 0; o.g = () => ++n; return "x" } }; const s = { [o]: 1 }; function f() { return [o.g(), null] }`,
    ],
    [
      "a template",
      "const o = { toString() { let n = 0; o.g = () => ++n; return 'x' } }; const s = `${o}`; function f() { return [o.g(), null] }",
    ],
    [
      "join",
      `const o = { toString() { let n = 0; o.g = () => ++n; return "x" } }; const s = [o].join(); function f() { return [o.g(), null] }`,
    ],
    [
      "toString of something nested",
      `const t = { toString() { let n = 0; t.g = () => ++n; return "x" } }; const d = [[t]]; const s = d[0] + ""; function f() { return [t.g(), null] }`,
    ],
    [
      "an iterator",
      `const o = { *[Symbol.iterator]() { let n = 0; o.g = () => ++n; yield 1 } }; const s = [...o]; function f() { return [o.g(), null] }`,
    ],
    [
      "a static getter",
      `class A { static get x() { let n = 0; A.g = () => ++n; return 1 } } const x = A.x; function f() { return [A.g(), null] }`,
    ],
    [
      "a getter that a spread reads",
      `const A = { get x() { let n = 0; this.g = () => ++n; return 1 } }; const x = { ...A }; function f() { return [A.g(), null] }`,
    ],
    ["a getter", `const o = { get n() { o.m = (o.m ?? 0) + 1; return o.m } }; function f() { return [o.n, null] }`],
  ],
  "the program's own objects": [
    ["a property of a function", `function f() { f.n = (f.n ?? 0) + 1; return [f.n, null] }`],
    [
      "a property of a nested function",
      `const o = { f: function g() { g.n = (g.n ?? 0) + 1; return g.n } }; function f() { return [o.f(), null] }`,
    ],
    [
      "a prototype",
      `function A() {} function f() { A.prototype.n = (A.prototype.n ?? 0) + 1; return [A.prototype.n, null] }`,
    ],
    ["a static field", `class A { static n = 0 } function f() { return [++A.n, null] }`],
    ["an object in a static field", `class A { static o = { n: 0 } } function f() { return [++A.o.n, null] }`],
    [
      "a property of a static method",
      `class A { static m() {} } function f() { A.m.n = (A.m.n ?? 0) + 1; return [A.m.n, null] }`,
    ],
    [
      "a property of a method",
      `class A { m() {} get x() { return 1 } } function f() { const m = new A().m; m.n = (m.n ?? 0) + 1; return [m.n, null] }`,
    ],
    [
      "a property of a getter",
      `class A { get x() { return 1 } } function f() { const m = A.prototype.__lookupGetter__("x"); m.n = (m.n ?? 0) + 1; return [m.n, null] }`,
    ],
    [
      "a generator's prototype",
      `function* g() {} function f() { const p = g().__proto__; p.n = (p.n ?? 0) + 1; return [p.n, null] }`,
    ],
    [
      "a memo",
      `const memo = {}; function f(s, n) { const had = n in memo; memo[1] = 1; return [Object.keys(memo).length + String(had), null] }`,
    ],
    [
      "an object in a frozen object",
      `const memo = Object.freeze({ inner: {} }); function f(s, n) { memo.inner.n = (memo.inner.n ?? 0) + 1; return [memo.inner.n, null] }`,
    ],
    ["something nested", `const o = { a: { b: [{ c: 0 }] } }; function f() { return [++o.a.b[0].c, null] }`],
    ["an array", `const list = [1]; function f() { list.push(1); return [list.length, null] }`],
    ["a hole of an array", `const a = [1,,3]; function f() { a[1] = (a[1] ?? 0) + 1; return [a[1], null] }`],
    [
      "an array that is sorted",
      `const list = [3, 1, 2]; function f() { const was = list.join(); list.sort(); return [was, null] }`,
    ],
    [
      "an array's length",
      `const list = [3, 1, 2]; function f() { const was = list.length; list.length = 0; return [was, null] }`,
    ],
    ["this", `const o = { n: 0, g() { return ++this.n } }; function f() { return [o.g(), null] }`],
    [
      "super",
      `const o = { __proto__: { a: 1 }, g() { super.n = (super.n ?? 0) + 1; return this.n } }; function f() { return [o.g(), null] }`,
    ],
    [
      "super in a class",
      `class A { static g() { super.n = (super.n ?? 0) + 1; return this.n } } function f() { return [A.g(), null] }`,
    ],
    ["a default argument", `const D = { a: [1] }; function f(s, n, d = D) { d.a.push(1); return [d.a.length, null] }`],
    [
      "a constant that is the state",
      `const D = { a: [1] }; function f(s) { s ??= D; s.a.push(1); return [s.a.length, s] }`,
    ],
    [
      "a prototype that is taken away",
      `const o = { a: 1 }; function f() { const was = Object.getPrototypeOf(o) === Object.prototype; Object.setPrototypeOf(o, null); return [was, null] }`,
    ],
    [
      "__proto__",
      `const o = { a: 1 }; function f() { const was = "toString" in o; o.__proto__ = null; return [was, null] }`,
    ],
    ["a deletion", `const o = { a: 1 }; function f() { const was = "a" in o; delete o.a; return [was, null] }`],
    [
      "extensibility",
      `const o = { a: 1 }; function f() { const was = Object.isExtensible(o); Object.preventExtensions(o); return [was, null] }`,
    ],
    ["Reflect.set", `const o = { a: 1 }; function f() { Reflect.set(o, "a", o.a + 1); return [o.a, null] }`],
    ["Object.assign", `const o = { a: 1 }; function f() { Object.assign(o, { a: o.a + 1 }); return [o.a, null] }`],
    [
      "a symbol",
      `const k = Symbol.iterator; const o = { a: 1 }; function f() { o[k] = (o[k] ?? 0) + 1; return [o[k], null] }`,
    ],
    [
      "an object that inherits",
      `const D = { a: 1 }; function f(s) { const o = Object.create(D); o.a = 2; return [o.a + D.a, null] }`,
    ],
    [
      "a method that is overridden",
      `class A { m() { return 1 } } function f(s) { const a = new A(); a.m = () => 2; return [a.m(), null] }`,
    ],
  ],
  "what freezing does not keep": [
    ["a Map", `const m = new Map([[1, 1]]); function f() { m.set(m.size, 1); return [m.size, null] }`],
    ["an object in a Map", `const m = new Map([[1, { n: 0 }]]); function f() { return [++m.get(1).n, null] }`],
    [
      "a Map's order",
      `const m = new Map([[1, 1], [2, 2]]); function f() { const k = [...m.keys()].join(); const v = m.get(1); m.delete(1); m.set(1, v); return [k, null] }`,
    ],
    ["an empty Map", `const m = new Map(); function f() { m.set(m.size, 1); return [m.size, null] }`],
    ["a Set", `const m = new Set("abc"); function f() { m.add(m.size); return [m.size, null] }`],
    [
      "a Set of the same size",
      `const m = new Set("abc"); function f() { const was = [...m].join(); m.delete("a"); m.add("x" + m.size); return [was, null] }`,
    ],
    [
      "a Set that shrinks",
      `const m = new Set("abcdefgh"); function f() { const was = m.size; m.delete([...m].at(-1)); return [was, null] }`,
    ],
    [
      "a Map that is changed once, and caught",
      `const m = new Map([[1, 1]]); function f(s, n) { const was = m.get(1); if (n === 3) { m.set(1, 2); try { throw 0 } catch {} } return [was, null] }`,
    ],
    [
      "a WeakMap",
      `const m = new WeakMap(); const k = {}; function f() { m.set(k, (m.get(k) ?? 0) + 1); return [m.get(k), null] }`,
    ],
    [
      "lastIndex of a global expression",
      `const r = /a/g; function f() { return [r.test("aa") + "" + r.lastIndex, null] }`,
    ],
    [
      "lastIndex of a sticky expression",
      `const r = /a/y; function f() { return [r.test("aa") + "" + r.lastIndex, null] }`,
    ],
    [
      "lastIndex that is set",
      `const r = /a/; function f() { const was = r.lastIndex; r.lastIndex = 5; return [was, null] }`,
    ],
    [
      "compile",
      `const r = /a/; function f() { const was = r.test("b"); try { r.compile("b") } catch {} return [was, null] }`,
    ],
    [
      "compile with flags",
      `const r = /a/; function f() { const was = r.source; r.compile("b", "g"); return [was + r.source, null] }`,
    ],
    [
      "compile that is called once, and caught",
      `const r = /a/; function f(s, n) { const was = r.test("b"); if (n === 3) try { r.compile("b") } catch {} return [was, null] }`,
    ],
    [
      "a Date",
      `const d = new Date(0); function f() { const was = d.getTime(); d.setTime(was + 1); return [was, null] }`,
    ],
    ["a typed array", `const d = new Uint8Array(1); function f() { return [++d[0], null] }`],
    [
      "a generator",
      `function* g() { yield 1; yield 2; yield 3; yield 4 } const it = g(); function f() { return [it.next().value, null] }`,
    ],
    ["an iterator", `const it = [1, 2, 3].values(); function f() { return [it.next().value ?? null, null] }`],
    [
      "an iterator by another name",
      `const o = { join: [].values, length: 9 }; const it = o.join(); function f() { return [String(it.next().done) + it.next, null] }`,
    ],
    [
      "an iterator over an object",
      `const [, ...rest] = [1, 2]; const o = { at: [].values, length: 3, 0: 5, 1: 6 }; const it = o.at(); function f() { return [it.next().value ?? null, null] }`,
    ],
    ["a Proxy", `const p = new Proxy({}, {}); function f() { p.q = (p.q ?? 0) + 1; return [p.q, null] }`],
    ["a formatter", `const c = new Intl.NumberFormat("en"); function f() { c.q = (c.q ?? 0) + 1; return [c.q, null] }`],
    ["a bound function", `const g = f.bind(null); function f() { g.q = (g.q ?? 0) + 1; return [g.q, null] }`],
    [
      "a private static field",
      `class A { static #n = 0; static g() { return ++A.#n } } function f() { return [A.g(), null] }`,
    ],
    [
      "a private field of an object that lives on",
      `class B { constructor(o) { return o } } class S extends B { #n = 0; static g(o) { if (!(#n in o)) new S(o); return ++o.#n } } const k = {}; function f() { return [S.g(k), null] }`,
    ],
    [
      "a private field of a built-in",
      `class B { constructor(o) { return o } } class S extends B { #n = 0; static g(o) { if (!(#n in o)) new S(o); return ++o.#n } } function f() { return [S.g(Array), null] }`,
    ],
    [
      "a property of a private method",
      `class A { #m() {} g() { return this.#m.n = (this.#m.n ?? 0) + 1 } } function f() { return [new A().g(), null] }`,
    ],
    [
      "a private getter",
      `class A { get #m() { return 1 } g() { return this.#m } } function f() { return [new A().g(), null] }`,
    ],
    [
      "a private method of a class expression",
      `const A = class { #m() {} g() { return this.#m.n = (this.#m.n ?? 0) + 1 } }; function f() { return [new A().g(), null] }`,
    ],
    [
      "a private field of a class in an object",
      `const o = { A: class { static #n = 0; static g() { return ++this.#n } } }; function f() { return [o.A.g(), null] }`,
    ],
    [
      "a template object",
      `const tag = (s) => s; function g() { return tag\`x\` } function f() { const t = g(); try { t.q = 1 } catch {} return [String(t.q) + (g() === t), null] }`,
    ],
  ],
  "the language's objects": [
    ["globalThis", `function f() { globalThis.q = (globalThis.q ?? 0) + 1; return [globalThis.q, null] }`],
    ["the global object as this", `function f() { this.q = (this.q ?? 0) + 1; return [this.q, null] }`],
    [
      "the global object returned",
      `function g() { return this } function f() { const t = g(); t.q = (t.q ?? 0) + 1; return [t.q, null] }`,
    ],
    [
      "the global object of the top level",
      `const g = () => this; function f() { const t = g(); t.q = (t.q ?? 0) + 1; return [t.q, null] }`,
    ],
    [
      "a new property of a prototype",
      `function f() { const had = "last" in []; Array.prototype.last = 1; return [had, null] }`,
    ],
    [
      "a method",
      `function f() { const had = [1].map(x => x).length; Array.prototype.map = () => []; return [had + "" + [1].map(x=>x).length, null] }`,
    ],
    [
      "prototype pollution",
      `function f(s) { const o = {}; const k = "__pro" + "to__"; o[k].q = (o[k].q ?? 0) + 1; return [({}).q, null] }`,
    ],
    [
      "prototype pollution that is caught",
      `function f(s) { const o = {}; const k = "__pro" + "to__"; const had = "q" in {}; try { o[k].q = 1 } catch {} return [had + "" + ({}).q, null] }`,
    ],
    [
      "a constructor reached through a value",
      `function f(s) { const k = "const" + "ructor"; const C = [][k]; C.q = (C.q ?? 0) + 1; return [C.q, null] }`,
    ],
    ["a property of a method", `function f(s) { const m = [].map; m.q = (m.q ?? 0) + 1; return [m.q, null] }`],
    [
      "defineProperty",
      `function f() { const had = "q" in String.prototype; Object.defineProperty(String.prototype, "q", { value: 1, configurable: true }); return [had + "" + "x".q, null] }`,
    ],
    [
      "Math.max",
      `function f() { const was = Math.max(1, 2); Math.max = () => 7; return [was + "" + Math.max(1, 2), null] }`,
    ],
    ["a new property of Math", `function f() { Math.q = (Math.q ?? 0) + 1; return [Math.q, null] }`],
    [
      "Math.random",
      `function f(s, n) { let was; try { was = Math.random() } catch (e) { was = e.message } Math.random = () => 0.5; return [was + "" + Math.random(), null] }`,
    ],
    [
      "Math.random now and then",
      `function g() { Math.random = () => 0.5 } function f(s, n) { if (n % 2) { g(); return [Math.random(), null] } return [Math.random(), null] }`,
    ],
    [
      "a property of Math.random",
      `function f(s, n) { const r = Math.random; r.q = (r.q ?? 0) + 1; return [r.q, null] }`,
    ],
    [
      "Math.random deleted",
      `function f(s, n) { const had = "random" in Math; delete Math.random; return [had + "" + ("random" in Math), null] }`,
    ],
    [
      "JSON",
      `function f() { const was = JSON.stringify(1); JSON.stringify = () => "x"; return [was + JSON.stringify(1), null] }`,
    ],
    ["Date", `function f(s, n) { Date.q = (Date.q ?? 0) + 1; return [Date.q, null] }`],
    [
      "the constructor of a date",
      `function f(s, n) { const D = Object.getPrototypeOf(new Date(0)).constructor; D.q = (D.q ?? 0) + 1; return [D.q, null] }`,
    ],
    [
      "the symbol registry",
      `function f() { const s = Symbol.for("q"); Object[s] = (Object[s] ?? 0) + 1; return [Object[s], null] }`,
    ],
    ["Symbol.prototype", `function f() { const p = Symbol.prototype; p.q = (p.q ?? 0) + 1; return [p.q, null] }`],
    [
      "unscopables",
      `function f() { const p = Array.prototype[Symbol.unscopables]; p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    ["escape", `function f() { escape.n = (escape.n ?? 0) + 1; return [escape.n, null] }`],
    [
      "Object.prototype.toString",
      `function f() { const was = String({}); Object.prototype.toString = () => "x"; return [was + {}, null] }`,
    ],
    [
      "a getter in place of a method",
      `const original = Object.prototype.valueOf; function f() { const was = typeof ({}).__lookupGetter__("valueOf"); try { Object.defineProperty(Object.prototype, "valueOf", { get() { return original }, configurable: true }) } catch {} return [was, null] }`,
    ],
    [
      "a method of expressions that is changed once, and caught",
      `function f(s, n) { const was = /a/.test("a"); if (n === 3) { RegExp.prototype.exec = () => null; try { throw 0 } catch {} } return [was, null] }`,
    ],
    [
      "a getter on Object.prototype",
      `function f() { const was = ({}).q ?? "none"; let n = 0; Object.defineProperty(Object.prototype, "q", { get() { return ++n }, configurable: true }); return [was, null] }`,
    ],
    [
      "a deletion from Object.prototype",
      `function f() { const was = typeof ({}).valueOf; delete Object.prototype.valueOf; return [was, null] }`,
    ],
    [
      "the order of Object.prototype",
      `function f() { const was = Object.keys(Object.getOwnPropertyDescriptors(Object.prototype)).join(); const v = Object.prototype.valueOf; delete Object.prototype.valueOf; Object.prototype.valueOf = v; return [was, null] }`,
    ],
    [
      "the order of Object.prototype, unseen",
      `function f() { let was = ""; for (const k in {}) was += k; const v = Object.prototype.valueOf; delete Object.prototype.valueOf; Object.prototype.valueOf = v; return [was, null] }`,
    ],
    [
      "extensibility of Object.prototype",
      `function f() { let r = "ok"; try { Object.prototype.qq = 1; delete Object.prototype.qq } catch (e) { r = e.message } Object.preventExtensions(Object.prototype); return [r, null] }`,
    ],
    [
      "the name of errors",
      `function f() { const was = new TypeError("x").toString(); TypeError.prototype.name = "Y"; return [was, null] }`,
    ],
    [
      "the text of errors",
      `function f() { const was = String(new RangeError("x")); Error.prototype.toString = () => "Y"; return [was, null] }`,
    ],
    ["RegExp.$1", `function f(s, n) { const was = RegExp.$1; /(.)/.exec("abc"); return [was + RegExp.$1, null] }`],
    [
      "RegExp.input",
      `function f(s, n) { const was = RegExp.input; RegExp.input = "z"; return [was + RegExp.input, null] }`,
    ],
    [
      "RegExp.lastMatch",
      `function f(s, n) { const was = RegExp.lastMatch + RegExp["$\`"] + RegExp.rightContext; "xay".replace(/a/, "b"); return [was + RegExp.lastMatch, null] }`,
    ],
    [
      "RegExp.prototype.exec",
      `function f() { const was = /a/.test("a"); RegExp.prototype.exec = () => null; return [was + "" + /a/.test("a"), null] }`,
    ],
    [
      "RegExp.prototype.flags",
      `const r = /a/; function f() { const was = r.flags; Object.defineProperty(RegExp.prototype, "flags", { get() { return "zz" }, configurable: true }); return [was, null] }`,
    ],
    [
      "an array iterator's prototype",
      `function f() { const p = Object.getPrototypeOf([].values()); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "an iterator's constructor",
      `function f() { const p = [].values().constructor; p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "GeneratorFunction.prototype",
      `function f() { const p = Object.getPrototypeOf(function* () {}); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "Generator.prototype",
      `function f() { const p = Object.getPrototypeOf(Object.getPrototypeOf((function* () {})())); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a string iterator's prototype",
      `function f() { const p = Object.getPrototypeOf(""[Symbol.iterator]()); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a Map iterator's prototype",
      `function f() { const p = Object.getPrototypeOf(new Map().keys()); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a Set iterator's prototype",
      `function f() { const p = Object.getPrototypeOf(new Set().keys()); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a match iterator's prototype",
      `function f() { const p = Object.getPrototypeOf("a".matchAll(/a/g)); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "an iterator helper's prototype",
      `function f() { const p = Object.getPrototypeOf([].values().map((x) => x)); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a wrapped iterator's prototype",
      `function f() { const p = Object.getPrototypeOf(Iterator.from({ next() {} })); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a Segmenter's prototype",
      `function f() { const p = Object.getPrototypeOf(new Intl.Segmenter("en").segment("a b")); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "a segment iterator's prototype",
      `function f() { const p = Object.getPrototypeOf(new Intl.Segmenter("en").segment("a b")[Symbol.iterator]()); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "the getter of stack",
      `function f() { const p = Object.getOwnPropertyDescriptor(new Error(), "stack").get; p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "the getter of stack, looked up",
      `function f() { const p = new Error().__lookupGetter__("stack"); p.q = (p.q ?? 0) + 1; return [p.q, null] }`,
    ],
    [
      "the function that throws for caller",
      `function f() { "use strict"; const p = (function () {}).__lookupGetter__("caller"); try { p.q = (p.q ?? 0) + 1 } catch {} return [String(p.q), null] }`,
    ],
    [
      "Error.stackTraceLimit",
      `function f() { const was = Error.stackTraceLimit; Error.stackTraceLimit = 1; return [was, null] }`,
    ],
    [
      "Error.prepareStackTrace",
      `function f() { const was = typeof Error.prepareStackTrace; Error.prepareStackTrace = () => "x"; return [was, null] }`,
    ],
    [
      "console.log",
      `function f() { const was = typeof console.log; console.log("hi"); console.log = 1; return [was, null] }`,
    ],
    ["a new property of console", `function f() { console.q = (console.q ?? 0) + 1; return [console.q, null] }`],
    ["printed lines", `function f() { console.log("a"); return [1, null] }`],
    [
      "printing too much",
      `function f(s, n) { if (n === 3) { try { for (;;) console.log("x".repeat(1e5)) } catch {} } return [1, null] }`,
    ],
  ],
  "code and jobs": [
    [
      "eval",
      `function f() { (0, eval)("var q = (typeof q === 'undefined' ? 0 : q) + 1"); return [(0, eval)("q"), null] }`,
    ],
    ["new Function", `let n = 0; function f() { return [new Function("return ++n")(), null] }`],
    [
      "a function made of text",
      `let n = 0; function f() { const F = f["const" + "ructor"]; return [F("return ++n")(), null] }`,
    ],
    [
      "a generator made of text",
      `function f() { const F = (function* () {})["const" + "ructor"]; return [F("this.q = (this.q ?? 0) + 1; yield this.q")().next().value, null] }`,
    ],
    ["import()", `function f() { import("x"); return [1, null] }`],
    ["a promise job", `const o = { n: 0 }; function f() { Promise.resolve().then(() => o.n++); return [o.n, null] }`],
    [
      "an async function",
      `const o = { n: 0 }; async function g() { await 0; o.n++ } function f() { g(); return [o.n, null] }`,
    ],
    [
      "Array.fromAsync",
      `const o = { n: 0 }; function f() { const was = o.n; const p = [].constructor["from" + "Async"]([1]); p.then(() => { o.n++ }); return [was, null] }`,
    ],
    [
      "a job that changes the language",
      `function f() { const was = String({}); const p = [].constructor["from" + "Async"]([1]); p.then(() => { Object.prototype.toString = () => "x" }); return [was, null] }`,
    ],
    [
      "a job that changes the language for the next call, which changes it back",
      `const original = Object.prototype.toString; function f() { const was = String({}); Object.prototype.toString = original; const p = [].constructor["from" + "Async"]([1]); p.then(() => { Object.prototype.toString = () => "x" }); return [was, null] }`,
    ],
    ["using", `function f() { using x = { [Symbol.dispose]() {} }; return [1, null] }`],
  ],
};

/** Each `f` might see that its context is shared, and hardened for it. */
const telltales: readonly Program[] = [
  ["an error that is caught", `const o = { a: 1 }; function f() { try { o.a++ } catch {} return [o.a, null] }`],
  [
    "an error whose message is read",
    `const o = { a: 1 }; function f() { try { o.a++ } catch ({ message }) { return [message, null] } return [o.a, null] }`,
  ],
  [
    "a finally that returns",
    `const o = { a: 1 }; function g() { try { o.a++ } finally { return 1 } } function f() { g(); return [o.a, null] }`,
  ],
  [
    "a finally that breaks",
    `const o = { a: 1 }; function g() { for (;;) { try { o.a++ } finally { break } } } function f() { g(); return [o.a, null] }`,
  ],
  [
    "a finally that yields",
    `const o = { a: 1 }; function* g() { try { o.a++; } finally { yield 1 } } function f() { g().next(); return [o.a, null] }`,
  ],
  ["an error in a promise", `const o = { a: 1 }; function f() { new Promise(() => { o.a++ }); return [o.a, null] }`],
  [
    "an error in a message",
    `const o = { a: 1 }; function f() { throw { get message() { o.a++; return String(o.a) } } }`,
  ],
  [
    "JSON.parse that writes",
    `const o = { a: 1 }; function f() { JSON.parse('{"x":1,"y":2}', function (k, v) { if (k === "x") { this.y = o } return k === "a" ? 5 : v }); return [o.a, null] }`,
  ],
  [
    "arguments that are parameters",
    `function g(a) { arguments[0] = 5; return a } function f() { return [g(1), null] }`,
  ],
  [
    "a function in a block",
    `function g() { return 1 } function f() { if (true) { function g() { return 2 } } return [g(), null] }`,
  ],
  [
    "a this that is not an object",
    `function g() { return typeof this } function f() { return [g() + g.call(5), null] }`,
  ],
  ["caller", `function g() { return String(g.caller).length } function f() { return [g(), null] }`],
  ["a function's properties", `function f() { return [Object.getOwnPropertyNames(f).join(), null] }`],
  [
    "a trace of an error that is caught",
    `function g() { throw new Error("x") } function f() { try { g() } catch (e) { return [e.stack, null] } }`,
  ],
  ["a trace", `function g() { return new Error("x").stack } function f() { return [g(), null] }`],
  [
    "a trace of methods",
    `const o = { g() { return new Error("x").stack } }; function f() { return [o.g() + [1].map(o.g), null] }`,
  ],
  [
    "the text of a function with a catch",
    `function g() { try { return 1 } catch (e) { return 2 } } function f() { return [String(g) + g, null] }`,
  ],
  ["the text of a function", `function g() { return 1 } function f() { return [String(g) + g, null] }`],
  ["an error", `function f(s, n) { throw new RangeError("bad " + n) }`],
  [
    "an error after another",
    `function f(s, n) { try { return [JSON.parse("x"), null] } catch (e) { throw new RangeError("bad " + e.message) } }`,
  ],
  ["a TypeError", `function f(s, n) { return [s.x, null] }`],
  [
    "a write to something frozen",
    `const o = Object.freeze({}); function f(s, n) { "use strict"; o.x = 1; return [1, null] }`,
  ],
  ["a stack that overflows", `function f() { return f() }`],
  [
    "a stack that overflows and is caught",
    `function g() { g() } function f() { try { g() } catch (e) { return [e.message, null] } }`,
  ],
  [
    "an error of a line that has a catch clause",
    `function g() { try { return 1 } catch { } } function f() { g(); throw new RangeError("x") }`,
  ],
  [
    "a state that is another each time it is read",
    `function f(s) { let n = 0; return [s ? [s.a, s.a, s.a] : 0, new Proxy({ a: 1 }, { get: (t, k) => k === "a" ? n++ : t[k] })] }`,
  ],
  ["a state that is undefined", `function f(s) { return [String(s), undefined] }`],
  [
    "a trace of a line that has a catch clause",
    `function g() { try { return 1 } catch { } } function h() { return new Error("x").stack } function f() { g(); return [h(), null] }`,
  ],
  ["an accessor in a state", `function f() { return [1, { get a() { return 2 } }] }`],
  ["a hidden property of a state", `function f() { return [1, Object.defineProperty({ a: 1 }, "b", { value: 2 })] }`],
  [
    "a state with descriptors",
    `function f() { return [1, Object.create(Object.prototype, { a: { value: 1 }, b: { value: 2, enumerable: true } })] }`,
  ],
  [
    "a state with a getter of the old kind",
    `function f() { const s = { a: 1 }; s.__defineGetter__("b", () => 2); return [1, s] }`,
  ],
  ["a state with a trace", `function f() { const s = { a: 1 }; Error.captureStackTrace(s); return [1, s] }`],
  ["a state with a symbol", `function f() { return [1, { a: 1, [Symbol("b")]: 2 }] }`],
  [
    "a state with a symbol found elsewhere",
    `function f() { const [s] = Object.getOwnPropertySymbols(Array.prototype); return [1, { a: 1, [s]: 2 }] }`,
  ],
  ["a state that is a Proxy", `function f() { return [1, new Proxy({ a: 1 }, { get: () => 2 })] }`],
  ["a state that is one of the language's objects", `function f() { return [1, { m: Math }] }`],
  ["a state that is a prototype", `function f() { function F() {} F.prototype.x = 1; return [1, F.prototype] }`],
  ["a value that is none", `const o = { n: 0 }; function f() { return [NaN, null] }`],
  ["no pair", `function f() { return 1 }`],
  ["names that are not there", `function f() { return [typeof setTimeout + typeof queueMicrotask, null] }`],
  ["an entry that is a constant", `const f = (s, n) => [n, { a: s === undefined }]`],
];

let engines: Engines;
beforeAll(async () => (engines = await Engines.start()));
afterAll(() => engines[Symbol.asyncDispose]());

/** So many that the engine looks at the program, shares a context, gives it up, shares again. */
const CALLS = 5;

async function isAlwaysNew(source: string): Promise<void> {
  const program = [source];
  let wasTried = false;
  let state: Buffer | undefined;
  for (let n = 0; n < CALLS; n++) {
    const call = { program, entry: "f", args: [n], state };
    const old = await engines.old(call);
    if (old.head.status === "ok") ({ state } = old);
    expect(wordsOf(old)).toBe(wordsOf(await engines.anew(call)));
    wasTried ||= old.again || old.shares === true || /cannot be kept/.test(String(old.shares));
  }
  // Or else nothing was tested.
  expect(wasTried).toBe(typeof plainness(program) !== "string");
}

describe.each(Object.entries(leaks))("nothing goes on in %s:", (_where, programs) => {
  it.each(programs)("%s", (_name, source) => isAlwaysNew(source));
});

describe("nothing shows whether a context is shared:", () => {
  it.each(telltales)("%s", (_name, source) => isAlwaysNew(source));
});

describe("the programs above", () => {
  it("are plain by their text often enough to try what stands behind the text", () => {
    const all = [...Object.values(leaks).flat(), ...telltales];
    const plain = all.filter(([, source]) => typeof plainness([source]) !== "string");
    expect(all.length).toBeGreaterThan(180);
    expect(plain.length).toBeGreaterThan(90);
  });
});
