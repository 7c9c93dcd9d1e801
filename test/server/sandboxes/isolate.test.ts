/** Does JavaScript in isolated-vm keep the interpreter's contract, and lose nothing of a state in silence? */

import { afterAll, describe, expect, it } from "vitest";
import { createInterpreters } from "../../../server/sandboxes/interpreters.ts";
import { interpreterContract, ok } from "../../contracts/interpreter.ts";

interpreterContract({
  language: "javascript",
  errorType: "RangeError",
  brokenText: "function count( {",
  texts: [
    `let calls = 0;
     class Counter { static calls = 0 }
     const next = (() => { let calls = 0; return () => ++calls })();`,
    `function count(state, by) { state ??= { n: 0 }; state.n += by; return [state.n, state] }
     function countThenFail(state, by) { count(state, by); throw new RangeError("on purpose") }
     function hidden(state, place) {
       if (place === "global") return [++calls, state];
       if (place === "class") return [++Counter.calls, state];
       if (place === "closure") return [next(), state];
       return [(hidden.calls = (hidden.calls ?? 0) + 1), state];
     }
     function twice(state) {
       if (!state) { const list = []; state = { a: list, b: list } } else state.a.push(1);
       return [state.b.length, state];
     }
     function say(state, text) { console.log(text); return [null, state] }
     function loop() { for (;;); }
     function eat() { const all = []; for (;;) all.push(new Array(1000).fill(all.length)) }
     function chatter() { for (;;) console.log("x".repeat(100)) }
     function big(state, n) { return ["x".repeat(n), null] }
     function grow(state, n) { return [null, "x".repeat(n)] }
     const echo = (state, x) => [x, state];
     function single() { return 1 }
     function func(state) { return [null, { f() {} }] }
     function chance(state) { return [Math.random(), state] }
     function work(state) { let n = 0; for (let i = 0; i < 3e7; i++) n += i % 7; return [n, state] }`,
  ],
});

describe("a JavaScript state", () => {
  const interpreters = createInterpreters({ processes: 1 });
  afterAll(() => interpreters[Symbol.asyncDispose]());
  const signal = new AbortController().signal;
  const javascript = interpreters.interpreter("javascript");
  const evaluate = (expression: string) =>
    javascript.call({ program: [`function f() { return [null, ${expression}] }`], entry: "f" }, signal);

  it.each([
    ["undefined", "state.a === undefined && 'a' in state && state.l[1] === undefined && 1 in state.l"],
    ["NaN", "Number.isNaN(state.a) && Number.isNaN(state.l[1])"],
    ["-Infinity", "state.a === -Infinity && state.l[1] === -Infinity"],
    ["-0", "Object.is(state.a, -0) && Object.is(state.l[1], -0)"],
    [
      "Object.assign(Object.create(null), { x: NaN })",
      "Object.getPrototypeOf(state.a) === null && state.a.x !== state.a.x",
    ],
    ["{ $value: ['number', 'NaN'], $$value: 2 }", "state.a.$value[1] === 'NaN' && state.a.$$value === 2"],
    ['JSON.parse(\'{"__proto__": {"x": null}}\')', "Object.keys(state.a)[0] === '__proto__'"],
  ])("keeps %s", async (expression, check) => {
    const program = [
      `function f(state) { return state ? [${check}, state] : [null, { a: ${expression}, l: [0, ${expression}] }] }`,
    ];
    const { state } = await ok(javascript.call({ program, entry: "f" }, signal));
    const { value, state: again } = await ok(javascript.call({ program, entry: "f", state }, signal));
    expect(value).toBe(true);
    expect(again).toEqual(state);
  });

  it("keeps the order of its keys", async () => {
    const state = `{ b: 1, $value: NaN, a: { $$value: 1, $value: undefined, c: 2 }, 1: 2, list: [{ z: -0, y: 1 }] }`;
    const program = [`function f(state) { return state ? [JSON.stringify(state), state] : [null, ${state}] }`];
    const first = await ok(javascript.call({ program, entry: "f" }, signal));
    const second = await ok(javascript.call({ program, entry: "f", state: first.state }, signal));
    expect(second.value).toBe('{"1":2,"b":1,"$value":null,"a":{"$$value":1,"c":2},"list":[{"z":0,"y":1}]}');
    expect(Buffer.from(second.state).toString()).toBe(Buffer.from(first.state).toString());
  });

  it.each([
    ["{ a: { b: [0, () => 1] } }", "state.a.b[1] is a function"],
    ["{ a: new Map() }", "state.a is an instance of Map, not a plain object or array"],
    ["{ 'a b': new (class Cart {}) }", 'state["a b"] is an instance of Cart, not a plain object or array'],
    ["[new Date(0)]", "state[0] is an instance of Date, not a plain object or array"],
    ["{ a: 1n }", "state.a is a bigint"],
    ["{ a: Symbol() }", "state.a is a symbol"],
    ["{ get a() { return 1 } }", "state.a is an accessor or hidden property"],
    ["{ [Symbol()]: 1 }", "state is an object with a symbol as a key"],
    ["[1, , 2]", "state is an array with holes or named properties"],
    ["'ab'.match(/a/)", "state is an array with holes or named properties"],
    ["(() => { const x = {}; x.y = [x]; return x })()", "state.y[0] is part of a cycle"],
    ["Promise.resolve(1)", "state is an instance of Promise, not a plain object or array"],
    ["(() => { let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return x })()", "state is nested too deeply"],
  ])("is refused as %s", async (expression, message) => {
    expect(await evaluate(expression)).toEqual({ status: "unencodable", message });
  });

  it("may not be hidden in a value either: a value is plain JSON", async () => {
    const program = ["function f(state, n) { return [[NaN, { a: undefined }, new Set()][n], state] }"];
    const call = (n: number) => javascript.call({ program, entry: "f", args: [n] }, signal);
    expect(await call(0)).toEqual({ status: "unencodable", message: "value is NaN" });
    expect(await call(1)).toEqual({ status: "unencodable", message: "value.a is undefined" });
    expect(await call(2)).toMatchObject({ status: "unencodable" });
  });

  it("is not changed by promise jobs that the call left behind", async () => {
    const program = [
      `function f(state) {
         const next = { n: state ? state.n : 0 };
         Promise.resolve().then(() => next.n++);
         (async () => { await null; next.n++ })();
         return [next.n, next];
       }`,
    ];
    let outcome = await ok(javascript.call({ program, entry: "f" }, signal));
    for (let i = 0; i < 3; i++)
      outcome = await ok(javascript.call({ program, entry: "f", state: outcome.state }, signal));
    expect(outcome.value).toBe(0);
  });

  it.each(["Date.now()", "new Date()", "Date()", "Math.random()", "new (new Date(0).constructor)()"])(
    "cannot come from %s",
    async (expression) => {
      expect(await evaluate(expression)).toMatchObject({ status: "raised", error: { message: /not available/ } });
    },
  );

  it("finds no clock, shared memory or hook into garbage collection", async () => {
    const names = [
      "WeakRef",
      "FinalizationRegistry",
      "SharedArrayBuffer",
      "Atomics",
      "WebAssembly",
      "process",
      "require",
      "performance",
      "setTimeout",
    ];
    const { state } = await ok(
      evaluate(`[${names.map((name) => `typeof ${name}`).join()}, typeof Intl.DateTimeFormat]`),
    );
    expect(new Set(JSON.parse(Buffer.from(state).toString().slice(1)) as string[])).toEqual(new Set(["undefined"]));
  });
});
