/** Where a Python program can keep something from one call for the next: as many ways as could be found. */

export interface Leak {
  name: string;
  /** Runs when the program is loaded. */
  top: string;
  /** Body of a function: returns something else each time it is called, as long as what it keeps is kept. */
  body: string;
}

const leak = (name: string, top: string, body: string): Leak => ({ name, top, body });

export const leaks: readonly Leak[] = [
  // The program's own variables.
  leak("a global", "n = 0", "global n\nn += 1\nreturn n"),
  leak("a global through globals()", "n = 0", "globals()['n'] += 1\nreturn n"),
  leak("a global through exec", "n = 0", "exec('n += 1', globals())\nreturn n"),
  leak("a global through sys.modules", "import sys\nn = 0", "m = sys.modules['program']\nm.n += 1\nreturn n"),
  leak("a name that is new", "", "global m\nm = globals().get('m', 0) + 1\nreturn m"),
  leak("a name that is gone", "gone = 1", "r = 'gone' in globals()\nglobals().pop('gone', 0)\nreturn r"),
  leak(
    "a closure",
    "def mk():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g\ng = mk()",
    "return g()",
  ),
  leak(
    "a list in a closure",
    "def mk(kept):\n    return lambda: kept.append(1) or len(kept)\ng = mk([])",
    "return g()",
  ),
  leak(
    "a cell, from outside",
    "def mk():\n    n = 0\n    return lambda: n\ng = mk()",
    "g.__closure__[0].cell_contents += 1\nreturn g()",
  ),
  // Containers.
  leak("a list", "kept = []", "kept.append(1)\nreturn len(kept)"),
  leak("a dict", "kept = {}", "kept[len(kept)] = 1\nreturn len(kept)"),
  leak("a set", "kept = set()", "kept.add(len(kept))\nreturn len(kept)"),
  leak("a list in a tuple in a dict", "kept = {'a': (1, [])}", "kept['a'][1].append(1)\nreturn len(kept['a'][1])"),
  leak("a deque", "import collections\nkept = collections.deque([1, 2, 3])", "kept.rotate()\nreturn list(kept)"),
  leak(
    "a default dict that is read",
    "import collections\nkept = collections.defaultdict(int)",
    "r = len(kept)\nkept[r]\nreturn r",
  ),
  leak(
    "the order of a dict",
    "import collections\nkept = collections.OrderedDict(a=1, b=2)",
    "kept.move_to_end(next(iter(kept)))\nreturn list(kept)",
  ),
  leak("a heap", "import heapq\nkept = [5, 3, 9]\nheapq.heapify(kept)", "return heapq.heapreplace(kept, kept[0] + 10)"),
  leak("a bytearray", "kept = bytearray(1)", "kept[0] += 1\nreturn kept[0]"),
  leak("an array", "import array\nkept = array.array('i', [0])", "kept[0] += 1\nreturn kept[0]"),
  leak("a memory view", "kept = memoryview(bytearray(8))", "kept[3] += 1\nreturn kept[3]"),
  leak("a text buffer's position", "import io\nkept = io.StringIO('abcdef')", "return kept.read(1)"),
  leak("a chain map", "import collections\nkept = collections.ChainMap({'n': 0})", "kept['n'] += 1\nreturn kept['n']"),
  leak("a queue", "import queue\nkept = queue.Queue()", "kept.put(1)\nreturn kept.qsize()"),
  // What is half done.
  leak("a generator", "kept = (i for i in range(100))", "return next(kept)"),
  leak(
    "a generator that is sent to",
    "def gen():\n    n = 0\n    while True: n += (yield n)\nkept = gen()\nnext(kept)",
    "return kept.send(2)",
  ),
  leak("an iterator", "kept = iter(range(100))", "return next(kept)"),
  leak("a count", "import itertools\nkept = itertools.count()", "return next(kept)"),
  leak("a cycle", "import itertools\nkept = itertools.cycle('abc')", "return next(kept)"),
  leak("a tee", "import itertools\nkept, other = itertools.tee(range(100))", "next(other)\nreturn next(kept)"),
  leak(
    "a coroutine",
    "import types\n@types.coroutine\ndef wait(n): yield n\nasync def run():\n    for i in range(100): await wait(i)\nkept = run()",
    "return kept.send(None)",
  ),
  leak(
    "a context manager that is open",
    "import contextlib\nlog = []\n@contextlib.contextmanager\ndef cm():\n    log.append(1)\n    yield\nkept = []",
    "c = cm()\nc.__enter__()\nkept.append(c)\nreturn len(log)",
  ),
  leak(
    "a generator that ends later",
    "log = []\ndef gen():\n    try: yield\n    finally: log.append(1)\nkept = []",
    "kept[:] = [gen()]\nnext(kept[0])\nreturn len(log)",
  ),
  leak("a finaliser", "log = []\nclass A:\n    def __del__(self): log.append(1)", "A()\nreturn len(log)"),
  leak(
    "a weak reference's callback",
    "import weakref\nlog = []\nclass A: pass",
    "a = A()\nr = weakref.ref(a, log.append)\nlog.append(r)\ndel a\nreturn len(log)",
  ),
  leak(
    "a cycle of garbage",
    "import gc\nclass A: pass",
    "r = sum(type(o) is A for o in gc.get_objects())\na = A()\na.a = a\nreturn r",
  ),
  // Functions.
  leak("a function's attribute", "def g(): pass\ng.n = 0", "g.n += 1\nreturn g.n"),
  leak("a default argument", "def g(kept=[]):\n    kept.append(1)\n    return len(kept)", "return g()"),
  leak("a default by keyword", "def g(*, kept={}):\n    kept[len(kept)] = 1\n    return len(kept)", "return g()"),
  leak("a function's defaults", "def g(n=0): return n", "g.__defaults__ = (g() + 1,)\nreturn g()"),
  leak("a function's keyword defaults", "def g(*, n=0): return n", "g.__kwdefaults__ = {'n': g() + 1}\nreturn g()"),
  leak("a function's code", "def g(): return 1\ndef h(): return 2", "r = g()\ng.__code__ = h.__code__\nreturn r"),
  leak(
    "a function's annotations",
    "def g(x: int): pass",
    "g.__annotations__[str(len(g.__annotations__))] = 1\nreturn len(g.__annotations__)",
  ),
  leak("a function's docstring", "def g(): ''", "g.__doc__ += 'x'\nreturn g.__doc__"),
  leak(
    "a cache",
    "import functools\n@functools.lru_cache\ndef g(n): return n",
    "r = g.cache_info().currsize\ng(r)\nreturn r",
  ),
  leak(
    "a cache of a method",
    "import functools\nclass A:\n    @functools.cache\n    def g(self): return 1\na = A()",
    "r = A.g.cache_info().hits\na.g(), a.g()\nreturn r",
  ),
  leak(
    "a cached property",
    "import functools\nclass A:\n    @functools.cached_property\n    def g(self): return 1\na = A()",
    "r = 'g' in a.__dict__\na.g\nreturn r",
  ),
  leak(
    "a generic function's register",
    "import functools\n@functools.singledispatch\ndef g(x): return 1",
    "r = g(1)\ng.register(int, lambda x: 2)\nreturn r",
  ),
  leak(
    "a partial function",
    "import functools\ng = functools.partial(lambda kept: kept.append(1) or len(kept), [])",
    "return g()",
  ),
  // Classes.
  leak("a class's attribute", "class A: n = 0", "A.n += 1\nreturn A.n"),
  leak("a list in a class", "class A: kept = []", "A.kept.append(1)\nreturn len(A.kept)"),
  leak("a class in a class in a class", "class A:\n  class B:\n    class C: n = 0", "A.B.C.n += 1\nreturn A.B.C.n"),
  leak(
    "self's class",
    "class A:\n    n = 0\n    def go(self):\n        type(self).n += 1\n        return self.n",
    "return A().go()",
  ),
  leak("a method", "class A:\n    def g(self): return 1", "r = A().g()\nA.g = lambda self: 2\nreturn r"),
  leak("a class's bases", "class A: n = 1\nclass B: n = 2\nclass C(A): pass", "r = C.n\nC.__bases__ = (B,)\nreturn r"),
  leak(
    "a metaclass",
    "class M(type):\n    made = 0\n    def __call__(cls):\n        M.made += 1\n        return M.made\nclass A(metaclass=M): pass",
    "return A()",
  ),
  leak("subclasses", "class A: pass\nkept = []", "kept.append(type('B', (A,), {}))\nreturn len(A.__subclasses__())"),
  leak(
    "a register of subclasses",
    "names = []\nclass A:\n    def __init_subclass__(cls): names.append(cls)",
    "type('B', (A,), {})\nreturn len(names)",
  ),
  leak(
    "a descriptor",
    "class D:\n    n = 0\n    def __get__(self, *_):\n        self.n += 1\n        return self.n\nclass A: x = D()",
    "return A().x",
  ),
  leak("an enumeration", "import enum\nclass E(enum.Enum): A = 1\nE.A.n = 0", "E.A.n += 1\nreturn E.A.n"),
  leak(
    "an abstract class's register",
    "import collections.abc as abc",
    "r = issubclass(int, abc.Sized)\nabc.Sized.register(int)\nreturn r",
  ),
  // Objects.
  leak("an object's attribute", "class A: n = 0\na = A()", "a.n += 1\nreturn a.n"),
  leak("an object's slot", "class A: __slots__ = 'n'\na = A()\na.n = 0", "a.n += 1\nreturn a.n"),
  leak("an object's class", "class A: n = 1\nclass B: n = 2\na = A()", "r = a.n\na.__class__ = B\nreturn r"),
  leak(
    "a frozen object",
    "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass A: n: int\na = A(0)",
    "object.__setattr__(a, 'n', a.n + 1)\nreturn a.n",
  ),
  leak("a namespace", "import types\nns = types.SimpleNamespace(n=0)", "ns.n += 1\nreturn ns.n"),
  leak(
    "an object that hides a field from pickle",
    "class A:\n    n = 0\n    def __reduce__(self): return (A, ())\na = A()",
    "a.n += 1\nreturn a.n",
  ),
  leak(
    "an object that is equal to all others",
    "class A:\n    n = 0\n    def __eq__(self, other): return True\n    def __getstate__(self): return {}\na = A()",
    "a.n += 1\nreturn a.n",
  ),
  leak(
    "an exception's traceback",
    "E = ValueError()",
    "try: raise E\nexcept ValueError: pass\nn, t = 0, E.__traceback__\nwhile t: n, t = n + 1, t.tb_next\nreturn n",
  ),
  leak("an exception's notes", "E = ValueError()", "E.add_note('x')\nreturn len(E.__notes__)"),
  leak(
    "an exception's context",
    "E, F = ValueError(), KeyError()",
    "r = str(E.__context__)\ntry:\n    try: raise F\n    except KeyError: raise E\nexcept ValueError: pass\nreturn r",
  ),
  leak(
    "a context variable",
    "import contextvars\nv = contextvars.ContextVar('v', default=0)",
    "v.set(v.get() + 1)\nreturn v.get()",
  ),
  leak("a thread's own storage", "import threading\nt = threading.local()\nt.n = 0", "t.n += 1\nreturn t.n"),
  leak("a lock", "import threading\nlock = threading.Lock()", "return lock.acquire(blocking=False)"),
  leak(
    "a weak dictionary",
    "import weakref\nkept, seen = [], weakref.WeakSet()\nclass A: pass",
    "kept.append(A())\nseen.add(kept[-1])\nreturn len(seen)",
  ),
  // Chance.
  leak("random's state", "import random", "return random.random()"),
  leak("random's seed", "import random\nrandom.seed(1)", "random.seed(random.random())\nreturn random.getrandbits(32)"),
  leak("random's other Gaussian", "import random", "return random.gauss(0, 1)"),
  leak("a generator of one's own", "import random\nr = random.Random(5)", "return r.random()"),
  leak("entropy", "import os", "return os.urandom(8).hex()"),
  leak("the next unique id", "import uuid", "return str(uuid.uuid1())"),
  // Settings of the standard library.
  leak(
    "the decimal context",
    "import decimal\ndecimal.getcontext()",
    "c = decimal.getcontext()\nc.prec += 1\nreturn c.prec",
  ),
  leak(
    "the decimal context's flags",
    "import decimal",
    "c = decimal.getcontext()\nr = c.flags[decimal.Inexact]\ndecimal.Decimal(1) / 3\nreturn r",
  ),
  leak(
    "another decimal context",
    "import decimal",
    "c = decimal.getcontext().copy()\nc.prec += 1\ndecimal.setcontext(c)\nreturn c.prec",
  ),
  leak(
    "the first day of the week",
    "import calendar",
    "calendar.setfirstweekday((calendar.firstweekday() + 1) % 7)\nreturn calendar.firstweekday()",
  ),
  leak(
    "filters of warnings",
    "import warnings",
    "warnings.filterwarnings('ignore', message=str(len(warnings.filters)))\nreturn len(warnings.filters)",
  ),
  leak(
    "warnings that were shown",
    "import warnings",
    "r = '__warningregistry__' in globals()\nwarnings.warn('x')\nreturn r",
  ),
  leak(
    "a logger",
    "import logging",
    "log = logging.getLogger('x')\nlog.addHandler(logging.NullHandler())\nreturn len(log.handlers)",
  ),
  leak("compiled patterns", "import re", "r = len(re._cache)\nre.compile('x' * (r + 1))\nreturn r"),
  leak(
    "a way to pickle",
    "import copyreg",
    "r = len(copyreg.dispatch_table)\ncopyreg.pickle(type('A', (), {}), repr)\nreturn r",
  ),
  leak(
    "an error handler",
    "import codecs",
    "try: r = 'a\\xff'.encode('ascii', 'mine')\nexcept LookupError: r = b''\ncodecs.register_error('mine', lambda e: ('', e.end))\nreturn r.decode()",
  ),
  leak("a CSV dialect", "import csv", "r = len(csv.list_dialects())\ncsv.register_dialect(str(r))\nreturn r"),
  leak(
    "lines of sources",
    "import linecache",
    "linecache.cache[str(len(linecache.cache))] = (1, None, [], '')\nreturn len(linecache.cache)",
  ),
  leak("what is done at exit", "import atexit", "atexit.register(print)\nreturn atexit._ncallbacks()"),
  leak(
    "the environment's variables",
    "import os",
    "os.environ['n'] = str(int(os.environ.get('n', 0)) + 1)\nreturn os.environ['n']",
  ),
  leak(
    "the size of integers' texts",
    "import sys",
    "n = sys.get_int_max_str_digits() + 1\nsys.set_int_max_str_digits(n)\nreturn n",
  ),
  leak("an open file", "import os", "return os.open('/lib/python314.zip', 0)"),
  // The interpreter itself.
  leak(
    "the recursion limit",
    "import sys",
    "sys.setrecursionlimit(sys.getrecursionlimit() + 1)\nreturn sys.getrecursionlimit()",
  ),
  leak(
    "the switch interval",
    "import sys",
    "sys.setswitchinterval(sys.getswitchinterval() + 1)\nreturn sys.getswitchinterval()",
  ),
  leak(
    "the collector's thresholds",
    "import gc",
    "gc.set_threshold(gc.get_threshold()[0] + 1)\nreturn gc.get_threshold()[0]",
  ),
  leak("the collector's freezer", "import gc", "r = gc.get_freeze_count() > 0\ngc.freeze()\nreturn r"),
  leak("the collector", "import gc", "r = gc.isenabled()\ngc.enable()\nreturn r"),
  leak("an attribute of sys", "import sys", "sys.n = getattr(sys, 'n', 0) + 1\nreturn sys.n"),
  leak("the last exception", "import sys", "r = hasattr(sys, 'last_exc')\nsys.last_exc = 1\nreturn r"),
  leak("the path of modules", "import sys", "sys.path.append('x')\nreturn len(sys.path)"),
  leak(
    "a module",
    "import sys, types",
    "r = 'mine' in sys.modules\nsys.modules['mine'] = types.ModuleType('mine')\nreturn r",
  ),
  leak(
    "a module that is imported late",
    "import sys",
    "r = 'colorsys' in sys.modules\n__import__('colorsys')\nreturn r",
  ),
  leak("a finder of modules", "import sys", "sys.meta_path.append(None)\nreturn len(sys.meta_path)"),
  leak(
    "standard output",
    "import sys, io",
    "r = type(sys.stdout).__name__\nsys.stdout = type('Mine', (io.StringIO,), {})()\nreturn r",
  ),
  leak("a trace function", "import sys", "r = sys.gettrace() is None\nsys.settrace(lambda *a: None)\nreturn r"),
  leak("a profile function", "import sys", "r = sys.getprofile() is None\nsys.setprofile(lambda *a: None)\nreturn r"),
  leak(
    "a tool of sys.monitoring",
    "import sys",
    "r = sys.monitoring.get_tool(3)\nsys.monitoring.use_tool_id(3, 'x') if r is None else 0\nreturn r",
  ),
  leak(
    "an audit hook",
    "import sys\nhits = []",
    "r = len(hits)\nsys.addaudithook(lambda *a: hits.append(1))\nopen('/none', 'r') if 0 else compile('1', 'x', 'eval')\nreturn r",
  ),
  leak(
    "an unraisable hook",
    "import sys",
    "r = sys.unraisablehook is sys.__unraisablehook__\nsys.unraisablehook = print\nreturn r",
  ),
  // What everybody uses.
  leak("a new builtin", "import builtins", "builtins.n = getattr(builtins, 'n', 0) + 1\nreturn builtins.n"),
  leak("an old builtin", "import builtins", "r = builtins.len([1])\nbuiltins.len = lambda x: 7\nreturn r"),
  leak("a constant of a module", "import math", "math.pi += 1\nreturn math.pi"),
  leak("a function of a module", "import json", "r = json.dumps(1)\njson.dumps = lambda x: 'evil'\nreturn r"),
  leak(
    "code of a module",
    "import json\ndef g(*a, **k): return 'evil'",
    "r = json.dumps(1)\njson.dumps.__code__ = g.__code__\nreturn r",
  ),
  leak(
    "defaults of a module's function",
    "import textwrap",
    "r = textwrap.fill('a b')\ntextwrap.fill.__defaults__ = (1,)\nreturn r",
  ),
  leak("a text of a module", "import string", "string.digits += 'x'\nreturn string.digits"),
  leak(
    "an attribute of a class of the library",
    "import collections",
    "C = collections.Counter\nC.n = getattr(C, 'n', 0) + 1\nreturn C.n",
  ),
  leak(
    "a method of a class of the library",
    "import collections",
    "C = collections.Counter\nr = C('aab').most_common(1)\nC.most_common = lambda *a: 'evil'\nreturn r",
  ),
  leak("the bridge", "import sys", "b = sys.modules['trailgym_bridge']\nb.n = getattr(b, 'n', 0) + 1\nreturn b.n"),
  leak(
    "the bridge's own builtins",
    "import sys",
    "b = sys.modules['trailgym_bridge'].__dict__['__builtins__']\nb['n'] = b.get('n', 0) + 1\nreturn b['n']",
  ),
  leak("the bridge's print buffer", "import sys", "r = sys.stdout.tell()\nprint('x')\nreturn r"),
];

/** `f` shows two calls of the leak, so that one can see it leak while it may. */
export function programOf({ top, body }: Leak): string {
  return `${top}\ndef leak():\n    ${body.replaceAll("\n", "\n    ")}\ndef f(s):\n    return [leak(), leak()], s\n`;
}
