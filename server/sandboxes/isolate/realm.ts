/**
 * What does a program find in its global scope? The language, a `console` that is kept with the reply, and nothing that
 * could differ from run to run. The function is sent to the isolate as text and runs in each new context before the program.
 */

import type { Guard } from "./harden.ts";

/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-argument -- it is untyped code about untyped values */

/**
 * Must not refer to anything outside itself: only its text crosses.
 * @param harden of harden.ts, for a context that serves many calls
 */
export function realm(harden?: () => Guard): unknown {
  "use strict";
  const scope = globalThis as any;
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { isArray } = Array;
  const { defineProperty, keys } = Object;
  const CapturedString = String;
  // A method that the program cannot replace: the prototype is its own.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- bound on this line
  const slice = Function.prototype.call.bind(CapturedString.prototype.slice) as (text: string, from: number) => string;
  const CapturedError = Error;
  const CapturedTypeError = TypeError;

  // Clocks, chance, threads and hooks into garbage collection: what would make a replay differ.
  const refuse = (what: string) => () => {
    throw new CapturedError(`${what} is not available: the same call must always have the same outcome`);
  };
  for (const name of ["WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics", "WebAssembly", "console"]) {
    delete scope[name];
  }
  delete scope.Intl.DateTimeFormat;
  const HostDate = Date;
  const ProgramDate: any = function Date(this: unknown, ...args: unknown[]) {
    if (new.target === undefined || args.length === 0) refuse("the current time")();
    return Reflect.construct(HostDate, args, new.target);
  };
  defineProperty(ProgramDate, "length", { value: 7 });
  ProgramDate.prototype = HostDate.prototype;
  ProgramDate.parse = HostDate.parse;
  ProgramDate.UTC = HostDate.UTC;
  ProgramDate.now = refuse("Date.now");
  for (const name of ["parse", "UTC", "now"]) defineProperty(ProgramDate, name, { enumerable: false });
  defineProperty(HostDate.prototype, "constructor", { value: ProgramDate, writable: true, configurable: true });
  defineProperty(scope, "Date", { value: ProgramDate, writable: true, configurable: true });
  Math.random = refuse("Math.random");

  let output = "";
  let outputLimit = 0;
  let overflowed = false;
  const show = (value: unknown) => {
    if (typeof value === "object" && value !== null) {
      try {
        return stringify(value) ?? "undefined";
      } catch {
        return "[object]";
      }
    }
    return CapturedString(value);
  };
  const print = (...values: unknown[]) => {
    let line = "";
    for (let i = 0; i < values.length; i++) line += (i > 0 ? " " : "") + show(values[i]);
    if (output.length + line.length >= outputLimit) {
      overflowed = outputLimit > 0;
      output = "";
      if (overflowed) throw new CapturedError("too much output");
      return;
    }
    output += line + "\n";
  };
  const console = { log: print, info: print, warn: print, error: print, debug: print };
  defineProperty(scope, "console", { value: console, writable: true, configurable: true });

  // A state with tags: see codec.ts.
  const MARK = /^\$+value$/;
  const revive = (root: unknown) => {
    const seen: any[] = [];
    const visit = (node: any): unknown => {
      if (node === null) return node;
      if (isArray(node)) {
        seen[seen.length] = node;
        for (let i = 0; i < node.length; i++) if (typeof node[i] === "object") node[i] = visit(node[i]);
        return node;
      }
      const names = keys(node);
      if (names.length === 1 && names[0] === "$value") {
        const [tag, content] = node.$value;
        if (tag === "shared") return seen[content];
        if (tag === "number") return Number(content);
        if (tag === "undefined") return undefined;
        const bare = Object.setPrototypeOf(content, null);
        fill(bare, keys(bare));
        return bare;
      }
      fill(node, names);
      return node;
    };
    const fill = (node: any, names: string[]) => {
      seen[seen.length] = node;
      let marked = false;
      for (let i = 0; i < names.length; i++) {
        const name = names[i]!;
        const before = node[name];
        const value = typeof before === "object" ? visit(before) : before;
        if (value !== before) node[name] = value;
        if (name[0] === "$" && MARK.test(name)) marked = true;
      }
      if (marked) rename(node, names);
    };
    /** All of them, so that they stay in their order; not one by one, because one's new name may be another's old one. */
    const rename = (node: any, names: string[]) => {
      const values: unknown[] = [];
      for (let i = 0; i < names.length; i++) {
        values[i] = node[names[i]!];
        delete node[names[i]!];
      }
      for (let i = 0; i < names.length; i++) {
        const name = MARK.test(names[i]!) ? slice(names[i]!, 1) : names[i]!;
        defineProperty(node, name, { value: values[i], writable: true, enumerable: true, configurable: true });
      }
    };
    return visit(root);
  };

  const describe = (error: any) => {
    const plain = typeof error !== "object" || error === null;
    const text = (value: unknown, fallback: string) => (typeof value === "string" ? value : fallback);
    const type = plain ? typeof error : text(error.name, "Error");
    const message = plain ? CapturedString(error) : text(error.message, "");
    return { type, message, trace: plain ? "" : text(error.stack, "") };
  };

  const objectPrototype = Object.prototype;
  const arrayPrototype = Array.prototype;
  const guard = harden?.();
  /** The state that the last call returned, if it is what reading its text would give. */
  let kept: unknown;

  /**
   * @param run the program's entry, or anything else if it has none. @param encode of codec.ts. @param state as text, or `true`:
   * the one that the last call returned.
   * @returns what `encode` made of the result; the guard's verdict instead, if there is one and it is not good. Throws only
   * what V8 throws when it stops the program.
   */
  const invoke = (
    run: unknown,
    encode: ((...args: unknown[]) => string) & { same: unknown },
    call: number,
    entry: string,
    args: string,
    state: string | true,
    outputBytes: number,
    stateBytes: number,
  ): string => {
    outputLimit = outputBytes;
    output = "";
    overflowed = false;
    guard?.begin();
    let result: any;
    let failure: unknown;
    try {
      const values = parse(args === "[]" ? "[null]" : `[null,${slice(args, 1)}`);
      if (state === true) values[0] = kept;
      else if (state !== "") values[0] = state[0] === "t" ? revive(parse(slice(state, 1))) : parse(slice(state, 1));
      if (typeof run !== "function") throw new CapturedTypeError(`${entry} is not a function of the program`);
      result = apply(run as () => unknown, undefined, values);
      if (!isArray(result) || result.length !== 2) {
        const promised = typeof result === "object" && result !== null && typeof result.then === "function";
        const hint = promised ? ", not a promise: nothing runs on after the call" : "";
        throw new CapturedTypeError(`${entry} must return [value, newState]${hint}`);
      }
    } catch (error) {
      try {
        failure = describe(error);
      } catch {
        guard?.doubt();
        failure = { type: "Error", message: "the program threw something that throws when it is read", trace: "" };
      }
    }
    // Inside this call, because V8 runs the promise jobs that the program left as soon as it returns.
    const packed = encode(
      call,
      result,
      failure,
      objectPrototype,
      arrayPrototype,
      overflowed ? undefined : output,
      outputBytes,
      stateBytes,
      guard?.ordinary() ?? false,
    );
    const verdict = guard?.verdict() ?? "good";
    if (guard && verdict === "good") kept = encode.same;
    return verdict === "good" ? packed : verdict;
  };
  return guard ? { invoke, keep: (values: unknown[]) => guard.keep(values) } : invoke;
}
