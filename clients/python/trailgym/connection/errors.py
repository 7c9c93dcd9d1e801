"""Which exception is the `error` of a response?"""

from __future__ import annotations

from typing import Any

from .._model import WireError
from ..errors import ProtocolViolation
from ..wire import CODES, ERRORS


def error_of(error: Any, method: str) -> Exception:
    """A WireError of the class for its name; ProtocolViolation for what has not the shape of an error."""
    known = _parts(error)
    if known is None:
        return ProtocolViolation(f"the server answered {method} with a malformed error", error)
    message, name, code, retryable, data = known
    return ERRORS.get(name, WireError)(message, name, code, retryable, data)


def _parts(error: Any) -> tuple[str, str, int, bool, dict[str, Any]] | None:
    if not isinstance(error, dict):
        return None
    code, message, data = error.get("code"), error.get("message"), error.get("data")
    if type(code) is not int or not isinstance(message, str):
        return None
    if "data" not in error:
        return message, CODES.get(code, "INTERNAL_ERROR"), code, False, {}
    if not isinstance(data, dict):
        return None
    name, retryable = data.get("name"), data.get("retryable")
    if not isinstance(name, str) or not isinstance(retryable, bool):
        return None
    fields = {key: value for key, value in data.items() if key not in ("name", "retryable")}
    return message, name, code, retryable, fields
