"""The Python side of a call: load a program, run an entry on a state, say what came out.

It runs before any program does, and is part of the memory that every restore brings back. It takes and returns bytes.
"""

import _pickle
import _random
import _strptime  # noqa: what time.strptime imports in its first call
import ast
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
import zoneinfo, shlex, csv, html, urllib.parse, graphlib, keyword, timeit, types, warnings, weakref, locale, argparse  # noqa

PROGRAM = "program"
SEED = 0
MAX_TEXT = 16_000
EXACT = re.compile(rb"\d{16}")

_dumps, _loads = _pickle.dumps, _pickle.loads
_encode = json.JSONEncoder(allow_nan=False).encode
_decode = json.JSONDecoder().decode
# Not through the class, which may have a metaclass of its own.
_name_of = type.__dict__["__name__"].__get__
_out = io.StringIO()
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = _out
sys.stdin = sys.__stdin__ = io.StringIO()
sys.argv = [PROGRAM]
time.sleep = lambda seconds, /: None

_doors = ("js", "pyodide", "pyodide_js", "_pyodide", "_pyodide_core", "ctypes", "_ctypes")


def ready():
    """Closes Pyodide's doors to its host, and says where the host finds load, call and settle.

    The gates hold without this; it makes the refusal an ImportError.
    """
    os.environ.clear()
    for name in [*sys.modules]:
        if name.split(".")[0] in _doors:
            del sys.modules[name]
    for name in _doors:
        sys.modules[name] = None
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if not any("_pyodide" in str(getattr(owner, "__module__", "")) for owner in (finder, type(finder)))
    ]
    return " ".join(str(id(function)) for function in (load, call, settle))


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


def load(request, /):
    """bytes of {"program": [...], "modules": {...}} -> b"" or the head of a reply."""
    request = _decode(request.decode())
    ModuleSources.sources = request.get("modules") or {}
    module = types.ModuleType(PROGRAM)
    sys.modules[PROGRAM] = module
    try:
        for name in _imports(request["program"]):
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
    # The generator's own method: `random.seed` is Python, and uses builtins that a program may have replaced.
    _random.Random.seed(random._inst, SEED)
    random._inst.gauss_next = None
    return b""


def _imports(sources):
    """Modules of the standard library that the program imports anywhere: in its functions too, so that no call pays for it."""
    names = set()
    for source in sources:
        try:
            nodes = [*ast.walk(ast.parse(source))]
        except Exception:
            continue
        for node in nodes:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.update((node.module, *("%s.%s" % (node.module, alias.name) for alias in node.names)))
    tops = sys.stdlib_module_names - {name.split(".")[0] for name in ModuleSources.sources}
    return sorted(name for name in names if name.split(".")[0] in tops)


def call(entry, args, state, output_limit, state_limit, /):
    """One call. Returns the reply's head, a line feed, the value, the state."""
    reply = _run(entry, args, state, int(output_limit), int(state_limit))
    _out.seek(0)
    _out.truncate()
    return reply


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


def settle():
    """Fills the gaps that booting has left between small objects, so that what calls make lies close together: it is blocks
    of memory that the end of a call costs."""
    gc.collect()
    for size in range(8, 513, 8):
        for _ in range(64):
            batch = [_small(size, number) for number in range(16_384 // size)]
            if len({id(item) >> 9 for item in batch}) < 96:
                break
            _fillers.append(batch)
        del batch
    return b""


_fillers = []
_EMPTY = sys.getsizeof(b"")


def _small(size, number):
    if size == 8:
        return object()
    if size == 16:
        return number + 0.5
    return bytes(size - _EMPTY)


gc.disable()
