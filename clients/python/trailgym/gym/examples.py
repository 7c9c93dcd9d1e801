"""What is a small value that a JSON Schema allows? For samples of what no space describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_DEPTH = 16


def example(schema: Any, random: np.random.Generator, depth: int = 0) -> Any:
    """The first alternative, required properties only, the shortest arrays and texts, numbers within their bounds. Keywords
    such as `pattern` and `not` are not heeded."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return None
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][int(random.integers(len(schema["enum"])))]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return example(schema[key][0], random, depth + 1)
    kind = schema.get("type")
    return _typed(kind[0] if isinstance(kind, list) and kind else kind, schema, random, depth)


def _typed(kind: Any, schema: Mapping[str, Any], random: np.random.Generator, depth: int) -> Any:
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: example(properties.get(name, {}), random, depth + 1) for name in schema.get("required", ())}
    if kind == "array":
        prefix = schema.get("prefixItems", [])
        rest = [schema.get("items", {})] * max(0, schema.get("minItems", 0) - len(prefix))
        return [example(item, random, depth + 1) for item in [*prefix, *rest]]
    if kind == "integer":
        low = schema.get("minimum", 0)
        return int(random.integers(low, min(schema.get("maximum", low + 9), low + 2**31) + 1))
    if kind == "number":
        low = schema.get("minimum", 0.0)
        return float(random.uniform(low, min(schema.get("maximum", low + 1), low + 2.0**31)))
    if kind == "boolean":
        return bool(random.integers(2))
    return "a" * schema.get("minLength", 1) if kind == "string" else None
