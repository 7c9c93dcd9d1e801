"""What is in a message from the server? Garbage is named, never raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .call import Progress


@dataclass(frozen=True, slots=True)
class Response:
    id: Any
    result: Any
    error: Any
    """None where it is a result."""


@dataclass(frozen=True, slots=True)
class ProgressOf:
    id: Any
    progress: Progress


@dataclass(frozen=True, slots=True)
class Garbage:
    problem: str
    received: Any


def classify(message: Any) -> Response | ProgressOf | Garbage | None:
    """None for a notification that this version does not know: newer servers may send some."""
    if not isinstance(message, dict):
        return Garbage("a message that is not an object", message)
    error = message.get("error")
    if message.get("jsonrpc") == "2.0" and "id" in message and ("result" in message or error is not None):
        if "result" in message and error is not None:
            return Garbage("a response with both result and error", message)
        return Response(message["id"], message.get("result"), error)
    if not isinstance(message.get("method"), str) or "id" in message:
        return Garbage("neither a response nor a notification", message)
    params = message.get("params")
    if message["method"] != "$/progress" or not isinstance(params, dict):
        return None
    return ProgressOf(params.get("id"), _progress(params))


def _progress(params: dict[str, Any]) -> Progress:
    fraction, message, position = params.get("fraction"), params.get("message"), params.get("position")
    return Progress(
        fraction if type(fraction) in (int, float) else None,
        message if isinstance(message, str) else None,
        position if type(position) is int else None,
    )
