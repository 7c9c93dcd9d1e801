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
  let asState = false;
  let tagged = false;
  let budget = 0;
  /** Objects by number, in the order in which they are met. */
  let met = new Map<object, number>();
  /** Numbers of the objects that hold the one being looked at. */
  let holders: number[] = [];

  const at = (path: string, key: string | number) =>
    typeof key === "number"
      ? `${path}[${key}]`
      : /^[\w$]+$/.test(key)
        ? `${path}.${key}`
        : `${path}[${JSON.stringify(key)}]`;
  const refuse = (what: string, path: string, key: string | number | undefined) =>
    new Refused(`${key === undefined ? path : at(path, key)} is ${what}`);

  /** Throws at what cannot be kept, and finds out whether tags are needed. */
  const check = (value: any, path: string, key: string | number | undefined): void => {
    switch (typeof value) {
      case "string":
        if ((budget -= value.length) < 0) throw new TooLarge();
        return;
      case "number":
        if (value !== 0 && value - value === 0) return;
        if (value !== 0 && !asState) throw refuse(String(value), path, key);
        if (value !== 0 || 1 / value < 0) tagged = true;
        return;
      case "boolean":
        return;
      case "undefined":
        if (!asState) throw refuse("undefined", path, key);
        tagged = true;
        return;
      case "object":
        if (value !== null) checkObject(value, key === undefined ? path : at(path, key));
        return;
      default:
        throw refuse(`a ${typeof value}`, path, key);
    }
  };

  const checkObject = (value: object, path: string): void => {
    const number = met.get(value);
    if (number !== undefined) {
      if (holders.includes(number)) throw refuse("part of a cycle", path, undefined);
      tagged = true;
      // In a value, which is plain JSON, the object is written twice; looking again makes both count.
      if (asState) return;
    }
    const own = number ?? met.size;
    if (number === undefined) met.set(value, own);
    holders.push(own);
    if ((budget -= 2) < 0) throw new TooLarge();
    const prototype = Reflect.getPrototypeOf(value);
    if (prototype === arrayPrototype && Array.isArray(value)) checkArray(value, path);
    else if (prototype === objectPrototype || prototype === null) checkRecord(value, path, prototype === null);
    else throw refuse(`${instanceName(prototype)}, not a plain object or array`, path, undefined);
    holders.pop();
  };

  const checkArray = (value: unknown[], path: string): void => {
    const { length } = value;
    if ((budget -= length) < 0) throw new TooLarge();
    if (Object.keys(value).length !== length) throw refuse("an array with holes or named properties", path, undefined);
    for (let i = 0; i < length; i++) check(value[i], path, i);
  };

  const checkRecord = (value: any, path: string, bare: boolean): void => {
    if (bare) tagged = true;
    const keys = Reflect.ownKeys(value);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (typeof key === "symbol") throw refuse("an object with a symbol as a key", path, undefined);
      const property = Reflect.getOwnPropertyDescriptor(value, key);
      if (!property?.enumerable || !("value" in property)) throw refuse("an accessor or hidden property", path, key);
      if ((budget -= key.length + 3) < 0) throw new TooLarge();
      if (key[0] === "$" && MARK.test(key)) tagged = true;
      check(property.value, path, key);
    }
  };

  const tag = (kind: string, content: string) => `{"$value":["${kind}",${content}]}`;

  /** For what `check` has passed. Slower than JSON.stringify, and asks no `toJSON`. */
  const write = (value: any): string => {
    if (value === undefined) return asState ? tag("undefined", "0") : "null";
    if (typeof value === "number" && asState && (value - value !== 0 || Object.is(value, -0))) {
      return tag("number", Object.is(value, -0) ? '"-0"' : `"${value}"`);
    }
    if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
    if (asState) {
      const number = met.get(value);
      if (number !== undefined) return tag("shared", "" + number);
      met.set(value, met.size);
    }
    if (Array.isArray(value)) {
      let text = "";
      for (let i = 0; i < value.length; i++) text += (i > 0 ? "," : "") + write(value[i]);
      return `[${text}]`;
    }
    const bare = asState && Reflect.getPrototypeOf(value) === null;
    let text = "";
    for (const key of Reflect.ownKeys(value)) {
      if (typeof key === "symbol") continue;
      const name = asState && MARK.test(key) ? "$" + key : key;
      text += (text === "" ? "" : ",") + JSON.stringify(name) + ":" + write(value[key]);
    }
    return bare ? tag("bare", `{${text}}`) : `{${text}}`;
  };

  const instanceName = (prototype: any): string => {
    const constructor = Reflect.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    const name: unknown =
      typeof constructor === "function" ? Reflect.getOwnPropertyDescriptor(constructor, "name")?.value : "";
    return typeof name === "string" && name !== "" ? `an instance of ${name.slice(0, 100)}` : "an instance of a class";
  };

  const encode = (value: unknown, name: "value" | "state", limit: number): string => {
    asState = name === "state";
    tagged = false;
    budget = limit;
    met = new Map();
    holders = [];
    try {
      // A function without a result has the value null.
      if (asState || value !== undefined) check(value, name, undefined);
      met.clear();
      const patched = "toJSON" in (objectPrototype as object) || "toJSON" in (arrayPrototype as object);
      const text = tagged || patched || value === undefined ? write(value) : JSON.stringify(value);
      return asState ? (tagged ? "t" : "j") + text : text;
    } catch (error) {
      if (error instanceof RangeError && /call stack/.test(error.message))
        throw new Refused(`${name} is nested too deeply`);
      throw error;
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
  ): string => {
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
      const value = encode(result[0], name, outputBytes - output.length);
      name = "state";
      const state = encode(result[1], name, stateBytes);
      return JSON.stringify({ status: "ok", output, valueLength: value.length }) + "\n" + value + state;
    } catch (error) {
      if (error instanceof TooLarge) return `{"status":"${name === "value" ? "outputTooLarge" : "stateTooLarge"}"}\n`;
      if (error instanceof Refused) return JSON.stringify({ status: "unencodable", message: error.message }) + "\n";
      // A Proxy's trap threw.
      return JSON.stringify({ status: "unencodable", message: `${name} cannot be read` }) + "\n";
    }
  };
  return {
    encode: (call: number, ...args: Parameters<typeof pack>): string => {
      const packed = pack(...args);
      last = { call, packed };
      return packed;
    },
    /** What `encode` returned in this call, if it did: V8 throws it away when a promise job fails after it. */
    take: (call: number): string => (last.call === call ? last.packed : ""),
  };
}
