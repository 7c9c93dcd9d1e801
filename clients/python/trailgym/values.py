"""The lossless value codec: what JSON cannot hold travels as a tagged object and comes back as it was.

| Python                                    | on the wire                                                              |
|-------------------------------------------|--------------------------------------------------------------------------|
| None, bool, str, list, dict (str keys)    | JSON                                                                     |
| int within ±(2**53 - 1), float            | JSON number                                                              |
| nan, ±inf, -0.0                           | {"$type": "float", "value": "NaN"}                                       |
| Int64, int beyond ±(2**53 - 1)            | {"$type": "int64", "value": "9007199254740993"}                          |
| bytes                                     | {"$type": "bytes", "base64": "AQI="}                                     |
| numpy.ndarray, NdArray                    | {"$type": "ndarray", "dtype": "float32", "shape": [2, 3], "base64": "…"} |
| dict with a key "$type"                   | {"$type": "object", "value": {…}}                                        |

Also taken: tuples (as lists), mappings, subclasses of str, int and float such as enums, bytearray and memoryview (as bytes),
and numpy scalars (as bool, int or float).
"""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import copysign, inf, isfinite, nan, prod
from typing import TYPE_CHECKING, Any, Union

from ._model import TrailGymError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_DEPTH = 64
"""Deepest nesting a value or a message may have, counted in containers."""

Json = Union[None, bool, int, float, str, list["Json"], dict[str, "Json"]]

SAFE = 2**53 - 1
"""JSON numbers are doubles on the other side: beyond this, two integers may become one."""

SIZES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
}


class CodecError(TrailGymError, ValueError):
    """A value that the wire cannot carry, or a tagged object that is malformed; `path` says where, as in `a.b[2]`."""

    path: str
    problem: str

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'value'}: {problem}")
        self.path = path
        self.problem = problem


class Int64(int):
    """An integer that is a 64-bit one on the other side (a `bigint` there), however small it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Int64({int(self)})"


@dataclass(frozen=True)
class NdArray:
    """An n-dimensional array where numpy is not installed: little-endian bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        if self.dtype not in SIZES:
            raise CodecError("ndarray", "unknown dtype")
        if prod(self.shape) * SIZES[self.dtype] != len(self.data):
            raise CodecError("ndarray", "shape and data differ in size")
        if self.dtype == "bool" and self.data.translate(None, b"\x00\x01"):
            raise CodecError("ndarray", "a bool is a byte 0 or 1")

    def numpy(self) -> NDArray[Any]:
        """A writable copy. Raises ImportError without numpy."""
        import numpy as np

        array = np.frombuffer(bytearray(self.data), np.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)
        return array.astype(array.dtype.newbyteorder("="), copy=False)


class _Problem(Exception):
    """Found on the fast way, which does not know where it is."""


def encode(value: object, path: str = "", depth: int = 0) -> Json:
    """The JSON form of `value`. Raises CodecError for what the wire cannot carry, integers beyond int64, and nesting
    deeper than MAX_DEPTH (which is also how a cycle ends)."""
    try:
        encoded: Json = _encode(value, depth)
        return encoded
    except _Problem as problem:
        raise CodecError(_place(value, _encode, path, depth), str(problem)) from None


def decode(json: object, path: str = "") -> Any:
    """The inverse of `encode`. Arrays are numpy's where numpy is installed. Raises CodecError for malformed or unknown
    tags and for too deep nesting."""
    try:
        return _decode(json, 0)
    except _Problem as problem:
        raise CodecError(_place(json, _decode, path, 0), str(problem)) from None


def _encode(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is int:
        return value if -SAFE <= value <= SAFE else _tag_int(value)
    if kind is float:
        return value if isfinite(value) and (value or copysign(1, value) > 0) else _tag_float(value)
    if kind is dict:
        _check_depth(depth)
        return _encode_items(value, depth)
    if kind is list or kind is tuple:
        _check_depth(depth)
        return [_encode(item, depth + 1) for item in value]
    return _encode_other(value, depth)


def _encode_items(items: Mapping[Any, Any], depth: int) -> Any:
    encoded = {}
    for key, item in items.items():
        if not isinstance(key, str):
            raise _Problem(f"a key that is {_named(key)} and not a str cannot cross the wire")
        encoded[str.__str__(key)] = _encode(item, depth + 1)
    return {"$type": "object", "value": encoded} if "$type" in encoded else encoded


def _encode_other(value: Any, depth: int) -> Any:
    if isinstance(value, Int64):
        return _tag_int(value)
    # int() and float(): an enum member would be written by its name.
    for base in (str, int, float):
        if isinstance(value, base):
            return _encode(str.__str__(value) if base is str else base(value), depth)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$type": "bytes", "base64": base64.b64encode(value).decode()}
    if isinstance(value, NdArray):
        return _tag_ndarray(value.dtype, value.shape, value.data)
    if isinstance(value, Mapping):
        _check_depth(depth)
        return _encode_items(value, depth)
    if isinstance(value, Sequence):
        _check_depth(depth)
        return [_encode(item, depth + 1) for item in value]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _encode_numpy(numpy, value, depth)
    raise _Problem(f"{_named(value)} cannot cross the wire")


def _encode_numpy(numpy: Any, value: Any, depth: int) -> Any:
    if value.dtype.name not in SIZES:
        raise _Problem(f"a numpy {value.dtype.name} cannot cross the wire")
    if isinstance(value, numpy.generic):
        return _encode(value.item(), depth)
    array = numpy.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    return _tag_ndarray(value.dtype.name, value.shape, array.tobytes())


def _tag_float(value: float) -> Json:
    text = "-0" if value == 0 else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return {"$type": "float", "value": text}


def _tag_int(value: int) -> Json:
    if not -(2**63) <= value < 2**63:
        raise _Problem("an integer beyond int64 cannot cross the wire")
    return {"$type": "int64", "value": str(int(value))}


def _tag_ndarray(dtype: str, shape: Iterable[int], data: bytes) -> Json:
    return {"$type": "ndarray", "dtype": dtype, "shape": list(shape), "base64": base64.b64encode(data).decode()}


def _decode(json: Any, depth: int) -> Any:
    kind = type(json)
    if kind is dict:
        if "$type" in json:
            return _untag(json, depth)
        _check_depth(depth)
        return {key: _decode(item, depth + 1) for key, item in json.items()}
    if kind is list:
        _check_depth(depth)
        return [_decode(item, depth + 1) for item in json]
    if kind is int and not -SAFE <= json <= SAFE:
        # A double that happens to be whole; the digits after the 17th are not its own.
        return float(json)
    return json


def _untag(json: dict[str, Any], depth: int) -> Any:
    tag = json["$type"]
    fields = _FIELDS.get(tag) if isinstance(tag, str) else None
    if fields is None:
        raise _Problem(f"unknown $type {tag[:64]!r}" if isinstance(tag, str) else "$type is no string")
    unknown = next((key for key in json if key not in fields), None)
    if unknown is not None:
        raise _Problem(f"unknown key {unknown[:64]!r} in a tagged value")
    if tag == "float":
        return _untag_float(json.get("value"))
    if tag == "int64":
        return _untag_int(json.get("value"))
    if tag == "bytes":
        return _bytes(json.get("base64"))
    if tag == "ndarray":
        return _untag_ndarray(json.get("dtype"), json.get("shape"), json.get("base64"))
    value = json.get("value")
    if isinstance(value, dict) and "$type" in value:
        _check_depth(depth)
        return {key: _decode(item, depth + 1) for key, item in value.items()}
    raise _Problem('a wrapped object holds a "value" with a "$type" key of its own')


_FIELDS: dict[str, tuple[str, ...]] = {
    "float": ("$type", "value"),
    "int64": ("$type", "value"),
    "bytes": ("$type", "base64"),
    "ndarray": ("$type", "dtype", "shape", "base64"),
    "object": ("$type", "value"),
}

_FLOATS = {"NaN": nan, "Infinity": inf, "-Infinity": -inf, "-0": -0.0}

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}")


def _untag_float(value: object) -> float:
    if isinstance(value, str) and value in _FLOATS:
        return _FLOATS[value]
    raise _Problem('a float is one of "NaN", "Infinity", "-Infinity", "-0"')


def _untag_int(value: object) -> Int64:
    if isinstance(value, str) and _DECIMAL.fullmatch(value) and -(2**63) <= int(value) < 2**63:
        return Int64(value)
    raise _Problem("an int64 is a decimal string from -2^63 to 2^63-1")


def _untag_ndarray(dtype: object, shape: object, data: object) -> NdArray | np.ndarray[Any, Any]:
    if not isinstance(dtype, str) or dtype not in SIZES:
        raise _Problem("unknown dtype")
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n <= SAFE for n in shape):
        raise _Problem("a shape is a list of sizes")
    raw = _bytes(data)
    if len(raw) % SIZES[dtype]:
        raise _Problem(f"data is not whole {dtype}s")
    try:
        array = NdArray(dtype, tuple(shape), raw)
    except CodecError as error:
        raise _Problem(error.problem) from None
    try:
        return array.numpy()
    except ImportError:
        return array


def _bytes(text: object) -> bytes:
    if isinstance(text, str):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise _Problem("not base64")


def _check_depth(depth: int) -> None:
    # Depth counts the containers of the value: a tag is not one, however deep it stands.
    if depth >= MAX_DEPTH:
        raise _Problem(f"nested deeper than {MAX_DEPTH}")


def _place(value: Any, walk: Any, path: str, depth: int) -> str:
    """Goes down to the part with the problem: `walk` raises for it and for no part of it."""
    items: Iterable[tuple[Any, Any]] = ()
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        tag = value.get("$type") if walk is _decode else None
        if tag == "object" and isinstance(value.get("value"), dict):
            items = value["value"].items()
        elif tag is None:
            items = value.items()
    elif depth < MAX_DEPTH and isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = enumerate(value)
    for key, item in items:
        try:
            walk(item, depth + 1)
        except _Problem:
            name = f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
            return _place(item, walk, path + name, depth + 1)
    return path


def _named(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"
