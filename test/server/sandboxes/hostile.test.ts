/** What can a hostile program do? Fail by itself: it ends in a named status, and nobody else notices. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InterpreterOutcome, Language } from "trailgym/env";
import { createInterpreters, type Interpreters } from "../../../server/sandboxes/interpreters.ts";
import { isAlive, ok } from "../../contracts/interpreter.ts";

type Status = InterpreterOutcome["status"];
/** Name, body of the program, the statuses in which `f` may end. */
type Attack = readonly [name: string, source: string, ...statuses: Status[]];

const signal = new AbortController().signal;
const limits = { memoryMb: 48, outputBytes: 100_000, stateBytes: 100_000 };

const javascript: readonly Attack[] = [
  ["an endless loop", "function f() { for (;;); }", "timeout"],
  ["an endless loop while it loads", "for (;;);", "timeout"],
  [
    "an endless chain of promise jobs",
    "function f(s) { (async () => { for (;;) await 0 })(); return [1, s] }",
    "timeout",
  ],
  ["a regular expression that explodes", "function f() { return /^(a+)+$/.test('a'.repeat(40) + 'b') }", "timeout"],
  [
    "a loop in native code",
    "function f() { for (;;) new Array(3e7).fill(0).sort() }",
    "timeout",
    "outOfMemory",
    "crashed",
  ],
  ["a getter that loops", "function f() { return { get 0() { for (;;); }, length: 2 } }", "raised"],
  [
    "a getter on Array.prototype",
    "function f() { Object.defineProperty(Array.prototype, 1, { get() { for (;;); } }); const r = [1]; r.length = 2; return r }",
    "timeout",
  ],
  ["a proxy that loops", "function f() { return [1, new Proxy({}, { ownKeys() { for (;;); } })] }", "timeout"],
  ["a proxy that throws", "function f() { return [1, new Proxy({}, { ownKeys() { throw 1 } })] }", "unencodable"],
  [
    "a proxy that lies",
    "function f() { let n = 0; return [new Proxy({}, { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ value: n++ ? () => 1 : 1, enumerable: true, configurable: true }), get: () => () => 1 }), 1] }",
    "ok",
    "unencodable",
  ],
  [
    "a revoked proxy",
    "function f() { const p = Proxy.revocable({}, {}); p.revoke(); return [p.proxy, 1] }",
    "unencodable",
  ],
  ["a toJSON that loops", "function f() { return [{ toJSON() { for (;;); } }, 1] }", "unencodable"],
  [
    "an error that throws when it is read",
    "function f() { throw { get message() { throw 1 }, get name() { throw 2 } } }",
    "raised",
  ],
  ["an error that loops when it is read", "function f() { throw { get message() { for (;;); } } }", "timeout"],
  [
    "arrays without end",
    "function f() { const a = []; for (;;) a.push(new Array(1000).fill(1)) }",
    "outOfMemory",
    "timeout",
  ],
  [
    "strings without end",
    "function f() { const a = []; for (let i = 0; ; i++) a.push(('x' + i).repeat(1e5).split('').join('-')) }",
    "outOfMemory",
    "timeout",
  ],
  ["bytes without end", "function f() { const a = []; for (;;) a.push(new Uint8Array(1e6).fill(1)) }", "outOfMemory"],
  ["one huge array", "function f() { return 'x'.repeat(2 ** 29 - 30).split('') }", "outOfMemory", "timeout"],
  ["recursion", "function f() { return f() }", "raised"],
  [
    "recursion through JSON and toString",
    "function f() { const x = { toString() { return `${x}` } }; return `${x}` }",
    "raised",
  ],
  [
    "a deep value",
    "function f() { let x = []; for (let i = 0; i < 1e5; i++) x = [x]; return [x, 1] }",
    "unencodable",
    "outputTooLarge",
    "timeout",
  ],
  [
    "a value that doubles",
    "function f() { let x = 1; for (let i = 0; i < 60; i++) x = [x, x]; return [x, 1] }",
    "outputTooLarge",
  ],
  ["a huge value", "function f() { return ['x'.repeat(2 ** 28), 1] }", "outputTooLarge"],
  ["huge output", "function f() { for (;;) console.log('x'.repeat(1e4)) }", "outputTooLarge"],
  [
    "caught output errors",
    "function f() { for (let i = 0; i < 1e4; i++) try { console.log('x'.repeat(1e4)) } catch {} return [1, 1] }",
    "outputTooLarge",
  ],
  ["a pending promise", "function f() { return new Promise(() => {}) }", "raised"],
  ["an async function", "async function f() { return [1, 2] }", "raised"],
  ["a generator", "function* f() { yield 1 }", "raised"],
  ["a rejected promise", "function f(s) { Promise.reject(new Error('x')); return [1, s] }", "ok"],
  [
    "the function constructor",
    "function f() { return [this.constructor.constructor('return process')(), 1] }",
    "raised",
  ],
  ["eval", "function f() { return [(0, eval)('process.exit()'), 1] }", "raised"],
  ["import()", "function f(s) { import('node:fs'); return [1, s] }", "raised", "ok"],
  [
    "prepareStackTrace",
    "function f() { let r = []; Error.prepareStackTrace = (e, sites) => { for (const s of sites) r.push(typeof s.getFunction?.(), typeof s.getThis?.(), String(s.getFileName())); return '' }; new Error().stack; if (r.some((x) => x.includes('/'))) return [r, 1]; throw new Error('contained') }",
    "raised",
  ],
  [
    "a stack overflow caught at its edge",
    "function f() { let leaked; (function g() { try { g() } catch (e) { leaked = e.constructor.constructor('return typeof process + typeof require')() } })(); throw new Error(leaked) }",
    "raised",
  ],
  ["arguments.callee.caller", "function f() { return [f.caller.caller, 1] }", "raised"],
  [
    "Reflect on the global object",
    "function f() { const g = Reflect.getPrototypeOf(globalThis); for (const k of Reflect.ownKeys(globalThis)) try { globalThis[k] = undefined } catch {} return [1, 1] }",
    "ok",
    "raised",
  ],
  [
    "a poisoned Object.prototype",
    "Object.defineProperty(Object.prototype, 'status', { set() { throw 1 }, get() { return 'ok' } }); Object.prototype.toJSON = () => 'evil'; Object.prototype.then = (r) => r(1); function f() { return [{ a: 1 }, 1] }",
    "ok",
  ],
  [
    "poisoned JSON and arrays",
    "JSON.stringify = JSON.parse = () => 'evil'; Array.isArray = () => true; Array.prototype.toJSON = () => 'evil'; Array.prototype[Symbol.iterator] = function* () { yield 'evil' }; String.prototype.slice = () => 'evil'; Reflect.apply = Function.prototype.call = () => 'evil'; function f() { return [[1], 1] }",
    "ok",
  ],
  [
    "everything overwritten, wherever it can be reached",
    `function f(s) {
       const seen = new Set();
       const visit = (o) => {
         if ((typeof o !== "object" && typeof o !== "function") || o === null || seen.has(o)) return;
         seen.add(o);
         for (const k of [...Object.getOwnPropertyNames(o), ...Object.getOwnPropertySymbols(o)]) {
           const d = Object.getOwnPropertyDescriptor(o, k);
           visit(d.value); visit(d.get); visit(d.set);
         }
         visit(Object.getPrototypeOf(o));
       };
       visit(f); visit([]); visit(/x/); visit(console); visit(new Map()[Symbol.iterator]()); visit(new Error());
       for (const o of seen) for (const k of ["x", "length", "name", "value", "apply", "get", "toString"]) try { o[k] = () => { for (;;); } } catch {}
       return [1, s];
     }`,
    "ok",
    "raised",
    "timeout",
    "unencodable",
  ],
  [
    "a text that takes long to look at",
    `${"function f(s) { ".repeat(45)}${"s;".repeat(6_000)} return [1, s] ${"}".repeat(45)}`,
    "raised",
  ],
  [
    "a text that is nested too deeply to look at",
    `function f(s) { return ${"[".repeat(2_000)}${"]".repeat(2_000)} }`,
    "raised",
    "unencodable",
  ],
  [
    "a poisoned Promise",
    "Promise.prototype.then = () => { for (;;); }; globalThis.Promise = null; function f() { return [1, 1] }",
    "ok",
  ],
];

const python: readonly Attack[] = [
  ["an endless loop", "def f(s):\n    while True: pass", "timeout"],
  ["an endless loop while it loads", "while True: pass", "timeout"],
  [
    "a loop that catches everything",
    "def f(s):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    "timeout",
  ],
  ["a regular expression that explodes", "import re\ndef f(s): re.match('(a+)+$', 'a' * 40 + 'b')", "timeout"],
  ["a loop in native code", "def f(s): return sum(range(10**12)), s", "timeout"],
  [
    "a __reduce__ that loops",
    "class A:\n    def __reduce__(self):\n        while True: pass\ndef f(s): return 1, A()",
    "timeout",
  ],
  [
    "a __del__ that loops",
    "class A:\n    def __del__(self):\n        while True: pass\ndef f(s): return 1, (A(), None)[1]",
    "timeout",
  ],
  [
    "a __setstate__ that loops",
    "class A:\n    def __init__(self): self.x = 1\n    def __setstate__(self, s):\n        while True: pass\ndef f(s): return 1, A()",
    "ok",
  ],
  [
    "a str that loops",
    "class E(Exception):\n    def __str__(self):\n        while True: pass\ndef f(s): raise E",
    "timeout",
  ],
  [
    "a __reduce__ to os.system",
    "import os\nclass A:\n    def __reduce__(self): return (os.system, ('touch /tmp/pwned',))\ndef f(s): return 1, A()",
    "ok",
  ],
  [
    "a __reduce__ to exec",
    "class A:\n    def __reduce__(self): return (exec, ('import builtins, json; builtins.len = lambda x: 7; json.dumps = len',))\ndef f(s): return 1, A()",
    "ok",
  ],
  [
    "a class that names itself",
    "M = type('M', (type,), {'__name__': property(lambda s: 1/0)})\nclass E(Exception, metaclass=M): pass\ndef f(s): raise E",
    "raised",
    "crashed",
  ],
  ["lists without end", "def f(s):\n    a = []\n    while True: a.append([0] * 1000)", "outOfMemory"],
  ["strings without end", "def f(s):\n    a = 'x'\n    while True: a += a", "outOfMemory", "crashed"],
  ["bytes without end", "def f(s):\n    a = []\n    while True: a.append(bytes(1000000))", "outOfMemory"],
  [
    "caught memory errors",
    "def f(s):\n    a = []\n    while True:\n        try: a.append(bytes(1000000))\n        except MemoryError: pass",
    "timeout",
    "outOfMemory",
  ],
  ["one huge integer", "def f(s): return 1, 9 ** 9 ** 9", "timeout", "outOfMemory", "raised"],
  ["recursion", "def f(s): return f(s)", "raised"],
  [
    "recursion without Python's limit",
    "import sys\ndef f(s):\n    sys.setrecursionlimit(2**31 - 1)\n    return f(s)",
    "raised",
    "crashed",
    "outOfMemory",
  ],
  [
    "native recursion",
    "def f(s):\n    x = []\n    for i in range(300_000): x = [x]\n    return repr(x), s",
    "raised",
    "crashed",
  ],
  [
    "a deep state",
    "def f(s):\n    x = []\n    for i in range(100_000): x = [x]\n    return 1, x",
    "unencodable",
    "crashed",
  ],
  [
    "a value that doubles",
    "def f(s):\n    x = 1\n    for i in range(60): x = [x, x]\n    return x, s",
    "outputTooLarge",
    "timeout",
    "outOfMemory",
  ],
  ["a huge value", "def f(s): return 'x' * 20_000_000, s", "outputTooLarge", "outOfMemory", "timeout"],
  ["huge output", "def f(s):\n    while True: print('x' * 10_000)", "outputTooLarge", "outOfMemory", "timeout"],
  ["a generator", "def f(s):\n    yield 1", "raised"],
  ["a coroutine", "async def f(s): return 1, 2", "raised"],
  ["a generator as state", "def f(s): return 1, (x for x in [])", "unencodable"],
  [
    "asyncio",
    "import asyncio\ndef f(s):\n    asyncio.get_event_loop().call_later(0, print)\n    asyncio.run(asyncio.sleep(0))",
    "raised",
    "crashed",
  ],
  ["import js", "def f(s):\n    import js\n    return str(js.process), s", "raised"],
  [
    "import js by force",
    "import sys\nfor n in [n for n in sys.modules if sys.modules[n] is None]: del sys.modules[n]\ndef f(s):\n    import js",
    "raised",
  ],
  [
    "pyodide's core by force",
    "import sys\nsys.modules.pop('_pyodide_core')\nimport _pyodide_core as c\ndef f(s):\n    return str([getattr(c, n)(1) for n in ('create_proxy', 'to_js', 'js2py_default')]), s",
    "raised",
    "crashed",
  ],
  [
    "run_js by force",
    "import sys, importlib\nfor n in [n for n in sys.modules if sys.modules[n] is None]: del sys.modules[n]\ndef f(s):\n    from pyodide.code import run_js\n    return str(run_js('process')), s",
    "raised",
    "crashed",
  ],
  [
    "all subclasses of object",
    "def f(s):\n    for c in ().__class__.__mro__[1].__subclasses__():\n        if 'Js' in c.__name__ or 'Loader' in c.__name__:\n            for n in dir(c):\n                try: getattr(c, n)('x')\n                except Exception: pass\n    raise ValueError",
    "raised",
    "crashed",
  ],
  [
    "ctypes",
    "import sys\nfor n in ('ctypes', '_ctypes'): sys.modules.pop(n, None)\nimport ctypes\ndef f(s):\n    ctypes.memset(0, 0xff, 10_000_000)\n    return 1, s",
    "raised",
    "crashed",
  ],
  ["sys.exit", "import sys\ndef f(s): sys.exit(3)", "raised"],
  ["os._exit", "import os\ndef f(s): os._exit(3)", "crashed"],
  ["os.abort", "import os\ndef f(s): os.abort()", "crashed"],
  [
    "a signal",
    "import signal, os\ndef f(s):\n    signal.signal(signal.SIGTERM, print)\n    os.kill(os.getpid(), 9)",
    "raised",
    "crashed",
  ],
  ["faulthandler", "import faulthandler\ndef f(s): faulthandler._sigsegv()", "raised", "crashed"],
  ["a thread", "import threading\ndef f(s): threading.Thread(target=print).start()", "raised"],
  [
    "a trace function",
    "import sys\ndef f(s):\n    def t(*a): raise ValueError\n    sys.settrace(t); sys.setprofile(t)\n    return 1, s",
    "ok",
    "raised",
    "crashed",
  ],
  [
    "an audit hook",
    "import sys\ndef hook(*a): raise ValueError\ndef f(s):\n    sys.addaudithook(hook)\n    return 1, s",
    "ok",
    "raised",
  ],
  [
    "poisoned builtins",
    "import builtins\nbuiltins.len = lambda x: 7\nbuiltins.__import__ = None\nbuiltins.isinstance = None\nbuiltins.print = None\ndef f(s): return 1, s",
    "ok",
    "raised",
    "crashed",
  ],
  [
    "poisoned modules",
    "import json, pickle, re, sys, copyreg, traceback\nfor m in (json, pickle, re, copyreg, traceback):\n    for n in list(vars(m)):\n        if callable(getattr(m, n)): setattr(m, n, lambda *a, **k: 'evil')\njson.JSONEncoder.encode = lambda *a: 'evil'\nsys.modules['json'] = sys\ndef f(s): return 1, s",
    "ok",
    "raised",
    "unencodable",
  ],
  [
    "poisoned code objects",
    "import json\njson.dumps.__code__ = (lambda *a, **k: 'evil').__code__\njson.loads.__defaults__ = ()\ndef f(s): return 1, s",
    "ok",
  ],
  [
    "poisoned abstract classes",
    "import collections.abc\ncollections.abc.Mapping.register(list)\ncollections.abc.Sized.register(int)\ndef f(s): return 1, s",
    "ok",
  ],
  [
    "the bridge's own machinery",
    "import sys\nb = sys.modules['trailgym_bridge']\nfor n in list(vars(b)):\n    if not n.startswith('__'): setattr(b, n, None)\ndef f(s): return 1, s",
    "ok",
    "raised",
    "crashed",
  ],
  [
    "the bridge's frames",
    "import sys\ndef f(s):\n    frame = sys._getframe()\n    while frame:\n        frame.f_globals.clear()\n        frame = frame.f_back\n    return 1, s",
    "ok",
    "raised",
    "crashed",
  ],
  [
    "objects found by the collector",
    "import gc\ndef f(s):\n    for o in gc.get_objects():\n        try:\n            if type(o) is dict: o.clear()\n            elif type(o) is list: del o[:]\n        except BaseException: pass\n    return 1, s",
    "ok",
    "raised",
    "crashed",
    "timeout",
  ],
];

const innocents: Record<Language, { program: string[]; value: unknown }> = {
  javascript: {
    program: [
      `function g(state, by) {
         state ??= { list: [] };
         state.list.push(JSON.stringify({ by, up: "a".toUpperCase(), date: new Date(0), m: [3, 1, 2].sort() }));
         return [state.list.join("|") + typeof globalThis.status + [].concat([1]).length, state];
       }`,
    ],
    value: '{"by":1,"up":"A","date":"1970-01-01T00:00:00.000Z","m":[1,2,3]}undefined1',
  },
  python: {
    program: [
      `import json, re, random, collections.abc, sys
def g(state, by):
    state = state or []
    state.append(json.dumps({"by": by, "len": len("abc"), "re": re.sub("a", "b", "aa"), "random": random.random()}))
    return [state, isinstance([], collections.abc.Mapping), isinstance(1, collections.abc.Sized), sys.gettrace() is None, sys.getrecursionlimit(), json.loads("[1]")], state
`,
    ],
    value: [['{"by": 1, "len": 3, "re": "bb", "random": 0.8444218515250481}'], false, false, true, 1000, [1]],
  },
};

describe.each([
  ["javascript", javascript],
  ["python", python],
] as const)("a hostile %s program", (language, attacks) => {
  // One process, so that the innocent gets the one that the attack has been in.
  let interpreters: Interpreters;
  const innocent = () =>
    interpreters.interpreter(language).call({ program: innocents[language].program, entry: "g", args: [1] }, signal);
  beforeAll(async () => {
    interpreters = createInterpreters({ processes: 1 });
    expect((await ok(innocent())).value).toEqual(innocents[language].value);
  }, 60_000);
  afterAll(async () => {
    const pids = interpreters.pids(language);
    await interpreters[Symbol.asyncDispose]();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it.each(attacks)(
    "is contained: %s",
    async (_name, source, ...statuses) => {
      // Generous to those that must end by themselves: the machine may be busy.
      const timeMs = statuses.includes("timeout") ? 300 : 5_000;
      const hostile = (state?: Uint8Array) =>
        interpreters
          .interpreter(language)
          .call({ program: [source], entry: "f", limits: { ...limits, timeMs }, ...(state && { state }) }, signal);
      const outcome = await hostile();
      expect(statuses, JSON.stringify(outcome).slice(0, 300)).toContain(outcome.status);
      expect(JSON.stringify(outcome)).not.toMatch(/\/work|node_modules|"object","node:/);
      // What a pickle does when it is loaded, it does in the next call.
      if (outcome.status === "ok") await hostile(outcome.state);
      // By its third call a program may have a context that its calls share, and attack that.
      for (let i = 0; i < 2 && language === "javascript"; i++) expect(statuses).toContain((await hostile()).status);
      expect((await ok(innocent())).value).toEqual(innocents[language].value);
    },
    60_000,
  );
});

describe.each([
  ["javascript", "function f() { for (;;); }", "function g(s, n) { return [n + 1, s] }"],
  ["python", "def f(s):\n    sum(range(10**12))", "def g(s, n): return n + 1, s"],
] as const)("while a hostile %s program burns one process", (language, source, quick) => {
  it("the other one keeps its pace", async () => {
    await using interpreters = createInterpreters({ processes: 2 });
    const interpreter = interpreters.interpreter(language);
    const call = (n: number) => interpreter.call({ program: [quick], entry: "g", args: [n] }, signal);
    const burn = (timeMs: number) => interpreter.call({ program: [source], entry: "f", limits: { timeMs } }, signal);
    // Both processes are up when two calls have run at once.
    while (interpreters.pids(language).length < 2) await Promise.all([call(1), call(1)]);
    await Promise.all([call(1), call(1), call(1)]);
    const burning = burn(1_500);
    const times: number[] = [];
    for (let i = 0; i < 50; i++) {
      const start = performance.now();
      expect((await ok(call(i))).value).toBe(i + 1);
      times.push(performance.now() - start);
    }
    // Shared cores and a cold start aside: the median does not wait for the one that burns.
    expect(times.sort((a, b) => a - b)[25]).toBeLessThan(30);
    expect(await burning).toEqual({ status: "timeout" });
  }, 60_000);
});

describe("a server that is killed", () => {
  it("takes its interpreter processes along, even from endless loops", async () => {
    const file = fileURLToPath(new URL("../../../server/sandboxes/interpreters.ts", import.meta.url));
    const script = `
      import { createInterpreters } from ${JSON.stringify(file)};
      const interpreters = createInterpreters({ processes: 1 });
      const signal = new AbortController().signal;
      const loops = { javascript: ["function f() { for (;;); }", "function f() { return [1, 1] }"], python: ["def f(s): sum(range(10**12))", "def f(s): return 1, 1"] };
      for (const [language, [loop, fine]] of Object.entries(loops)) {
        await interpreters.interpreter(language).call({ program: [fine], entry: "f" }, signal);
        void interpreters.interpreter(language).call({ program: [loop], entry: "f", limits: { timeMs: 1e8 } }, signal);
      }
      console.log(JSON.stringify([...interpreters.pids("javascript"), ...interpreters.pids("python")]));`;
    const server = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface(server.stdout), "line")) as [string];
    const pids = JSON.parse(line) as number[];
    expect(pids.length).toBe(2);
    expect(pids.every(isAlive)).toBe(true);
    server.kill("SIGKILL");
    await expect.poll(() => pids.filter(isAlive), { timeout: 5_000 }).toEqual([]);
  }, 60_000);
});
