/** Do ordinary programs share a context from call to call, and is a call just what it would be in a context of its own? */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { javascriptBridge } from "../../../../envs/code-gym/bridge.js.ts";
import { type EngineCall, Engines, wordsOf } from "../../../resources/engines.ts";

let engines: Engines;
beforeAll(async () => (engines = await Engines.start()));
afterAll(() => engines[Symbol.asyncDispose]());

async function both(call: EngineCall) {
  const old = await engines.old(call);
  expect(wordsOf(old)).toBe(wordsOf(await engines.anew(call)));
  return old;
}

const folder = new URL("../../../../fixtures/code-gym/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, folder), "utf8");
const tasks = read("tasks.jsonl")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as { program: string; payload: unknown })
  .filter(({ program }) => program.endsWith(".js"));
const programs = [...Map.groupBy(tasks, ({ program }) => program)].map(([path, list]) => ({
  path,
  program: [read(path), javascriptBridge],
  payloads: list.slice(0, 3).map(({ payload }) => payload),
}));

describe("the programs of the built-in dataset", () => {
  it("are twelve", () => expect(programs).toHaveLength(12));

  it.each(programs)(
    "$path shares a context after a few calls, and no call is made twice",
    async ({ program, payloads }) => {
      const { state } = await both({ program, entry: "trailgym_reset", args: [1, payloads[0]] });
      for (let i = 0; i < 3; i++)
        await engines.old({ program, entry: "trailgym_step", args: [i, "Observe", {}], state });
      for (let i = 0; i < 3; i++) {
        const step = await both({ program, entry: "trailgym_step", args: [i, "Observe", {}], state });
        expect(step).toMatchObject({ shares: true, again: false });
      }
    },
  );
});

/** Keys that lead elsewhere than a program's author meant, and arguments that are none. */
const oddities: readonly unknown[] = [
  null,
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  -1,
  1e9,
  [],
  {},
  { constructor: 1 },
];

describe("any calls in any order", () => {
  it.each(programs)(
    "of $path give, through an engine that is warm, what a new one gives, word for word",
    { timeout: 120_000 },
    async ({ program, payloads }) => {
      const solutions = await Promise.all(
        payloads.map(async (payload) => {
          const { state } = await engines.anew({ program, entry: "trailgym_reset", args: [1, payload] });
          const { value } = await engines.anew({ program, entry: "trailgym_solve", args: [1], state });
          const { calls } = JSON.parse(value) as { calls: string[] };
          return calls.map((call) => JSON.parse(call) as { name: string; parameters: Record<string, unknown> });
        }),
      );
      const tool = fc.constantFrom(...solutions.flat().slice(0, 200));
      const action = fc.record({
        tool,
        /** Which argument is replaced, by what; often none. */
        oddity: fc.option(fc.tuple(fc.nat(2), fc.constantFrom(...oddities)), { freq: 2 }),
        /** Which of the states so far: a session goes on, another one comes, one is taken up again. */
        from: fc.nat(3),
        seed: fc.nat(3),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 12 }), fc.nat(2), async (actions, nth) => {
          const payload = payloads[nth % payloads.length];
          const states = [(await both({ program, entry: "trailgym_reset", args: [1, payload] })).state];
          for (const { tool, oddity, from, seed } of actions) {
            const args = { ...tool.parameters };
            const name = Object.keys(args)[oddity?.[0] ?? 0];
            if (oddity && name !== undefined) args[name] = oddity[1];
            const state = states.at(-1 - (from % states.length));
            const reply = await both({ program, entry: "trailgym_step", args: [seed, tool.name, args], state });
            if (reply.head.status === "ok") states.push(reply.state);
          }
        }),
        { numRuns: 12 },
      );
    },
  );
});

const ordinary: readonly (readonly [name: string, source: string])[] = [
  [
    "an Error of its own",
    `class Missing extends Error { constructor(what) { super("no " + what); this.name = "Missing"; this.what = what } }
     function f(s, n) { if (n % 2) throw new Missing("x" + n); return [new Missing("y") instanceof Error, null] }`,
  ],
  [
    "an Error whose name is a field",
    `class Missing extends RangeError { name = "Missing"; code = 7 }
     function f() { throw new Missing("x") }`,
  ],
  [
    "toString and valueOf by assignment",
    `function f() {
       const o = {}; o.toString = () => "o"; o.valueOf = () => 3; o.constructor = null; o.hasOwnProperty = 1;
       return [[String(o), o + 1, o.constructor], null];
     }`,
  ],
  [
    "toString in classes",
    `class Point { constructor(x, y) { this.x = x; this.y = y } toString() { return \`(\${this.x}, \${this.y})\` } get norm() { return Math.hypot(this.x, this.y) } static of(...a) { return new Point(...a) } }
     class Named extends Point { constructor(name, ...a) { super(...a); this.name = name } toString() { return this.name + super.toString() } }
     function f() { return [\`\${new Named("P", 3, 4)} \${Point.of(3, 4).norm}\`, null] }`,
  ],
  [
    "private fields",
    `class Stack { #items = []; push(x) { this.#items.push(x); return this } get size() { return this.#items.length } }
     function f() { return [new Stack().push(1).push(2).size, null] }`,
  ],
  [
    "static constants",
    `class Grid { static SIZE = 3; static NAMES = ["a", "b"]; cells = Array(Grid.SIZE).fill(0) }
     function f() { return [new Grid().cells.concat(Grid.NAMES), null] }`,
  ],
  [
    "generators",
    `function* primes() { for (let n = 2; ; n++) { let p = true; for (let d = 2; d * d <= n; d++) if (n % d === 0) { p = false; break } if (p) yield n } }
     function f() { const out = []; for (const p of primes()) { if (p > 20) break; out.push(p) } return [[...out, ...primes().take(3)], null] }`,
  ],
  [
    "Map, Set and a subclass",
    `class Counter extends Map { add(k) { return this.set(k, (this.get(k) ?? 0) + 1) } }
     const VOWELS = new Set("aeiou");
     const NAMES = new Map([["a", "alpha"], ["e", "echo"]]);
     function f() { const c = new Counter(); for (const x of "a tale of two") if (VOWELS.has(x)) c.add(x); return [[...c].map(([k, v]) => [NAMES.get(k) ?? k, v]), null] }`,
  ],
  [
    "sorting in place and not",
    `const ORDER = ["c", "a", "b"];
     function f() { const l = [...ORDER]; l.sort(); const m = ORDER.slice().reverse(); return [[l, m, ORDER.toSorted(), ORDER, l.splice(1, 1), l], null] }`,
  ],
  [
    "regular expressions",
    `const WORD = /^[a-z]+$/i; const PART = /(\\w)(\\d)/;
     function f() { const m = "a1 b2".match(/(\\w)(\\d)/g); const all = [..."x1y2".matchAll(/(?<l>[a-z])(\\d)/g)].map((m) => m.groups.l + m[2]); const re = /a/g; re.test("aa"); return [[m, all, re.lastIndex, WORD.test("abc"), "c3".replace(PART, "$2$1"), "a,b;c".split(/[,;]/)], null] }`,
  ],
  [
    "destructuring, spreads and defaults",
    `const [FIRST, ...OTHERS] = [1, 2, 3]; const { width, height: H = 2 } = { width: 5 };
     const f = (s, n, { a = 1, ...rest } = { b: 2 }, [x, , y = 9] = [7]) => { let p = 1, q = 2; [p, q] = [q, p]; return [[FIRST, OTHERS, width, H, a, rest, x, y, p, q, Math.max(...OTHERS)], null] }`,
  ],
  [
    "JSON",
    `function f(s, n) { return [[JSON.stringify({ a: [1, { b: "ü" }], d: undefined, toJSON: undefined }, null, 2), JSON.parse('{"a":{"b":[1]}}').a.b[0], JSON.stringify({ toJSON() { return 5 } })], null] }`,
  ],
  [
    "constants that are computed",
    `const SIZE = 2 ** 3, LETTERS = Array.from({ length: 4 }, (_, i) => String.fromCharCode(97 + i)), SQUARES = [1, 2, 3].map((n) => n * n);
     const BOARD = Object.freeze({ cells: Object.keys({ x: 1, y: 2 }), note: \`\${SIZE} wide\`, half: SIZE / 2, deep: { list: "a b".split(" ") } });
     function f() { return [[SIZE, LETTERS, SQUARES, BOARD], null] }`,
  ],
  [
    "words as keys",
    `function f() { const c = {}; for (const w of ["constructor", "toString", "valueOf", "a", "a"]) c[w] = (Object.hasOwn(c, w) ? c[w] : 0) + 1; return [c, null] }`,
  ],
  [
    "objects without a prototype and shared ones in the state",
    `function f(s, n) { s ??= { list: [1], bare: Object.assign(Object.create(null), { x: 1 }) }; s.twice = s.list; s.list.push(n); return [s.twice.length, s] }`,
  ],
  [
    "labels, switches and closures",
    `function f(s, n) { const fs = []; outer: for (let i = 0; i < 5; i++) { switch (i) { case 1: continue outer; case 3: break outer; default: fs.push(() => i) } } return [fs.map((g) => g()), null] }`,
  ],
  [
    "iterators of its own",
    `class Range { constructor(a, b) { this.a = a; this.b = b } *[Symbol.iterator]() { for (let i = this.a; i < this.b; i++) yield i } }
     function f() { return [[...new Range(1, 4)].concat(Math.max(...new Range(0, 3))), null] }`,
  ],
  [
    "dates and numbers",
    `function f() { return [[new Date(2020, 1, 29).toISOString(), Date.UTC(2000, 0), (1234.5).toLocaleString("en-US"), (255).toString(16), Number("0x1f"), parseInt("12px"), 7n ** 20n > 1n], null] }`,
  ],
  ["printing", `function f(s, n) { console.log("n", n, { a: [1] }); console.error("x"); return [n, null] }`],
  [
    "a method that uses this",
    `const program = { limit: 3, within(n) { return n < this.limit }, run(n) { return this.within(n) ? "in" : "out" } };
     function f(s, n) { return [program.run(n), null] }`,
  ],
  [
    "try and finally where nothing is thrown",
    `function f(s, n) { let log = ""; try { log += "a" } catch (error) { log += error.message } finally { log += "b" } return [log, null] }`,
  ],
];

describe("an ordinary program shares its context and does not notice:", () => {
  it.each(ordinary)("%s", async (_name, source) => {
    const program = [source];
    for (let n = 0; n < 3; n++) await engines.old({ program, entry: "f", args: [n] });
    let state: Buffer | undefined;
    for (let n = 0; n < 6; n++) {
      const reply = await both({ program, entry: "f", args: [n], state });
      expect(reply).toMatchObject({ shares: true, again: false });
      if (reply.head.status === "ok" && reply.state.length > 5) state = reply.state;
    }
  });
});

describe("a context that is shared", () => {
  const source = `const memo = {};
    function f(s, n) { if (n > 0) memo[n] = 1; return [Object.keys(memo).length, s] }
    function spin() { for (;;); }
    function deep(n) { return deep(n + 1) + 1 }
    function fail(s) { s.list.push(1); throw new RangeError("on purpose") }`;
  const program = [source];
  const share = async () => {
    let last;
    for (let n = 0; n < 4; n++) last = await engines.old({ program, entry: "f", args: [0] });
    return last?.shares;
  };

  it("outlives a call that was not certain, and one that threw", async () => {
    expect(await share()).toBe(true);
    expect(await both({ program, entry: "f", args: [1] })).toMatchObject({ again: true, shares: true });
    expect(await both({ program, entry: "fail", args: [], state: Buffer.from('j{"list":[]}') })).toMatchObject({
      again: false,
      shares: true,
      head: { status: "raised", error: { message: "on purpose" } },
    });
    expect(await both({ program, entry: "f", args: [0] })).toMatchObject({ again: false, shares: true });
  });

  it.each(["s.a.b", "s.a.b = 1", "n()", "[...n]", "new n()", "'x' in n", "({ ...(({ a: { b } }) => b)({}) })"])(
    "need not be left to say what is wrong with %s",
    async (expression) => {
      const program = [`function f(s, n) { return [${expression}, s] }`];
      const call = { program, entry: "f", args: [1], state: Buffer.from("j{}") };
      for (let n = 0; n < 4; n++) await engines.old(call);
      expect(await both(call)).toMatchObject({
        again: false,
        head: { status: "raised", error: { type: "TypeError" } },
      });
    },
  );

  it("comes back after a call that changed it, and one that printed too much", async () => {
    const program = [
      `function f() { return [1, null] }
       function change() { Object.prototype.toString = () => "x"; return [String({}), null] }
       function flood() { for (;;) console.log("x".repeat(1e5)) }`,
    ];
    const call = (entry: string) => both({ program, entry });
    for (let n = 0; n < 4; n++) await call("f");
    for (const entry of ["change", "flood"]) {
      expect(await call(entry)).toMatchObject({ again: true });
      await call("f");
      expect(await call("f")).toMatchObject({ again: false, shares: true });
    }
  });

  it("does not outlive one that V8 had to stop, and comes back", async () => {
    expect(await share()).toBe(true);
    const stopped = await engines.old({ program, entry: "spin", limits: { timeMs: 50 } });
    expect(stopped.head).toEqual({ status: "timeout" });
    expect(await both({ program, entry: "f", args: [0] })).toMatchObject({ head: { status: "ok" } });
    expect(await share()).toBe(true);
  });

  it("is given up for a program that keeps giving cause for doubt", async () => {
    expect(await share()).toBe(true);
    let reply;
    for (let n = 1; n < 12; n++) reply = await both({ program, entry: "f", args: [n] });
    expect(reply).toMatchObject({ again: false, shares: "is plain by its text, but not by what it does" });
  });

  it("takes a session's next step from the object of its last one only when that is the same", async () => {
    const program = [
      `const BOARD = Object.freeze({ rows: [1, 2] });
       function start(s, kind) { return [0, kind === "frozen" ? { board: BOARD, n: 0 } : kind === "sealed" ? Object.seal({ n: 0, board: {} }) : { n: 0, board: { rows: [1] }, list: [] }] }
       function step(s) { s.n += 1; s.board.rows ??= []; s.board.rows.push(s.n); s.extra = s.n; return [JSON.stringify(s), s] }
       function fail(s) { s.n = 100; throw new RangeError("x") }`,
    ];
    for (const kind of ["plain", "frozen", "sealed"]) {
      for (let round = 0; round < 3; round++) {
        let { state } = await both({ program, entry: "start", args: [kind] });
        const first = state;
        for (let i = 0; i < 3; i++) {
          const reply = await both({ program, entry: "step", state });
          // What is frozen in one call is a copy in the next.
          expect(reply.again).toBe(false);
          ({ state } = reply);
        }
        await both({ program, entry: "fail", state });
        await both({ program, entry: "step", state });
        await both({ program, entry: "step", state });
        await both({ program, entry: "step", state: first });
      }
    }
  });
});
