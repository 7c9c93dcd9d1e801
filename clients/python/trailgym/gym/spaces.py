"""Which Gymnasium space is a JSON Schema, and how do values go from one to the other?

| schema                                                    | space                                                   |
|-----------------------------------------------------------|---------------------------------------------------------|
| integer with both bounds, at most 2**31 values            | Discrete(n, start=minimum)                              |
| other integers                                            | Box((), int64)                                          |
| number                                                    | Box((), float64)                                        |
| boolean                                                   | Discrete(2)                                             |
| enum, const                                               | Discrete(n): the place in the list                      |
| string                                                    | AnyText                                                 |
| arrays of one length, of numbers, nested or not           | Box(shape, int64 or float64)                            |
| prefixItems                                               | Tuple                                                   |
| other arrays without a bound on their length              | Sequence                                                |
| object whose properties are all required, and no others   | Dict                                                    |
| what may be any string, among other things                | AnyText: the string as it is                            |
| anything else                                             | JsonText: the value's JSON; in observations, a string   |
|                                                           | as it is                                                |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from gymnasium import Space, spaces

from ..values import SAFE, encode
from .examples import example
from .texts import AnyText, JsonText

__all__ = ["AnyText", "Bridge", "JsonText", "bridge"]

Schema = Mapping[str, Any]

HUGE = 2.0**1022
"""Bounds of a number without any: half of the largest float, so that their difference is one too."""


@dataclass(frozen=True)
class Bridge:
    space: Space[Any]
    to_json: Callable[[Any], Any]
    """An element of the space as an action of the environment."""
    from_json: Callable[[Any], Any]
    """An observation as an element of the space."""


def bridge(schema: Schema) -> Bridge:
    """For a schema of an action or an observation, as `client.list()` gives it."""
    # An object that names a definition may hold itself.
    return _text(schema) if _refers(schema) else _bridge(schema)


def _bridge(schema: Schema) -> Bridge:
    if "const" in schema:
        return _choice([schema["const"]])
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return _choice(schema["enum"])
    kind = schema.get("type")
    if kind == "integer":
        return _integer(schema)
    if kind == "number":
        low, high = _bounds(schema, -HUGE, HUGE)
        return _scalar(spaces.Box(low, high, (), np.float64))
    if kind == "boolean":
        return Bridge(spaces.Discrete(2), bool, lambda value: np.int64(value))
    if kind == "array":
        return _array(schema)
    if kind == "object" and _is_closed(schema):
        return _object(schema)
    return _text(schema)


def _integer(schema: Schema) -> Bridge:
    low, high = _bounds(schema, -SAFE, SAFE)
    if high - low < 2**31 and "minimum" in schema and "maximum" in schema:
        discrete = spaces.Discrete(int(high - low) + 1, start=int(low))
        return Bridge(discrete, int, lambda value: np.int64(value))
    return _scalar(spaces.Box(int(low), int(high), (), np.int64))


def _bounds(schema: Schema, lowest: float, highest: float) -> tuple[float, float]:
    low = max(lowest, schema.get("minimum", lowest))
    high = min(highest, schema.get("maximum", highest))
    # Integers only; a number's bound that is not among its values makes no difference to a float.
    if schema.get("type") == "integer":
        low = max(low, schema.get("exclusiveMinimum", low - 1) + 1)
        high = min(high, schema.get("exclusiveMaximum", high + 1) - 1)
    else:
        low = max(low, schema.get("exclusiveMinimum", low))
        high = min(high, schema.get("exclusiveMaximum", high))
    return low, high


def _scalar(space: spaces.Box) -> Bridge:
    return Bridge(space, lambda value: np.asarray(value).item(), lambda value: np.array(value, space.dtype))


def _choice(values: list[Any]) -> Bridge:
    places = {json.dumps(encode(value)): place for place, value in enumerate(values)}
    return Bridge(
        spaces.Discrete(len(values)),
        lambda place: values[int(place)],
        lambda value: np.int64(places[json.dumps(encode(value))]),
    )


def _array(schema: Schema) -> Bridge:
    numeric = _numeric_shape(schema)
    if numeric is not None:
        shape, items = numeric
        dtype = np.int64 if items["type"] == "integer" else np.float64
        low, high = _bounds(items, -SAFE if dtype is np.int64 else -HUGE, SAFE if dtype is np.int64 else HUGE)
        box = spaces.Box(dtype(low), dtype(high), shape, dtype)  # type: ignore[arg-type, unused-ignore]
        return Bridge(
            box,
            lambda value: np.asarray(value).tolist(),
            # An array of a tagged value comes as one already, of its own type.
            lambda value: np.array(value, dtype).reshape(shape),
        )
    prefix = schema.get("prefixItems")
    if isinstance(prefix, list) and prefix and schema.get("items", False) is False:
        return _tuple([_bridge(item) for item in prefix])
    if {"prefixItems", "minItems", "maxItems"} & schema.keys() or not isinstance(schema.get("items"), Mapping):
        return _text(schema)
    item = _bridge(schema["items"])
    return Bridge(
        spaces.Sequence(item.space),
        lambda value: [item.to_json(one) for one in value],
        lambda value: tuple(item.from_json(one) for one in value),
    )


def _numeric_shape(schema: Schema) -> tuple[tuple[int, ...], Schema] | None:
    items, length = schema.get("items"), schema.get("minItems")
    if not isinstance(items, Mapping) or not isinstance(length, int) or length != schema.get("maxItems"):
        return None
    if items.get("type") in ("integer", "number") and "enum" not in items and "const" not in items:
        return (length,), items
    inner = _numeric_shape(items) if items.get("type") == "array" else None
    return inner and ((length, *inner[0]), inner[1])


def _tuple(parts: list[Bridge]) -> Bridge:
    return Bridge(
        spaces.Tuple([part.space for part in parts]),
        lambda value: [part.to_json(one) for part, one in zip(parts, value)],
        lambda value: tuple(part.from_json(one) for part, one in zip(parts, value)),
    )


def _is_closed(schema: Schema) -> bool:
    properties = schema.get("properties")
    return (
        bool(properties)
        and schema.get("additionalProperties") is False
        and set(schema.get("required", ())) == set(cast(Schema, properties))
    )


def _object(schema: Schema) -> Bridge:
    parts = {name: _bridge(part) for name, part in schema["properties"].items()}
    return Bridge(
        # A dict, not keyword arguments: a property may have any name.
        spaces.Dict({name: part.space for name, part in parts.items()}),
        lambda value: {name: part.to_json(value[name]) for name, part in parts.items()},
        lambda value: {name: part.from_json(value[name]) for name, part in parts.items()},
    )


def _text(schema: Schema) -> Bridge:
    if _takes_strings(schema):
        longest = schema.get("maxLength", AnyText.LONGEST)
        return Bridge(AnyText(schema.get("minLength", 0), longest), str, _readable)
    return Bridge(JsonText(lambda random: json.dumps(example(schema, random))), _parsed, _readable)


def _takes_strings(schema: Schema) -> bool:
    """Any string, as far as a space can tell; a `pattern` can only be kept by who knows it."""
    if schema.get("type") == "string":
        return not {"enum", "const"} & schema.keys()
    return any(_takes_strings(one) for key in ("anyOf", "oneOf") for one in schema.get(key, ()))


def _refers(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return "$ref" in schema or any(_refers(part) for part in schema.values())
    return isinstance(schema, list) and any(_refers(part) for part in schema)


def _readable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(encode(value), ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"this environment's actions are JSON text, and this is none: {text[:100]!r}") from error
