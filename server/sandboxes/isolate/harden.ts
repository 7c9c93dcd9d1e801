/**
 * How does a context serve many calls of a plain program (plain.ts)? Everything that a call could change is frozen; a few
 * objects, which programs may change in good faith or which V8 is slow with once they are frozen, are compared after each
 * call instead. The function is sent to the isolate as text and runs before the program, so what it uses is the
 * language's own.
 */

/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-call -- it is untyped code about untyped values */

export interface Guard {
  /** Once, when the program has run. @param values of its top-level names. Throws when one of them is of an unknown kind. */
  keep(values: unknown[]): void;
  /** Before each call: as in a new context. */
  begin(): void;
  /** Whatever comes out of this call may differ from what would come out of it in a new context. */
  doubt(): void;
  /** Of this call: its objects have no accessors, no hidden properties and no symbols, as long as their constructor is not their own. */
  ordinary(): boolean;
  /** After a call: is the context as it was, and its outcome what it would have been in a new one? */
  verdict(): "good" | "doubtful" | "spoilt";
}

/** Must not refer to anything outside itself: only its text crosses. The parameters are those of plain.ts. */
export function harden(reworded: boolean, ordinary: boolean): Guard {
  "use strict";
  const scope = globalThis as any;
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { freeze, is, isExtensible, preventExtensions } = Object;
  const { isArray } = Array;
  const method = (holder: object, key: PropertyKey): any => {
    const { value, get } = getOwnPropertyDescriptor(holder, key)!;
    return Function.prototype.call.bind(value ?? get);
  };
  const exec = method(RegExp.prototype, "exec");
  const source = method(RegExp.prototype, "source");
  const flags = method(RegExp.prototype, "flags");
  const mapSize = method(Map.prototype, "size");
  const mapEach = method(Map.prototype, "forEach");
  const setSize = method(Set.prototype, "size");
  const setEach = method(Set.prototype, "forEach");
  const random = Math.random;
  const CapturedError = Error;

  let doubtful = false;
  let spoilt = false;
  let peculiar = false;
  const doubt = () => void (doubtful = true);
  const spoil = () => void (spoilt = true);

  const wired = new Set<unknown>();
  const wire = (holder: any, key: PropertyKey, ring: (args: unknown[], self: unknown) => void) => {
    const property = getOwnPropertyDescriptor(holder, key);
    if (!property) return;
    property.value = new Proxy(property.value, {
      apply(target, self, args) {
        ring(args, self);
        return apply(target, self, args);
      },
      construct(target, args, made) {
        ring(args, undefined);
        return construct(target, args, made);
      },
    });
    wired.add(property.value);
    defineProperty(holder, key, property);
  };
  // What tells frozen objects from others, or strict functions from sloppy ones.
  const told = "isFrozen isSealed isExtensible getOwnPropertyDescriptor getOwnPropertyDescriptors getOwnPropertyNames";
  for (const name of told.split(" ")) wire(Object, name, doubt);
  const make = () => void (peculiar = true);
  for (const name of ["defineProperty", "defineProperties", "getOwnPropertySymbols"]) wire(Object, name, make);
  for (const name of ["__defineGetter__", "__defineSetter__"]) wire(Object.prototype, name, make);
  wire(Object, "create", (args) => args.length > 1 && make());
  wire(Error, "captureStackTrace", make);
  // Code that nobody has looked at, and code that runs on after the call.
  const functions = [function () {}, function* () {}, async function () {}, async function* () {}];
  for (const each of functions) wire(getPrototypeOf(each), "constructor", spoil);
  wire(scope, "eval", spoil);
  wire(Array, "fromAsync", spoil);
  // Leads to objects that nothing else leads to, and takes 10 ms to be made use of.
  wire(Intl.Segmenter.prototype, "segment", spoil);
  // The text of a function is the reworded one, and these here have none.
  wire(Function.prototype, "toString", (_args, self) => (reworded || wired.has(self)) && doubt());
  if (reworded) {
    // A trace shows columns.
    const prepare = (error: unknown, sites: unknown[]) => {
      doubt();
      return sites.join("\n");
    };
    defineProperty(CapturedError, "prepareStackTrace", { value: prepare, configurable: true });
    const caught = () => {
      doubt();
      throw new CapturedError("the call is made again in a new context");
    };
    defineProperty(scope, "trailgym_caught", { value: caught, configurable: true });
  }

  const sameShape = (object: object) => {
    const prototype = getPrototypeOf(object);
    const keys = ownKeys(object);
    const properties = keys.map((key) => getOwnPropertyDescriptor(object, key)!);
    return () => {
      const now = ownKeys(object);
      if (now.length !== keys.length || getPrototypeOf(object) !== prototype || !isExtensible(object)) return false;
      return keys.every((key, i) => {
        if (now[i] !== key) return false;
        const a = getOwnPropertyDescriptor(object, key)!;
        const b = properties[i]!;
        if (a.value !== b.value || a.get !== b.get || a.set !== b.set) return false;
        return a.writable === b.writable && a.enumerable === b.enumerable && a.configurable === b.configurable;
      });
    };
  };

  const errors = [Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
  /** Whose properties programs shadow by assignment, which a frozen one forbids. */
  const shadowed = new Set<object>([Object.prototype, ...errors.map((each) => each.prototype)]);
  const known = new Set<object>();

  /** Calls `look` with everything new that `roots` lead to. */
  const explore = (roots: unknown[], look: (object: any) => unknown[] | void) => {
    const waiting = [...roots];
    while (waiting.length > 0) {
      const object = waiting.pop() as any;
      if ((typeof object !== "object" && typeof object !== "function") || object === null || known.has(object))
        continue;
      known.add(object);
      waiting.push(getPrototypeOf(object), ...(look(object) ?? []));
      for (const key of ownKeys(object)) {
        const { value, get, set } = getOwnPropertyDescriptor(object, key)!;
        waiting.push(value, get, set);
      }
    }
  };

  // Objects of the language that no property of the global object leads to, but values of the syntax do.
  const values = [
    ...functions,
    [][Symbol.iterator](),
    ""[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    "".matchAll(/a/g),
    scope.Iterator && [].values().map((each) => each),
    scope.Iterator?.from({ next() {} }),
    new CapturedError(),
    (function () {
      // eslint-disable-next-line prefer-rest-params -- the object itself is wanted
      return arguments;
    })(),
  ];

  const language: any[] = [];
  explore([scope, ...values], (object) => void language.push(object));
  const special = new Set([scope, Math, RegExp.prototype, ...shadowed]);
  for (const object of language) if (!special.has(object)) freeze(object);
  // Programs draw lots with a function that is put here for each call.
  for (const key of ownKeys(Math)) {
    defineProperty(Math, key, key === "random" ? { configurable: false } : { configurable: false, writable: false });
  }
  preventExtensions(Math);

  /** Of what is not frozen: is it as it was? */
  const checks: (() => boolean)[] = [];
  for (const object of shadowed as Set<any>) {
    const keys = ownKeys(object);
    for (const key of keys) defineProperty(object, key, { configurable: false });
    preventExtensions(object);
    const before = keys.map((key) => getOwnPropertyDescriptor(object, key)!.value as unknown);
    checks.push(() => keys.every((key, i) => before[i] === undefined || object[key] === before[i]));
  }
  // V8 takes its slow paths once this object was touched in any way.
  checks.push(sameShape(RegExp.prototype));

  let watchedValues = 0;
  const watchContent = (object: any, size: any, each: any) => {
    const before: unknown[] = [];
    each(object, (value: unknown, key: unknown) => before.push(key, value));
    watchedValues += before.length;
    if (watchedValues > 2_000) throw new CapturedError("there is too much to compare after each call");
    checks.push(() => {
      if (2 * size(object) !== before.length) return false;
      let i = 0;
      let same = true;
      each(object, (value: unknown, key: unknown) => {
        if (!is(before[i++], key) || !is(before[i++], value)) same = false;
      });
      return same;
    });
    return before;
  };
  /** Of functions of the program. */
  const prototypes = new Set<unknown>();
  const isPrototype = (object: any) => {
    const made = getOwnPropertyDescriptor(object, "constructor")?.value;
    return prototypes.has(object) || (typeof made === "function" && made.prototype === object);
  };
  /** What no freezing keeps as it is. @returns what else it leads to */
  const watchKind = (object: any): unknown[] | void => {
    if (typeof object === "function") prototypes.add(getOwnPropertyDescriptor(object, "prototype")?.value);
    if (typeof object === "function" || isArray(object) || isPrototype(object)) return;
    switch (getPrototypeOf(object)) {
      case Object.prototype:
      case null:
        return;
      case Map.prototype:
        return watchContent(object, mapSize, mapEach);
      case Set.prototype:
        return watchContent(object, setSize, setEach);
      case RegExp.prototype: {
        const [text, flag] = [source(object), flags(object)];
        checks.push(() => source(object) === text && flags(object) === flag);
        return;
      }
    }
    throw new CapturedError("an object that lives on is of a kind that nobody has thought about");
  };

  return {
    keep(roots) {
      const program: any[] = [];
      explore(roots, (object) => {
        program.push(object);
        return watchKind(object);
      });
      for (const object of program) freeze(object);
      freeze(scope);
    },
    begin() {
      doubtful = spoilt = peculiar = false;
      Math.random = random;
      // The last match, which `RegExp.$1` and its like show.
      exec(/(?:)/, "");
    },
    doubt,
    ordinary: () => ordinary && !peculiar,
    verdict() {
      if (spoilt || !checks.every((same) => same())) return "spoilt";
      return doubtful ? "doubtful" : "good";
    },
  };
}
