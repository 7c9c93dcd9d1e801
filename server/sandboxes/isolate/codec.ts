/**
 * How does a JavaScript state become bytes without losing anything in silence? As JSON, where JSON can hold it; with tags
 * for what programs commonly have beside that (undefined, NaN, infinities, -0, an object in two places, objects without a
 * prototype); and not at all otherwise: functions, cycles, Map, class instances, accessors, symbols … are named by their
 * path. A tagged text starts with `t`, another with `j`. A tag is `{"$value": [kind, content]}`; a program's own key of
 * that form gets one more `$`.
 *
 * The function is sent to the isolate as text. It runs in a context of its own: the program cannot patch what it uses, and
 * V8 keeps its optimised code from call to call.
 */

/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-argument -- it is untyped code about untyped values */

/** Must not refer to anything outside itself: only its text crosses. */
export function codec(): unknown {
  "use strict";
  // Strict functions show neither themselves nor their `this` to a program's Error.prepareStackTrace.
  const MARK = /^\$+value$/;
  class Refused extends Error {}
  class TooLarge extends Error {}

  let objectPrototype: unknown;
  let arrayPrototype: unknown;
  /** See harden.ts. Asking about each property takes longer than all the rest. */
  let ordinary = false;
  let asState = false;
  let tagged = false;
  /** What was looked at is just what its text would be read as: nothing in it is frozen or out of the ordinary. */
  let same = false;
  let budget = 0;
  /** Objects by number, in the order in which they are met. */
  const met = new Map<object, number>();
  /** Numbers of the objects that hold the one being looked at. */
  let holders: number[] = [];
  /** Keys that lead to it. */
  let trail: (string | number)[] = [];

  const at = (path: string, key: string | number) =>
    typeof key === "number"
      ? `${path}[${key}]`
      : /^[\w$]+$/.test(key)
        ? `${path}.${key}`
        : `${path}[${JSON.stringify(key)}]`;
  const refuse = (what: string) => {
    const path = trail.reduce(at, asState ? "state" : "value");
    return new Refused(`${path} is ${what}`);
  };

  /** Throws at what cannot be kept, and finds out whether tags are needed. */
  const check = (value: any): void => {
    switch (typeof value) {
      case "string":
        if ((budget -= value.length) < 0) throw new TooLarge();
        return;
      case "number":
        if (value !== 0 && value - value === 0) return;
        if (value !== 0 && !asState) throw refuse(String(value));
        if (value !== 0 || 1 / value < 0) tagged = true;
        return;
      case "boolean":
        return;
      case "undefined":
        if (!asState) throw refuse("undefined");
        tagged = true;
        return;
      case "object":
        if (value !== null) checkObject(value);
        return;
      default:
        throw refuse(`a ${typeof value}`);
    }
  };

  const checkObject = (value: object): void => {
    const number = met.get(value);
    if (number !== undefined) {
      if (holders.includes(number)) throw refuse("part of a cycle");
      tagged = true;
      // In a value, which is plain JSON, the object is written twice; looking again makes both count.
      if (asState) return;
    }
    const own = number ?? met.size;
    if (number === undefined) met.set(value, own);
    holders.push(own);
    if (!Object.isExtensible(value)) same = false;
    if ((budget -= 2) < 0) throw new TooLarge();
    const prototype = Reflect.getPrototypeOf(value);
    if (prototype === arrayPrototype && Array.isArray(value)) checkArray(value);
    else if (prototype === objectPrototype || prototype === null) checkRecord(value, prototype === null);
    else throw refuse(`${instanceName(prototype)}, not a plain object or array`);
    holders.pop();
  };

  const checkArray = (value: unknown[]): void => {
    const { length } = value;
    if ((budget -= length) < 0) throw new TooLarge();
    if (Object.keys(value).length !== length) throw refuse("an array with holes or named properties");
    const own = trail.push(0) - 1;
    for (let i = 0; i < length; i++) {
      trail[own] = i;
      check(value[i]);
    }
    trail.pop();
  };

  const checkRecord = (value: any, bare: boolean): void => {
    if (bare) tagged = true;
    if (ordinary && !Object.hasOwn(value, "constructor")) {
      const keys = Object.keys(value);
      // Without any, it may be one of the language's own, whose properties are all hidden.
      if (keys.length > 0) return checkOrdinary(value, keys);
    }
    const keys = Reflect.ownKeys(value);
    const own = trail.push("") - 1;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (typeof key === "symbol") {
        trail.pop();
        throw refuse("an object with a symbol as a key");
      }
      trail[own] = key;
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      if (!property?.enumerable || !("value" in property)) throw refuse("an accessor or hidden property");
      if ((budget -= key.length + 3) < 0) throw new TooLarge();
      if (key[0] === "$" && MARK.test(key)) tagged = true;
      check(property.value);
    }
    trail.pop();
  };

  const checkOrdinary = (value: any, keys: string[]): void => {
    const own = trail.push("") - 1;
    for (let i = 0; i < keys.length; i++) {
      const key = (trail[own] = keys[i]!);
      if ((budget -= key.length + 3) < 0) throw new TooLarge();
      if (key[0] === "$" && MARK.test(key)) tagged = true;
      check(value[key]);
    }
    trail.pop();
  };

  const tag = (kind: string, content: string) => `{"$value":["${kind}",${content}]}`;

  const quoted = new Map<string, string>();
  /** States have few different keys, and many of each. */
  const quote = (key: string): string => {
    let text = quoted.get(key);
    if (text === undefined) {
      text = JSON.stringify(key) + ":";
      if (quoted.size >= 1_000) quoted.clear();
      if (key.length <= 100) quoted.set(key, text);
    }
    return text;
  };

  /** For what `check` has passed. Slower than JSON.stringify, and asks no `toJSON`. */
  const write = (value: any): string => {
    switch (typeof value) {
      case "string":
        return JSON.stringify(value);
      case "number":
        if (asState && Object.is(value, -0)) return tag("number", '"-0"');
        if (value - value === 0) return "" + value;
        return asState ? tag("number", `"${value}"`) : "null";
      case "boolean":
        return value ? "true" : "false";
      case "object":
        return value === null ? "null" : writeObject(value);
      default:
        return asState && value === undefined ? tag("undefined", "0") : "null";
    }
  };

  const writeObject = (value: any): string => {
    if (asState) {
      const number = met.get(value);
      if (number !== undefined) return tag("shared", "" + number);
      met.set(value, met.size);
    }
    let text = "";
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) text += (i > 0 ? "," : "") + write(value[i]);
      return `[${text}]`;
    }
    const keys = Reflect.ownKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (typeof key === "symbol") continue;
      const name = asState && key[0] === "$" && MARK.test(key) ? "$" + key : key;
      text += (text === "" ? "" : ",") + quote(name) + write(value[key]);
    }
    return asState && Reflect.getPrototypeOf(value) === null ? tag("bare", `{${text}}`) : `{${text}}`;
  };

  const instanceName = (prototype: any): string => {
    const constructor = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    const name: unknown =
      typeof constructor === "function" ? Reflect.getOwnPropertyDescriptor(constructor, "name")?.value : "";
    return typeof name === "string" && name !== "" ? `an instance of ${name.slice(0, 100)}` : "an instance of a class";
  };

  const textOf = (value: unknown, name: "value" | "state", limit: number): string => {
    asState = name === "state";
    tagged = false;
    same = ordinary;
    budget = limit;
    holders = [];
    trail = [];
    try {
      // A function without a result has the value null.
      if (asState || value !== undefined) check(value);
      met.clear();
      const patched = "toJSON" in (objectPrototype as object) || "toJSON" in (arrayPrototype as object);
      if (patched) same = false;
      const text = tagged || patched || value === undefined ? write(value) : JSON.stringify(value);
      return asState ? (tagged ? "t" : "j") + text : text;
    } catch (error) {
      if (error instanceof RangeError && /call stack/.test(error.message))
        throw new Refused(`${name} is nested too deeply`);
      throw error;
    } finally {
      met.clear();
    }
  };

  const clip = (value: unknown, max: number) => (typeof value === "string" ? value.slice(0, max) : "");
  /** Lines of the program; our own frames and the boundary's say nothing to its author. */
  const ownLines = (trace: string) =>
    trace
      .split("\n")
      .filter((line) => !/trailgym:|isolated-vm/.test(line))
      .join("\n");

  let last = { call: -1, packed: "" };
  const pack = (
    result: any,
    failure: any,
    ofObject: unknown,
    ofArray: unknown,
    output: string | undefined,
    outputBytes: number,
    stateBytes: number,
    isOrdinary: boolean,
  ): string => {
    ordinary = isOrdinary;
    objectPrototype = ofObject;
    arrayPrototype = ofArray;
    if (output === undefined) return '{"status":"outputTooLarge"}\n';
    if (failure !== undefined) {
      const { type, message, trace } = failure;
      const error = { type: clip(type, 200), message: clip(message, 4_000), trace: ownLines(clip(trace, 16_000)) };
      return JSON.stringify({ status: "raised", error, output }) + "\n";
    }
    let name: "value" | "state" = "value";
    try {
      const value = textOf(result[0], name, outputBytes - output.length);
      name = "state";
      const next = result[1];
      const state = textOf(next, name, stateBytes);
      if (same) encode.same = next;
      return JSON.stringify({ status: "ok", output, valueLength: value.length, same }) + "\n" + value + state;
    } catch (error) {
      if (error instanceof TooLarge) return `{"status":"${name === "value" ? "outputTooLarge" : "stateTooLarge"}"}\n`;
      if (error instanceof Refused) return JSON.stringify({ status: "unencodable", message: error.message }) + "\n";
      // A Proxy's trap threw.
      return JSON.stringify({ status: "unencodable", message: `${name} cannot be read` }) + "\n";
    }
  };
  const encode = (call: number, ...args: Parameters<typeof pack>): string => {
    encode.same = undefined;
    const packed = pack(...args);
    last = { call, packed };
    return packed;
  };
  /** The state that was encoded, if it is what reading its text would give. */
  encode.same = undefined as unknown;
  return {
    encode,
    /** What `encode` returned in this call, if it did: V8 throws it away when a promise job fails after it. */
    take: (call: number): string => (last.call === call ? last.packed : ""),
  };
}
