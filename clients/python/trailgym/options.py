"""What may a caller of `connect` choose, and what holds when nothing is chosen?"""

from __future__ import annotations

import logging
import ssl as ssl_module
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypedDict, TypeVar, Union

from .errors import ProtocolViolation
from .wire import Role

log = logging.getLogger("trailgym")


@dataclass(frozen=True)
class Reconnect:
    max_attempts: int = 20
    """Attempts in a row before the client gives up and closes. An answered call starts the count again."""
    min_delay_ms: float = 100
    """Wait before the first attempt; each further wait is twice as long. Half of it is random."""
    max_delay_ms: float = 5000
    """The longest wait; also how long a socket must live for the count to start again."""


@dataclass(frozen=True)
class Opened:
    """Initialised; the sessions are attached again and unanswered calls sent again."""

    instance: str
    """Differs after a restart of the server."""


@dataclass(frozen=True)
class Lost:
    """The socket is gone."""

    code: int
    """The WebSocket's close code; 1006 when there was none."""
    reason: str


@dataclass(frozen=True)
class Reconnecting:
    """An attempt will start in `delay_ms`. `attempt` counts from 1."""

    attempt: int
    delay_ms: float


@dataclass(frozen=True)
class Closed:
    """The last event. `error` says why when it was not `close()`."""

    error: Exception | None


StateChange = Union[Opened, Lost, Reconnecting, Closed]
"""One event per change, in the order in which they happen."""


class ConnectOptions(TypedDict, total=False):
    """Keyword arguments of `connect` and `connect_async`."""

    token: str | None
    """Sent in `initialize`."""
    traceparent: str | None
    """W3C `traceparent` of the trace that this client's calls belong to: in the server's log and spans."""
    name: str
    """How this client calls itself in the server's log. At most 256 characters."""
    reconnect: Reconnect | bool
    """False: a lost socket closes the client."""
    connect_attempts: int
    """Attempts of `connect` itself, for a server that is still starting; waits as `reconnect` says. Default 1."""
    connect_timeout_ms: float
    """For one attempt: upgrade and `initialize` together. Default 10 000 ms."""
    heartbeat_ms: float
    """After so much silence the client pings the server, and after as much again it takes the socket for dead and
    reconnects. 0: never. Default 20 000 ms."""
    grace_ms: float
    """How long after its `timeout_ms` a call still waits for the server to say DEADLINE. Default 2000 ms."""
    ssl: ssl_module.SSLContext | None
    """For `wss:`; default the platform's."""
    on_state_change: Callable[[StateChange], None] | None
    """What it raises is logged. The sync client calls it on its background thread."""
    on_violation: Callable[[ProtocolViolation], None] | None
    """The server sent what it should not have; the client has dealt with it. For logs. What it raises is logged."""


@dataclass(frozen=True)
class Settings:
    url: str
    role: Role | None = None
    """The role that the token must have."""
    token: str | None = field(default=None, repr=False)
    traceparent: str | None = None
    name: str = "trailgym-python"
    reconnect: Reconnect | bool = True
    connect_attempts: int = 1
    connect_timeout_ms: float = 10_000
    heartbeat_ms: float = 20_000
    grace_ms: float = 2000
    ssl: ssl_module.SSLContext | None = None
    on_state_change: Callable[[StateChange], None] | None = None
    on_violation: Callable[[ProtocolViolation], None] | None = None

    @property
    def delays(self) -> Reconnect:
        return self.reconnect if isinstance(self.reconnect, Reconnect) else Reconnect()


T = TypeVar("T")


def tell(listener: Callable[[T], None] | None, event: T) -> None:
    """A callback that raises must not take the connection, and everybody else's calls, down with it."""
    if listener is None:
        return
    try:
        listener(event)
    except Exception:
        log.exception("a listener failed")
