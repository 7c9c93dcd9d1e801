"""Is this the result that the method promises, and what are the values in it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .._model import Result
from ..errors import ProtocolViolation
from ..values import CodecError, decode
from ..wire import (
    METHODS,
    EnvObserveResult,
    EnvStepResult,
    Role,
    SessionAttachResult,
)


class StepResult(EnvStepResult):
    """What came of an action. `final_observation`, `final_info` and `next_episode` only with `sameStep` autoreset, in
    the step that ended an episode."""

    reward: float
    info: dict[str, Any]


class ObserveResult(EnvObserveResult):
    """The last committed value of a session."""

    episode_return: float
    info: dict[str, Any]


class AttachResult(SessionAttachResult):
    """Where a session is, and its last reply."""

    episode_return: float
    info: dict[str, Any]


_TOLD: dict[str, type[Result]] = {
    "env/step": StepResult,
    "env/observe": ObserveResult,
    "env/restore": ObserveResult,
    "session/attach": AttachResult,
}
"""What the shapes leave open for the sake of agents. Whoever trains without it would learn from nothing."""


def _validators(models: dict[str, type[Result]]) -> dict[str, Callable[[Any], Any]]:
    return {name: TypeAdapter(model).validator.validate_python for name, model in models.items()}


_FOR_AGENTS = _validators({name: method.result for name, method in METHODS.items()})
_FOR_OTHERS = {**_FOR_AGENTS, **_validators(_TOLD)}

# The fields that hold values of the codec; the others are plain JSON, such as a JSON Schema with a key `$type`.
_VALUES: dict[str, tuple[str, ...]] = {
    "env/reset": ("observation", "info"),
    "env/step": ("observation", "info", "finalObservation", "finalInfo"),
    "env/observe": ("observation", "info"),
    "env/restore": ("observation", "info"),
    "env/tasks": ("tasks",),
    "session/attach": ("observation", "info"),
    "trajectory/get": ("options",),
}
_REPLY = (*_VALUES["env/step"], "extras", "action")


def read_result(method: str, raw: Any, role: Role) -> Any:
    """A model of the method's result. Raises ProtocolViolation when it does not have the shape that the method promises
    to this role. A method that this version does not know gives the JSON as it came."""
    validate = (_FOR_AGENTS if role == "agent" else _FOR_OTHERS).get(method)
    if validate is None:
        return raw
    try:
        return validate(_decoded(method, raw))
    except CodecError as error:
        raise ProtocolViolation(f"the result of {method} holds a malformed value ({error})", raw) from error
    except ValidationError as error:
        issue = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in issue["loc"])
        how = f"{place}: {issue['msg']}"
        raise ProtocolViolation(f"the result of {method} is not what it promises ({how})", raw) from error


def _decoded(method: str, raw: Any) -> Any:
    fields = _VALUES.get(method)
    if fields is None or not isinstance(raw, dict):
        return raw
    result = _decoded_fields(raw, fields)
    if method == "session/attach" and isinstance(raw.get("lastReply"), dict):
        result["lastReply"] = _decoded_fields(raw["lastReply"], _REPLY)
    if method == "trajectory/get":
        if isinstance(raw.get("opening"), dict):
            result["opening"] = _decoded_fields(raw["opening"], _REPLY)
        if isinstance(raw.get("transitions"), list):
            result["transitions"] = [
                _decoded_fields(one, _REPLY) if isinstance(one, dict) else one for one in raw["transitions"]
            ]
    return result


def _decoded_fields(raw: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    result = dict(raw)
    for field in fields:
        if field in raw:
            result[field] = decode(raw[field], field)
    return result
