/**
 * Can anything that one call does reach the next? All of CPython is in its memory, so the answer is there: after each call,
 * however it ends, the memory must be byte for byte what it was.
 */

import { beforeAll, describe, expect, it } from "vitest";
import { MARKS } from "../../../../server/sandboxes/pyodide/marks.ts";
import { Booted, type Call } from "./boot.ts";
import { leaks, programOf } from "./leaking.ts";

interface Bond {
  name: string;
  kind: string;
}
interface Namespace {
  Module: { imports(module: object): Bond[]; exports(module: object): Bond[] };
  Instance: new (module: object, imports?: object) => object;
  instantiate: (bytes: unknown, imports?: object) => Promise<{ module?: object }>;
}
const wasm = (globalThis as unknown as { WebAssembly: Namespace }).WebAssembly;

let python: Booted;
/** What WebAssembly was started while Python booted. */
const started: object[] = [];

beforeAll(async () => {
  const { Instance, instantiate } = wasm;
  wasm.Instance = new Proxy(Instance, {
    construct(target, [module, imports]: [object, object?]) {
      started.push(module);
      return new target(module, imports);
    },
  });
  wasm.instantiate = async (bytes, imports) => {
    const result = await instantiate(bytes, imports);
    started.push(result.module ?? (bytes as object));
    return result;
  };
  python = await Booted.start();
  Object.assign(wasm, { Instance, instantiate });
}, 120_000);

describe("what CPython consists of", () => {
  it("has marks wherever it has a memory", () => {
    const names = (bonds: Bond[]) => bonds.filter(({ kind }) => kind === "memory").map(({ name }) => name);
    const memories = started
      .map((module) => names([...wasm.Module.imports(module), ...wasm.Module.exports(module)]))
      .filter((list) => list.length > 0);
    // CPython, and its trampoline.
    expect(memories).toEqual([
      ["memory", MARKS],
      ["memory", MARKS],
    ]);
  });
});

describe("a call leaves nothing", () => {
  it.each(leaks)("in $name", (leak) => {
    const call = { program: [programOf(leak)] };
    const first = python.call(call);
    expect(JSON.parse(first.head), first.head).toMatchObject({ status: "ok" });
    const [once, twice] = JSON.parse(first.value) as unknown[];
    expect(twice, "it does not leak inside the call either").not.toEqual(once);
    const memory = python.memory();
    expect(python.call(call)).toEqual(first);
    python.expectMemory(memory);
  });

  it("in what a state does when it is loaded and when it is saved", () => {
    const program = [
      `
log = []
class A:
    def __getstate__(self):
        log.append("saved")
        return {"n": 1}
    def __setstate__(self, state):
        log.append("loaded")
    def __reduce_ex__(self, protocol):
        log.append("reduced")
        return object.__reduce_ex__(self, protocol)
def f(s): return list(log), A()
`,
    ];
    const { state } = python.call({ program });
    const second = python.call({ program, state });
    expect(second.value).toBe('["loaded"]');
    const memory = python.memory();
    expect(python.call({ program, state })).toEqual(second);
    python.expectMemory(memory);
    expect(python.call({ program }).value).toBe("[]");
  });

  const ends: [name: string, line: string, status: string, limits?: Call["limits"]][] = [
    ["raises", "raise ValueError('on purpose')", "raised"],
    ["exits", "raise SystemExit", "raised"],
    ["is out of time", "while True: pass", "timeout", { timeMs: 100 }],
    ["is out of time in a finaliser", "A(); return 1, s", "timeout", { timeMs: 100 }],
    ["is out of time while its state is saved", "return 1, A()", "timeout", { timeMs: 100 }],
    ["is out of memory", "while True: kept.append(bytes(1_000_000))", "outOfMemory"],
    ["is out of memory in small pieces", "while True: kept.append([0] * 100)", "outOfMemory"],
    ["recurses", "return f(s)", "raised"],
    ["recurses in native code", "x = []\n    for i in range(300_000): x = [x]\n    return repr(x), s", "crashed"],
    ["returns too much", "return 'x' * 200_000, s", "outputTooLarge"],
    ["prints too much", "print('x' * 200_000); return 1, s", "outputTooLarge"],
    ["has too large a state", "return 1, 'x' * 200_000", "stateTooLarge"],
    ["has a state that cannot be saved", "return 1, (x for x in [])", "unencodable"],
    ["has a value that is no JSON", "return {1, 2}, s", "unencodable"],
    ["returns no pair", "return 1", "raised"],
    ["calls on its host", "import os\n    os._exit(1)", "crashed"],
    [
      "writes all over the memory",
      "import sys\n    for n in ('ctypes', '_ctypes'): sys.modules.pop(n, None)\n    import ctypes\n    ctypes.memset(0, 0xff, 10_000_000)",
      "crashed",
    ],
    [
      "empties all dicts and lists",
      "import gc\n    for o in gc.get_objects():\n        if type(o) in (dict, list): o.clear()",
      "crashed",
    ],
    [
      "reads files, dates and entropy",
      "import os, time, datetime\n    n = os.open('/lib/python314.zip', 0)\n    os.read(n, 50_000), os.lseek(n, 5, 0), os.fstat(n), os.stat('/lib/python314.zip'), os.getcwd(), os.urandom(9_000)\n    time.localtime(), time.mktime(time.gmtime()), datetime.datetime.now(), time.strftime('%c')\n    return 1, s",
      "ok",
    ],
  ];

  it.each(ends)("when it %s", (_name, line, status, limits = {}) => {
    const source = `n = 0\nkept = []\nclass A:\n    def __del__(self):\n        while True: pass\n    __reduce__ = __del__\ndef f(s, end):\n    global n\n    n += 1\n    if not end: return n, s\n    kept.append(bytearray(100_000))\n    ${line}\n`;
    const call = { program: [source], limits };
    const fine = python.call({ ...call, args: [0] });
    expect(fine.value).toBe("1");
    const memory = python.memory();
    expect(JSON.parse(python.call({ ...call, args: [1] }).head)).toMatchObject({ status });
    python.expectMemory(memory);
    expect(python.call({ ...call, args: [0] })).toEqual(fine);
  });

  it("when it ends while it loads", () => {
    const fine = { program: ["def f(s): return 7, s"] };
    const first = python.call(fine);
    const memory = python.memory();
    for (const [source, limits] of [
      ["import builtins\nbuiltins.len = None\nwhile True: pass", { timeMs: 100 }],
      ["import builtins\nbuiltins.len = None\nraise ValueError", {}],
      ["import json\njson.dumps = None\nimport os\nos._exit(1)", {}],
      ["def f(:", {}],
    ] as const) {
      expect(python.call({ program: [source], limits }).value).toBe("");
      expect(python.call(fine)).toEqual(first);
      python.expectMemory(memory, `the memory after ${JSON.stringify(source)}`);
    }
  });
});

describe("a program", () => {
  it("is what it was after more others than the process keeps", () => {
    const programs = Array.from({ length: 30 }, (_, i) => ({
      program: [
        `import sys\nsys.mine = ${i}\nkept = [${i}] * ${i * 300}\ndef f(s):\n    kept.append(1)\n    return [sys.mine, len(kept)], s`,
      ],
    }));
    const memories = programs.slice(0, 6).map((call) => {
      python.call(call);
      return python.memory();
    });
    for (let round = 0; round < 2; round++) {
      programs.forEach((call, i) => {
        expect(python.call(call).value).toBe(`[${i}, ${i * 300 + 1}]`);
        if (memories[i]) python.expectMemory(memories[i], `the memory with program ${i}`);
      });
    }
  });
});
