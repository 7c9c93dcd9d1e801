"""The Python side of a call: load a program, run an entry on a state, say what came out.

It runs before any program does, and is part of the memory that every restore brings back. It takes and returns bytes.
"""

import _pickle
import _random
import copyreg
import gc
import io
import json
import os
import random
import re
import sys
import time
import types

# What programs commonly import, so that they find it loaded.
import abc, array, base64, bisect, calendar, cmath, collections, collections.abc, contextlib, copy, dataclasses, datetime  # noqa
import decimal, difflib, enum, fractions, functools, hashlib, heapq, inspect, itertools, logging, math, numbers, pickle  # noqa
import pprint, queue, secrets, statistics, string, struct, textwrap, threading, traceback, typing, unicodedata, uuid, zlib  # noqa
import zoneinfo, shlex, csv, html, urllib.parse, graphlib, keyword, ast, timeit, types, warnings, weakref, locale, argparse  # noqa

PROGRAM = "program"
SEED = 0
MAX_TEXT = 16_000
# Comparing more than this after every call costs more than restoring the memory.
MAX_MUTABLE = 65_536
EXACT = re.compile(rb"\d{16}")

_dumps, _loads = _pickle.dumps, _pickle.loads
_encode = json.JSONEncoder(allow_nan=False).encode
_decode = json.JSONDecoder().decode
_slotnames = copyreg._slotnames
# Not through the class, which may have a metaclass of its own.
_name_of = type.__dict__["__name__"].__get__
_out = io.StringIO()
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = _out
sys.stdin = sys.__stdin__ = io.StringIO()
sys.argv = [PROGRAM]
os.environ.clear()
time.sleep = lambda seconds, /: None

# Pyodide's doors to its host. The gates hold without this; it makes the refusal an ImportError.
_doors = ("js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core", "ctypes", "_ctypes")
for _name in [*sys.modules]:
    if _name.split(".")[0] in _doors:
        del sys.modules[_name]
for _name in _doors:
    sys.modules[_name] = None
sys.meta_path[:] = [
    finder
    for finder in sys.meta_path
    if not any("_pyodide" in str(getattr(owner, "__module__", "")) for owner in (finder, type(finder)))
]


class ModuleSources:
    """Finds the modules that a call brings along."""

    sources = {}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        package = any(other.startswith(name + ".") for other in cls.sources)
        if name not in cls.sources and not package:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, cls, is_package=package)

    @staticmethod
    def create_module(spec):
        return None

    @classmethod
    def exec_module(cls, module):
        name = module.__name__
        exec(compile(cls.sources.get(name, ""), name + ".py", "exec"), module.__dict__)


sys.meta_path.insert(0, ModuleSources)

# The loaded program: what its call must leave as it was.
_mutables = []
_mutable_bytes = b""
_caches = []
_opaque = False
_modules, _module_count = set(), 0


def load(request, /):
    """bytes of {"program": [...], "modules": {...}, "imports": [...]} -> b"" or the head of a reply."""
    request = _decode(request.decode())
    ModuleSources.sources = request.get("modules") or {}
    module = types.ModuleType(PROGRAM)
    sys.modules[PROGRAM] = module
    try:
        for name in request["imports"]:
            try:
                __import__(name)
            except Exception:
                pass
        for number, source in enumerate(request["program"]):
            name = PROGRAM + (".py" if number == 0 else "-%d.py" % (number + 1))
            exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)
    except MemoryError:
        return b'{"status":"outOfMemory"}'
    except BaseException as error:
        return _head({"status": "raised", "error": _describe(error), "output": ""})
    finally:
        _out.seek(0)
        _out.truncate()
    global _module_count, _modules
    _modules, _module_count = set(sys.modules), len(sys.modules)
    _find_mutables(module)
    _reseed()
    return b""


def _reseed():
    # The generator's own method: `random.seed` is Python, and uses builtins that a program may have replaced.
    _random.Random.seed(random._inst, SEED)
    random._inst.gauss_next = None


def _find_mutables(program):
    """Everything of the program that code can change without touching a watched dict or type."""
    global _mutables, _mutable_bytes, _caches, _opaque
    _mutables, _caches, _opaque = [], [], False
    own = {PROGRAM, *ModuleSources.sources}
    plain = (type(None), bool, int, float, complex, str, bytes, types.ModuleType, types.BuiltinFunctionType, range)
    seen = set()

    def visit(value):
        global _opaque
        if isinstance(value, plain) or id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, type):
            if value.__module__ in own:
                _prime(value)
                for item in list(vars(value).values()):
                    visit(item)
        elif isinstance(value, types.FunctionType):
            if value.__module__ in own:
                visit_function(value)
        elif isinstance(value, (staticmethod, classmethod)):
            visit(value.__func__)
        elif isinstance(value, property):
            for item in (value.fget, value.fset, value.fdel):
                visit(item)
        elif isinstance(value, functools._lru_cache_wrapper):
            _caches.append(value.cache_info)
            visit(value.__wrapped__)
        elif isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType)):
            pass
        elif type(value).__module__ in ("typing", "types", "re", "_abc", "annotationlib"):
            pass
        else:
            _mutables.append(value)

    def visit_function(function):
        if function.__dict__:
            for item in function.__dict__.values():
                visit(item)
        for item in function.__defaults__ or ():
            visit(item)
        for item in (function.__kwdefaults__ or {}).values():
            visit(item)
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            # A rebound cell of plain content (`nonlocal n; n += 1`) has no other trace.
            _mutables.append(_Cell(cell)) if isinstance(content, plain) else visit(content)

    for name in own:
        module = sys.modules.get(name)
        if module is not None:
            for key, item in list(vars(module).items()):
                if key not in ("__builtins__", "__loader__", "__spec__"):
                    visit(item)
    try:
        _mutable_bytes = _dumps(_mutables, 5) if _mutables else b""
        _opaque = len(_mutable_bytes) > MAX_MUTABLE
    except BaseException:
        _opaque = True


class _Cell:
    __slots__ = ("cell",)

    def __init__(self, cell):
        self.cell = cell

    def __reduce__(self):
        return (_Cell, (self.cell.cell_contents,))


_watched_modules = set()


def watched():
    """Addresses of what the host is to watch from now on: the namespaces of new modules, and the classes in them."""
    dicts, classes = [], []
    for name, module in [*sys.modules.items()]:
        namespace = getattr(module, "__dict__", None)
        if type(namespace) is not dict or id(namespace) in _watched_modules:
            continue
        _watched_modules.add(id(namespace))
        dicts.append(id(namespace))
        for item in [*namespace.values()]:
            # The cache of compiled patterns changes all the time, and changes nothing.
            if type(item) is dict and name != "re":
                dicts.append(id(item))
            elif isinstance(item, type) and item.__module__ == module.__name__:
                classes.append(id(item))
                _prime(item)
                for inner in [*vars(item).values()]:
                    if isinstance(inner, type):
                        classes.append(id(inner))
                        _prime(inner)
    if id(sys.modules) not in _watched_modules:
        _watched_modules.add(id(sys.modules))
        dicts.append(id(sys.modules))
    return (" ".join(map(str, dicts)) + "," + " ".join(map(str, classes))).encode()


def _prime(cls):
    """Pickle leaves a note in each class that it meets; it is to be there before the class is watched."""
    try:
        _slotnames(cls)
    except Exception:
        pass


def call(entry, args, state, flags, output_limit, state_limit, /):
    """One call. Returns a line of remarks, the reply's head, a line feed, the value, the state.

    Remarks: "+" if the memory is to be restored, and the names of modules that the call was the first to import.
    """
    if flags == b"s":
        _reseed()
    before = gc.get_count()[0]
    reply = _run(entry, args, state, int(output_limit), int(state_limit))
    # Containers that outlive the call are cycles, or hidden in something of the program.
    kept = gc.get_count()[0] - before
    _out.seek(0)
    _out.truncate()
    remarks = b"+" if kept > 0 or _changed() else b"-"
    if len(sys.modules) != _module_count:
        remarks += " ".join([name for name in sys.modules if name.split(".")[0] in sys.stdlib_module_names and name not in _modules]).encode()
    return remarks + b"\n" + reply


def _changed():
    if _opaque or sys.gettrace() is not None or sys.getprofile() is not None or sys.getrecursionlimit() != _limit:
        return True
    try:
        if any(cache().currsize for cache in _caches):
            return True
        return bool(_mutables) and _dumps(_mutables, 5) != _mutable_bytes
    except BaseException:
        return True


_limit = sys.getrecursionlimit()


def _run(entry, args, state, output_limit, state_limit):
    try:
        try:
            run = getattr(sys.modules[PROGRAM], entry.decode(), None)
            if not callable(run):
                raise NameError("%s is not a function of the program" % entry.decode())
            result = run(_loads(state) if state else None, *_decode(args.decode()))
            if type(result) not in (tuple, list) or len(result) != 2:
                raise TypeError("%s must return [value, new_state]" % entry.decode())
        except MemoryError:
            return b'{"status":"outOfMemory"}\n'
        except BaseException as error:
            output = _out.getvalue()
            if len(output) > output_limit:
                return b'{"status":"outputTooLarge"}\n'
            return _head({"status": "raised", "error": _describe(error), "output": output}) + b"\n"
        return _reply(result[0], result[1], output_limit, state_limit)
    except MemoryError:
        return b'{"status":"outOfMemory"}\n'


def _reply(value, state, output_limit, state_limit):
    output = _out.getvalue()
    if len(output) > output_limit:
        return b'{"status":"outputTooLarge"}\n'
    try:
        text = _encode(value).encode()
        if EXACT.search(text):
            _check_integers(value, "value")
    except MemoryError:
        raise
    except BaseException as error:
        return _refusal("value", error)
    if len(text) + len(output.encode("utf-8", "replace")) > output_limit:
        return b'{"status":"outputTooLarge"}\n'
    try:
        data = _dumps(state, 5)
    except MemoryError:
        raise
    except BaseException as error:
        return _refusal("state", error)
    if len(data) > state_limit:
        return b'{"status":"stateTooLarge"}\n'
    return _head({"status": "ok", "output": output, "valueLength": len(text)}) + b"\n" + text + data


def _refusal(what, error):
    if isinstance(error, RecursionError):
        return _head({"status": "unencodable", "message": what + " is nested too deeply"}) + b"\n"
    notes = getattr(error, "__notes__", None)
    where = "".join(" (%s)" % note for note in notes[:5]) if type(notes) is list else ""
    return _head({"status": "unencodable", "message": "%s: %s%s" % (what, _text(error)[:500], where[:500])}) + b"\n"


def _check_integers(value, path):
    if type(value) is int and abs(value) > 9_007_199_254_740_991:
        raise ValueError("%s is an integer beyond 2**53, which JSON readers round; return it as a string" % path)
    if isinstance(value, dict):
        for key, item in value.items():
            _check_integers(item, "%s[%r]" % (path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check_integers(item, "%s[%d]" % (path, index))


def _head(head):
    return _encode(head).encode()


def _text(error):
    try:
        return str(error)[:4_000]
    except BaseException:
        return ""


def _describe(error):
    kind = _name_of(type(error))[:200]
    message = _text(error)
    files = {PROGRAM + ".py", *(name + ".py" for name in ModuleSources.sources)}
    lines, frame = [], error.__traceback__
    while frame is not None and len(lines) < 200:
        code = frame.tb_frame.f_code
        name = code.co_filename
        if name in files or name.startswith(PROGRAM + "-"):
            lines.append('  File "%s", line %s, in %s' % (name, frame.tb_lineno, code.co_name))
        frame = frame.tb_next
    if isinstance(error, SyntaxError) and error.lineno:
        lines.append('  File "%s", line %s' % (str(error.filename)[:100], error.lineno))
    if len(lines) > 40:
        lines[20:-20] = ["  ... %d more ..." % (len(lines) - 40)]
    trace = "\n".join([*lines, "%s: %s" % (kind, message)])
    return {"type": kind, "message": message, "trace": trace[:MAX_TEXT]}


gc.disable()
