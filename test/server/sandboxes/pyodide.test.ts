/** Does Python in Pyodide keep the interpreter's contract, with its own kinds of state? */

import { afterAll, describe, expect, it } from "vitest";
import { createInterpreters } from "../../../server/sandboxes/interpreters.ts";
import { interpreterContract, ok } from "../../contracts/interpreter.ts";

interpreterContract({
  language: "python",
  errorType: "ValueError",
  brokenText: "def count(:",
  texts: [
    `calls = 0
class Counter:
    calls = 0
def make():
    calls = 0
    def next():
        nonlocal calls
        calls += 1
        return calls
    return next
next_call = make()
`,
    `import os, random, time, uuid, datetime, secrets
def count(state, by):
    state = state or {"n": 0}
    state["n"] += by
    return [state["n"], state]
def countThenFail(state, by):
    count(state, by)
    raise ValueError("on purpose")
def hidden(state, place, kept=[]):
    global calls
    if place == "global":
        calls += 1
        return calls, state
    if place == "class":
        Counter.calls += 1
        return Counter.calls, state
    if place == "closure":
        return next_call(), state
    kept.append(1)
    return len(kept), state
def twice(state):
    if state is None:
        both = []
        state = {"a": both, "b": both}
    else:
        state["a"].append(1)
    return [len(state["b"]), state]
def say(state, text):
    print(text)
    return None, state
def loop(state):
    while True: pass
def eat(state):
    everything = []
    while True: everything.append([0] * 1000)
def chatter(state):
    while True: print("x" * 1000)
def big(state, n): return "x" * n, None
def grow(state, n): return None, "x" * n
def echo(state, x): return x, state
def single(state): return 1
def func(state): return None, {"f": lambda: 1}
def chance(state):
    return [random.random(), random.gauss(0, 1), time.time(), time.monotonic(), str(uuid.uuid4()), secrets.token_hex(),
            os.urandom(8).hex(), str(datetime.datetime.now()), hash("x"), os.getpid(), dict(os.environ), list(os.stat("/lib/python314.zip"))], state
def work(state):
    n = 0
    for i in range(800_000): n += i % 7
    return n, state
`,
  ],
});

describe("a Python program", () => {
  const interpreters = createInterpreters({ processes: 1 });
  afterAll(() => interpreters[Symbol.asyncDispose]());
  const signal = new AbortController().signal;
  const call = (source: string, args: unknown[] = [], state?: Uint8Array, modules?: Record<string, string>) =>
    interpreters.interpreter("python").call(
      {
        program: [source],
        entry: "f",
        args,
        limits: { timeMs: 10_000 },
        ...(state && { state }),
        ...(modules && { modules }),
      },
      signal,
    );

  it.each([
    [
      "a setting of a module",
      "import calendar",
      "calendar.setfirstweekday((calendar.firstweekday() + 1) % 7); return calendar.firstweekday()",
    ],
    [
      "the decimal context",
      "import decimal\ndecimal.getcontext()",
      "c = decimal.getcontext(); c.prec += 1; return c.prec",
    ],
    ["a function's attribute", "def g(): pass\ng.n = 0", "g.n += 1; return g.n"],
    [
      "an object that hides a field from pickle",
      "class Hidden:\n    n = 0\n    def __reduce__(self): return (Hidden, ())\nh = Hidden()",
      "h.n += 1; return h.n",
    ],
    ["a namespace", "import types\nns = types.SimpleNamespace(n=0)", "ns.n += 1; return ns.n"],
    ["a class in a class in a class", "class A:\n  class B:\n    class C: n = 0", "A.B.C.n += 1; return A.B.C.n"],
  ])("keeps nothing in %s for the next call", async (_what, top, body) => {
    const source = `${top}\ndef f(state):\n    def run():\n        ${body}\n    return run(), state\n`;
    const values = [];
    for (let i = 0; i < 3; i++) values.push(((await call(source)) as { value: unknown }).value);
    expect(values[0]).toBeTypeOf("number");
    expect(values).toEqual([values[0], values[0], values[0]]);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("goes on when somebody sends its process %s", async (signal) => {
    const source = "def f(state):\n    n = 0\n    for i in range(3_000_000): n += i % 7\n    return n, state\n";
    const running = call(source);
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const pid of interpreters.pids("python")) process.kill(pid, signal);
    expect(await running).toMatchObject({ status: "ok" });
  });

  it("that takes over the encoder of its own replies ends its process, and nobody else's call", async () => {
    const evil = `
import json
def f(state):
    json.JSONEncoder.iterencode = lambda self, o, _one_shot=False: ["this is not JSON"]
    return None, state
`;
    expect(await call(evil)).not.toMatchObject({ status: "ok" });
    expect(await call("def f(state): return 7, state")).toMatchObject({ status: "ok", value: 7 });
  });

  it("keeps objects of its classes, recursion and identity in its state", async () => {
    const source = `
import collections, dataclasses, enum
class Color(enum.Enum):
    RED = 1
@dataclasses.dataclass
class Cart:
    items: list
    owner: object = None
    color: Color = Color.RED
class Outer:
    class Inner: pass
def f(state):
    if state is None:
        cart = Cart([1], collections.deque([2], maxlen=3))
        cart.owner.append(cart)
        return None, {"cart": cart, "same": cart, "inner": Outer.Inner(), "set": {1, 2}, "n": 2**70}
    cart = state["cart"]
    return [cart is state["same"], cart.owner[1] is cart, cart.color is Color.RED, isinstance(state["inner"], Outer.Inner), str(state["n"])], state
`;
    const { state } = await ok(call(source));
    const { value } = await ok(call(source, [], state));
    expect(value).toEqual([true, true, true, true, String(2n ** 70n)]);
  }, 60_000);

  it("imports the modules of its call, and another program does not", async () => {
    const source =
      "import gymnasium, gymnasium.spaces as spaces\nclass E(gymnasium.Env): pass\ndef f(s): return [E.x, spaces.y], E()";
    const modules = { gymnasium: "class Env:\n    x = 1\n", "gymnasium.spaces": "y = 2" };
    const { value, state } = await ok(call(source, [], undefined, modules));
    expect(value).toEqual([1, 2]);
    await ok(call(source, [], state, modules));
    expect(await call("def f(s):\n    import gymnasium", [])).toMatchObject({
      status: "raised",
      error: { type: "ModuleNotFoundError" },
    });
  });

  it("refuses numbers in a value that JSON would round or cannot hold", async () => {
    expect(await call("def f(s): return {'a': [2**60]}, s")).toMatchObject({
      status: "unencodable",
      message: /value\['a'\]\[0\]/,
    });
    expect(await call("def f(s): return float('nan'), s")).toMatchObject({ status: "unencodable" });
    expect(await call("def f(s): return {'a': {1, 2}}, s")).toMatchObject({
      status: "unencodable",
      message: /dict item 'a'/,
    });
  });

  it("reaches no file, socket, process or thread, and learns nothing of the host", async () => {
    for (const body of [
      "open('/etc/passwd')",
      "open('/dev/urandom', 'rb').read(1)",
      "open('/dev/null')",
      "open('/tmp/x', 'w')",
      "open('/lib/python314.zip', 'r+b')",
      "os.listdir('/')",
      "os.mkdir('/tmp/y')",
      "os.chdir('/lib')",
      "pathlib.Path('x').write_text('x')",
      "os.remove('/lib/python314.zip')",
      "os.rename('/lib/python314.zip', '/x')",
      "socket.create_connection(('127.0.0.1', 80))",
      "subprocess.run(['ls'])",
      "if os.system('ls') != 0: raise OSError",
      "threading.Thread(target=print).start()",
      "os.write(3, b'x')",
    ]) {
      const source = `import os, socket, subprocess, threading, pathlib\ndef f(s):\n    ${body}\n    return 1, s`;
      expect([body, (await call(source)).status]).toEqual([body, "raised"]);
    }
    const source =
      "import os, sys\ndef f(s): return [dict(os.environ), sys.argv, os.getpid(), os.stat('/lib/python314.zip').st_mtime], s";
    expect((await ok(call(source))).value).toEqual([{}, ["program"], 42, Date.UTC(2024, 0) / 1_000]);
  });

  it("draws from random as if each call were the first, and from its own seed as seeded", async () => {
    const source =
      "import random\ndef f(s, seed=None):\n    if seed: random.seed(seed)\n    return [random.random(), random.gauss(0, 1)], s";
    const plain = (await ok(call(source))).value;
    const seeded = (await ok(call(source, [42]))).value;
    expect(seeded).not.toEqual(plain);
    expect((await ok(call(source))).value).toEqual(plain);
    expect((await ok(call(source, [42]))).value).toEqual(seeded);
  });

  it.each([
    ["a list in a global", "kept = []", "kept.append(1); n = len(kept)"],
    ["a dict in a class", "class A:\n    kept = {}", "A.kept[len(A.kept)] = 1; n = len(A.kept)"],
    ["an attribute of an object", "class A: n = 0\na = A()", "a.n += 1; n = a.n"],
    ["a cache", "import functools\n@functools.lru_cache\ndef g(): return 1", "n = 1 + g.cache_info().currsize; g()"],
    [
      "an attribute of a class of the standard library",
      "import collections",
      "C = collections.Counter; n = C.n = getattr(C, 'n', 0) + 1",
    ],
    ["a module", "import json", "n = json.n = getattr(json, 'n', 0) + 1"],
    [
      "code",
      "import json\ndef g(*a): return 'evil'",
      "n = 1 if json.dumps(1) == '1' else 2; json.dumps.__code__ = g.__code__",
    ],
    [
      "an object in a cycle",
      "import gc\nclass A: pass",
      "n = 1 + sum(type(o) is A for o in gc.get_objects()); a = A(); a.a = a",
    ],
    ["the recursion limit", "import sys", "n = sys.getrecursionlimit() - 999; sys.setrecursionlimit(5000)"],
    [
      "an abstract class",
      "import collections.abc as abc",
      "n = 1 + issubclass(int, abc.Sized); abc.Sized.register(int)",
    ],
    ["an open file", "import os", "n = os.open('/lib/python314.zip', 0)"],
  ])("forgets what a call kept in %s", async (_place, before, body) => {
    const source = `${before}\ndef f(s):\n    ${body}\n    return n, s`;
    const first = await ok(call(source));
    for (let i = 0; i < 3; i++) expect((await ok(call(source))).value).toBe(first.value);
  });

  it("meets its memory limit without losing the process", async () => {
    await ok(call("def f(s): return 1, s"));
    const before = interpreters.pids("python");
    const program = ["def f(s): return 1, [0] * 20_000_000"];
    const limits = { memoryMb: 16 };
    const outcome = await interpreters.interpreter("python").call({ program, entry: "f", limits }, signal);
    expect(outcome).toEqual({ status: "outOfMemory" });
    expect(interpreters.pids("python")).toEqual(before);
  });

  it("keeps its pace when its functions import what nothing else does", async () => {
    const source = "def f(s):\n    import xml.etree.ElementTree, colorsys\n    return 1, s";
    for (let i = 0; i < 3; i++) await ok(call(source));
    const start = performance.now();
    for (let i = 0; i < 10; i++) await ok(call(source));
    expect((performance.now() - start) / 10).toBeLessThan(20);
  });
});
