"""What is one call, and what may be done with it when the socket is lost before its answer?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..wire import METHODS

Delivery = Literal["read", "seq", "once", "link"]
"""
- `read`: changes nothing, or the same answer comes again (`env/close`): sent again freely.
- `seq`: mutating, with the same `seq`: sent again, and the server gives the stored reply if it was committed.
- `once`: never sent again after it was written: the server might execute it twice.
- `link`: belongs to one socket (`initialize`, attaching again) and ends with it.
"""


@dataclass(frozen=True)
class Progress:
    """How far a running call is."""

    fraction: float | None = None
    """0 to 1."""
    message: str | None = None
    position: int | None = None
    """Place in the queue of a call that waits for capacity."""


ProgressListener = Callable[[Progress], None]


class Batch:
    """Calls that go out in one frame. Open until it is sent; `settled` is done when all are answered."""

    __slots__ = ("calls", "open", "settled", "unsettled")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.open = True
        self.calls: list[Call] = []
        self.unsettled = 0
        self.settled: asyncio.Future[None] = loop.create_future()


class Call:
    __slots__ = (
        "abandoned",
        "batch",
        "cancelled",
        "data",
        "delivery",
        "done",
        "error",
        "ever_written",
        "future",
        "id",
        "method",
        "on_orphan",
        "on_progress",
        "on_settled",
        "result",
        "written",
    )

    def __init__(
        self,
        id: int,
        method: str,
        data: bytes,
        delivery: Delivery,
        future: asyncio.Future[None] | None,
        batch: Batch | None,
        on_progress: ProgressListener | None,
        on_settled: Callable[[Call, bool], None] | None,
        on_orphan: Callable[[Call], None] | None,
    ) -> None:
        self.id = id
        self.method = method
        self.data = data
        """The request as it is written, byte for byte the same each time."""
        self.delivery = delivery
        self.future = future
        """Done when the call is, without a result; None: the batch tells instead."""
        self.batch = batch
        self.on_progress = on_progress
        self.on_settled = on_settled
        """Before anybody else hears of it; with whether it has a result."""
        self.on_orphan = on_orphan
        """Takes a result whose caller is gone."""
        self.written = False
        """To the present socket."""
        self.ever_written = False
        """To any socket: the server may know of it."""
        self.cancelled = False
        """`$/cancel` was asked for; it is sent again when the call is."""
        self.abandoned = False
        """The caller no longer waits; the answer still decides what the session's next `seq` is."""
        self.done = False
        self.result: Any = None
        """As it came, not validated yet."""
        self.error: Exception | None = None

    def settle(self, result: Any, error: Exception | None) -> None:
        """The call was answered, or never will be."""
        self.done = True
        if self.on_settled is not None:
            self.on_settled(self, error is None)
        if self.abandoned:
            if error is None:
                self.result = result
                self.orphan()
            return
        self.result = result
        self.error = error
        self._wake()

    def release(self, error: Exception) -> None:
        """Lets the caller go with `error`, though the call is not answered."""
        self.abandoned = True
        self.error = error
        self._wake()

    def _wake(self) -> None:
        if self.future is not None:
            if not self.future.done():
                self.future.set_result(None)
        elif self.batch is not None:
            self.batch.unsettled -= 1
            if self.batch.unsettled == 0 and not self.batch.settled.done():
                self.batch.settled.set_result(None)

    def orphan(self) -> None:
        """Hands a result on whose caller is gone."""
        if self.on_orphan is not None:
            self.on_orphan(self)


_SEQUENCED = frozenset({"env/reset", "env/step", "env/restore"})
# What an observer may call changes nothing.
_READS = frozenset(name for name, method in METHODS.items() if "observer" in method.roles) | {"env/close"}


def delivery_of(method: str, params: Mapping[str, Any]) -> Delivery:
    """A method that this version does not know is `once`, the careful choice."""
    if method in _READS:
        return "read"
    return "seq" if method in _SEQUENCED and params.get("seq") is not None else "once"
