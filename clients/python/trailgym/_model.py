"""What every result, method and error of the generated `wire.py` is built on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel, to_snake


class Result(BaseModel):
    """A result as the server sent it. Fields that this version does not know are kept, under their wire names."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=()
    )


class Method(NamedTuple):
    result: type[Result]
    roles: tuple[str, ...]


class TrailGymError(Exception):
    """The root of every error of this package: the server's answers (`WireError`) and this side's (`ClientError`). All of
    them survive a pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[BaseException], args: tuple[Any, ...], fields: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class WireError(TrailGymError):
    """An error that the server answered with. The session, and its `seq`, are as they were before the call.

    Each name has a class: `UNKNOWN_ENV` is `UnknownEnvError`, with its fields as attributes. A name that this version
    does not know is a plain `WireError`.
    """

    name: str
    """A key of `wire.ERRORS`, or the raw name where a newer server sent one that this version does not know."""
    code: int
    retryable: bool
    """Whether the same call may succeed later, unchanged."""
    data: dict[str, Any]
    """The error's fields under their wire names."""

    def __init__(self, message: str, name: str, code: int, retryable: bool, data: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.name = name
        self.code = code
        self.retryable = retryable
        self.data = dict(data)
        fields = type(self).__annotations__
        for key, value in self.data.items():
            if to_snake(key) in fields:
                setattr(self, to_snake(key), value)

    @property
    def message(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"

    def to_object(self) -> dict[str, Any]:
        """The `error` member of the response that this was."""
        return {
            "code": self.code,
            "message": self.message,
            "data": {**self.data, "name": self.name, "retryable": self.retryable},
        }
