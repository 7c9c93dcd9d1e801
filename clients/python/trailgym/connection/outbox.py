"""Which calls are unanswered, and what becomes of each when it is answered, cancelled, or its socket is lost?"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Protocol

from ..errors import ConnectionLost
from ..options import tell
from .call import Batch, Call, Progress
from .errors import error_of
from .frames import FrameLimits, frame_text, frames_of
from .text import dumps


class Channel(Protocol):
    """What the outbox may write to right now."""

    @property
    def writable(self) -> bool: ...

    def send(self, text: bytes) -> None: ...


class Outbox:
    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}
        """In the order in which they were made, which is the order in which they are sent again."""
        self._channel: Channel | None = None
        self._one_by_one = False
        """After an error that might be about any of several frames: the next one goes out when the last is answered."""
        self._limits = FrameLimits(float("inf"), 1)

    def add(self, call: Call) -> None:
        """The call goes out now, or with its batch, or once there is a socket."""
        self._calls[call.id] = call
        batch = call.batch
        if batch is not None and batch.open:
            batch.calls.append(call)
            batch.unsettled += 1
        elif call.delivery != "link" or self._channel is not None:
            self._write([call])

    def open(self, channel: Channel, limits: FrameLimits) -> None:
        """A new socket is initialised: calls made from now on go out at once."""
        self._channel = channel
        self._limits = limits

    def flush(self) -> None:
        """Everything unanswered goes out, oldest first."""
        unsent = [
            call
            for call in self._calls.values()
            if not call.written and not (call.batch is not None and call.batch.open)
        ]
        if not unsent:
            self._one_by_one = False
        self._write(unsent)

    def lost(self, reason: str) -> None:
        """The socket is gone. What must not be sent twice fails; the rest waits for `open`."""
        self._channel = None
        for call in list(self._calls.values()):
            if call.delivery == "link" or (call.abandoned and call.delivery == "read"):
                self.fail(call, ConnectionLost(reason))
            elif call.written and call.delivery == "once":
                why = f"{reason} before {call.method} was answered; it may have been executed"
                self.fail(call, ConnectionLost(why))
            else:
                call.written = False

    def send(self, batch: Batch) -> None:
        """Sends what was collected in `batch`, in as few frames as the limits allow."""
        batch.open = False
        self._write([call for call in batch.calls if not call.done])
        if batch.unsettled == 0 and not batch.settled.done():
            batch.settled.set_result(None)

    def write_now(self, call: Call, channel: Channel) -> None:
        """Writes a call of the handshake, which may not wait for `open`."""
        self._calls[call.id] = call
        call.written = call.ever_written = True
        channel.send(call.data)

    def answer(self, id: object, result: Any, error: object) -> Call | None:
        """Settles the call that this answers; None when no unanswered call has such an id."""
        # A dict takes True and 1.0 for 1, JSON-RPC does not.
        call = self._calls.get(id) if type(id) is int else None
        if call is None or not call.written:
            return None
        del self._calls[call.id]
        call.settle(result, None if error is None else error_of(error, call.method))
        if self._one_by_one:
            self.flush()
        return call

    def progress(self, id: object, progress: Progress) -> None:
        call = self._calls.get(id) if type(id) is int else None
        if call is not None and not call.abandoned:
            tell(call.on_progress, progress)

    def cancel(self, call: Call, reason: Exception) -> None:
        """Asks the server to end the call. A call that it cannot know of ends here and now, with `reason`."""
        if call.done:
            return
        if not call.ever_written:
            self.fail(call, reason)
            return
        call.cancelled = True
        if call.written:
            self._write_cancel(call)

    def fail(self, call: Call, reason: Exception) -> None:
        if self._calls.pop(call.id, None) is None:
            return
        call.settle(None, reason)
        if self._one_by_one:
            self.flush()

    def fail_all(self, reason: Exception) -> None:
        self._channel = None
        for call in list(self._calls.values()):
            # One for each: an exception that is raised by many tasks collects the tracebacks of all.
            self.fail(call, _another(reason))

    def fail_only_frame(self, error: object) -> bool:
        """Fails the calls of the one unanswered frame with an error that names no id. False when there are several
        frames; on the next socket they go out one by one, and the next such error is clear."""
        written = [call for call in self._calls.values() if call.written]
        suspects = [call for call in written if call.delivery != "link"] or written
        first = suspects[0] if suspects else None
        if first is None or not (
            len(suspects) == 1 or (first.batch is not None and all(call.batch is first.batch for call in suspects))
        ):
            self._one_by_one = True
            return False
        reason = error_of(error, first.method)
        for call in suspects:
            self.fail(call, _another(reason))
        return True

    def _under_way(self) -> bool:
        return any(call.written and call.delivery != "link" for call in self._calls.values())

    def _write(self, calls: Iterable[Call]) -> None:
        for frame in frames_of(calls, self._limits):
            # A call that finds no socket stays unwritten, so that even a `once` call may go out on the next one.
            if self._channel is None or not self._channel.writable:
                return
            if self._one_by_one and self._under_way():
                return
            for call in frame:
                call.written = call.ever_written = True
            self._channel.send(frame_text(frame))
            for call in frame:
                if call.cancelled:
                    self._write_cancel(call)

    def _write_cancel(self, call: Call) -> None:
        if self._channel is not None and self._channel.writable:
            self._channel.send(dumps({"jsonrpc": "2.0", "method": "$/cancel", "params": {"id": call.id}}))


def _another(error: Exception) -> Exception:
    other = copy.copy(error)
    other.__cause__ = error.__cause__
    return other
