"""What goes into the codec comes out of it, here and at the other end of the wire."""

from __future__ import annotations

import json
import struct
from enum import Enum, IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from recordings import rejections
from served import Served

import trailgym
from trailgym.connection.text import dumps, loads
from trailgym.values import MAX_DEPTH, SAFE, SIZES, CodecError, Int64, NdArray, decode, encode

numbers = st.one_of(
    st.integers(-SAFE, SAFE),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(allow_subnormal=True),
)
arrays = hnp.arrays(st.sampled_from([np.dtype(name) for name in SIZES]), hnp.array_shapes(min_dims=0, min_side=0))
keys = st.one_of(st.text(), st.just("$type"), st.just("__proto__"))
# Half surrogate pairs, too, which JSON can say and UTF-8 cannot.
leaves = st.one_of(st.none(), st.booleans(), st.text(st.characters()), st.binary(), numbers, arrays)
values = st.recursive(leaves, lambda parts: st.lists(parts, max_size=4) | st.dictionaries(keys, parts, max_size=4))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        # -0.0 is not 0.0, and nan is nan. A whole number may come back as an int: the other side has but one kind.
        return isinstance(b, (float, int)) and (
            (a != a and b != b) or (a == b and (a != 0 or struct.pack("d", a) == struct.pack("d", b)))
        )
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)


@given(values)
def test_a_value_is_the_same_after_the_codec_and_its_text(value: Any) -> None:
    assert same(value, decode(loads(dumps(encode(value)))))


@given(values)
def test_what_is_decoded_is_encoded_to_the_same_json(value: Any) -> None:
    wire = json.loads(json.dumps(encode(value)))
    assert json.loads(json.dumps(encode(decode(wire)))) == wire


@pytest.fixture(scope="module")
def echo(real: Served) -> Any:
    with trailgym.connect(real.url) as client, client.make("echo-v1") as session:
        session.reset(seed=1)
        yield session


def by_key(value: Any) -> Any:
    """The other side puts keys that look like numbers first."""
    if isinstance(value, dict):
        return {key: by_key(value[key]) for key in sorted(value)}
    return [by_key(one) for one in value] if isinstance(value, list) else value


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values)
def test_a_value_is_the_same_after_a_journey_through_a_real_server(echo: trailgym.Session, value: Any) -> None:
    step = echo.step(value)
    assert same(by_key(value), by_key(step.observation))
    assert same(by_key(value), by_key(step.info["said"]))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_has_the_same_bits_after_its_text(value: float) -> None:
    assert struct.pack("d", loads(dumps(value))) == struct.pack("d", value)


class Colour(str, Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        ((1, 2), [1, 2]),
        (2**53 - 1, 9007199254740991),
        (2**53, {"$type": "int64", "value": "9007199254740992"}),
        (Int64(1), {"$type": "int64", "value": "1"}),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        ({Colour.RED: True}, {"red": True}),
        (bytearray(b"\1\2"), {"$type": "bytes", "base64": "AQI="}),
        (memoryview(b"\1\2"), {"$type": "bytes", "base64": "AQI="}),
        (np.float32(0.5), 0.5),
        (np.float64("nan"), {"$type": "float", "value": "NaN"}),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (
            np.array([[1, 2]], ">i2"),
            {"$type": "ndarray", "dtype": "int16", "shape": [1, 2], "base64": "AQACAA=="},
        ),
        (
            np.arange(6, dtype=np.uint8).reshape(2, 3).T,
            {"$type": "ndarray", "dtype": "uint8", "shape": [3, 2], "base64": "AAMBBAIF"},
        ),
        (np.array(True), {"$type": "ndarray", "dtype": "bool", "shape": [], "base64": "AQ=="}),
        (
            NdArray("uint8", (2,), b"\1\2"),
            {"$type": "ndarray", "dtype": "uint8", "shape": [2], "base64": "AQI="},
        ),
    ],
)
def test_python_has_more_kinds_of_values_than_the_wire(value: Any, wire: Any) -> None:
    assert encode(value) == wire
    assert type(encode(value)) is type(wire)


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ({"a": [1, {"b": object()}]}, "action.a[1].b", "an object cannot cross the wire"),
        ([2**63], "action[0]", "an integer beyond int64 cannot cross the wire"),
        ({1: 2}, "action", "a key that is an int and not a str cannot cross the wire"),
        (np.zeros(1, np.float16), "action", "a numpy float16 cannot cross the wire"),
        (np.array(["a"]), "action", "a numpy str32 cannot cross the wire"),
        ({"$type": {1}}, "action.$type", "a set cannot cross the wire"),
        (1j, "action", "a complex cannot cross the wire"),
    ],
)
def test_what_cannot_cross_the_wire_is_named_with_its_place(value: Any, path: str, problem: str) -> None:
    with pytest.raises(CodecError) as caught:
        encode(value, "action")
    assert (caught.value.path, caught.value.problem) == (path, problem)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"a": [{"$type": "float", "value": "1"}]}, "seen.a[0]"),
        ({"$type": "object", "value": {"$type": 1, "q": {"$type": "zz"}}}, "seen.q"),
        ({"$type": "object", "value": {"q": 1}}, "seen"),
        ({"$type": 5}, "seen"),
        ({"$type": "float", "value": "NaN", "more": 1}, "seen"),
        ({"$type": "int64", "value": "9223372036854775808"}, "seen"),
        ({"$type": "int64", "value": "+1"}, "seen"),
        ({"$type": "int64", "value": "-0"}, "seen"),
        ({"$type": "bytes", "base64": "AQI"}, "seen"),
        ({"$type": "bytes", "base64": "*"}, "seen"),
        ({"$type": "ndarray", "dtype": "float16", "shape": [], "base64": ""}, "seen"),
        ({"$type": "ndarray", "dtype": "int16", "shape": [1], "base64": "AQ=="}, "seen"),
        ({"$type": "ndarray", "dtype": "int8", "shape": [2], "base64": "AQ=="}, "seen"),
        ({"$type": "ndarray", "dtype": "int8", "shape": [-1], "base64": ""}, "seen"),
        ({"$type": "ndarray", "dtype": "int8", "shape": [True], "base64": "AQ=="}, "seen"),
        ({"$type": "ndarray", "dtype": "bool", "shape": [1], "base64": "Ag=="}, "seen"),
    ],
)
def test_a_malformed_tag_is_refused_with_its_place(wire: Any, path: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode(wire, "seen")
    assert caught.value.path == path


def test_nesting_is_bounded_both_ways_and_a_cycle_ends() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert decode(encode(deep)) == deep
    with pytest.raises(CodecError, match="nested deeper than 64"):
        encode([deep])
    with pytest.raises(CodecError, match="nested deeper than 64"):
        decode([deep])
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(CodecError, match="nested deeper than 64"):
        encode(cycle)


def test_a_whole_double_beyond_the_safe_integers_is_a_float_here_and_stays_a_number() -> None:
    back = decode(loads(b"9223372036854775807"))
    assert (type(back), back) == (float, 2.0**63)
    assert encode(back) == 2.0**63


def test_an_array_that_came_is_writable_and_native() -> None:
    array = decode({"$type": "ndarray", "dtype": "float32", "shape": [2], "base64": "AACAPwAAAEA="})
    array[0] = 5
    assert array.tolist() == [5, 2]
    assert array.dtype == np.dtype("float32")


def test_without_numpy_an_array_is_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    array = decode({"$type": "ndarray", "dtype": "uint8", "shape": [2], "base64": "AQI="})
    assert array == NdArray("uint8", (2,), b"\1\2")
    assert encode({"a": array}) == {"a": {"$type": "ndarray", "dtype": "uint8", "shape": [2], "base64": "AQI="}}


def test_the_values_that_the_server_rejects_are_rejected_here_too() -> None:
    refused = 0
    for case in rejections():
        for frame in case["send"]:
            if not case["name"].startswith("values: ") or not isinstance(frame, str):
                continue
            params = json.loads(frame).get("params", {})
            for field in ("action", "options"):
                try:
                    decode(params.get(field))
                except CodecError:
                    refused += 1
    assert refused > 10
