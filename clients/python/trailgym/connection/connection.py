"""Is there a socket, and what happens until there is one again? The life of a connection: open, lost, reconnecting, closed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

from .._model import WireError
from ..errors import (
    ClientError,
    ClosedError,
    ConnectionLost,
    DeadlinePassed,
    ProtocolViolation,
    RequestTooLarge,
    WrongLoop,
    WrongRole,
)
from ..options import Closed, Lost, Opened, Reconnecting, Settings, StateChange, tell
from ..values import encode
from ..version import __version__
from ..wire import PROTOCOL_VERSIONS, InitializeResult
from .backoff import backoff_ms
from .call import Batch, Call, Delivery, ProgressListener, delivery_of
from .frames import FrameLimits
from .heartbeat import Heartbeat
from .incoming import Garbage, ProgressOf, Response, classify
from .link import Link
from .outbox import Outbox
from .results import read_result
from .text import dumps, loads

CLOSE_TIMEOUT = 2.0

ENVELOPE_DEPTH = 2
"""Containers around params: the batch and the request. They count for the server's depth limit."""


class Connection:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.held: dict[str, None] = {}
        """Sessions that each new socket holds again, in the order in which they were made."""
        self.ended = False
        self._outbox = Outbox()
        self._link: Link | None = None
        self._heartbeat: Heartbeat | None = None
        self._welcome: InitializeResult | None = None
        self._max_bytes: float = float("inf")
        self._next_id = 1
        self._attempts = 0
        """Since a call was last answered."""
        self._opened_at = 0.0
        self._reconnecting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @staticmethod
    async def connect(settings: Settings) -> Connection:
        """Raises ConnectionLost, a WireError of `initialize`, or WrongRole."""
        connection = Connection(settings)
        await connection._establish_within(settings.connect_attempts)
        connection._attempts = 0
        return connection

    @property
    def welcome(self) -> InitializeResult:
        """What the server said of itself when this client last connected."""
        assert self._welcome is not None
        return self._welcome

    @property
    def open(self) -> bool:
        return self._link is not None and self._link.writable

    def batch(self) -> Batch:
        self.assert_usable()
        return Batch(self.loop)

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        batch: Batch | None = None,
        on_progress: ProgressListener | None = None,
        on_settled: Callable[[Call, bool], None] | None = None,
        on_orphan: Callable[[Call], None] | None = None,
    ) -> Call:
        """Makes a call; it goes out now, or with its batch, or once there is a socket. Raises ClosedError, WrongLoop,
        RequestTooLarge or CodecError (params that cannot cross the wire); then nothing was sent."""
        self.assert_usable()
        future = None if batch is not None else self.loop.create_future()
        delivery = delivery_of(method, params)
        call = self._call(method, params, delivery, future, batch, on_progress, on_settled, on_orphan)
        self._outbox.add(call)
        return call

    async def reply(self, call: Call, timeout_ms: float | None = None) -> Any:
        """The result, validated. A cancelled caller is let go at once: the server is told with `$/cancel`, and what it
        answers settles the session's `seq`. `timeout_ms` is the deadline that the server was told."""
        await self.settled(call, timeout_ms)
        return self.read(call)

    async def settled(self, call: Call, timeout_ms: float | None = None) -> None:
        assert call.future is not None
        # The server enforces the deadline and says DEADLINE; this one is for when nothing is heard from it.
        deadline = None if timeout_ms is None else self._deadline(timeout_ms, [call])
        try:
            await call.future
        except asyncio.CancelledError:
            self._let_go(call)
            raise
        finally:
            if deadline is not None:
                deadline.cancel()

    async def settled_together(self, batch: Batch, timeout_ms: float | None = None) -> None:
        """Sends the batch and waits for all of its calls."""
        self._outbox.send(batch)
        deadline = None if timeout_ms is None else self._deadline(timeout_ms, batch.calls)
        try:
            await batch.settled
        except asyncio.CancelledError:
            for call in batch.calls:
                self._let_go(call)
            raise
        finally:
            if deadline is not None:
                deadline.cancel()

    def read(self, call: Call) -> Any:
        """Raises what the call ended with."""
        if call.error is not None:
            raise call.error
        return read_result(call.method, call.result, self.welcome.role)

    async def close(self, error: Exception | None = None) -> None:
        """Ends everything; unanswered calls get ClosedError. Again: waits for the first."""
        if self._closing is None:
            self._closing = self.loop.create_task(self._shut(error))
        await asyncio.shield(self._closing)

    def assert_usable(self) -> None:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            raise WrongLoop("an async client is used outside of an event loop") from None
        if running is not self.loop:
            raise WrongLoop("this client was connected in another event loop; connect once in each")
        if self.ended:
            raise ClosedError("client")

    def _call(
        self,
        method: str,
        params: Mapping[str, Any],
        delivery: Delivery,
        future: asyncio.Future[None] | None,
        batch: Batch | None = None,
        on_progress: ProgressListener | None = None,
        on_settled: Callable[[Call, bool], None] | None = None,
        on_orphan: Callable[[Call], None] | None = None,
    ) -> Call:
        id = self._next_id
        self._next_id += 1
        data = dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": encode(params, "", ENVELOPE_DEPTH)})
        # Sent, it could end the socket for every other call, and again after each reconnect.
        if len(data) > self._max_bytes:
            raise RequestTooLarge(method, len(data), int(self._max_bytes))
        return Call(id, method, data, delivery, future, batch, on_progress, on_settled, on_orphan)

    def _let_go(self, call: Call) -> None:
        call.abandoned = True
        if call.done:
            # Answered in the same turn of the loop as the caller was cancelled.
            if call.error is None:
                call.orphan()
        elif not self.ended:
            self._outbox.cancel(call, ClientError("cancelled before it was sent"))

    def _deadline(self, timeout_ms: float, calls: list[Call]) -> asyncio.TimerHandle:
        return self.loop.call_later((timeout_ms + self.settings.grace_ms) / 1000, self._overdue, timeout_ms, calls)

    def _overdue(self, timeout_ms: float, calls: list[Call]) -> None:
        for call in calls:
            if call.done:
                continue
            passed = DeadlinePassed(call.method, timeout_ms)
            self._outbox.cancel(call, passed)
            if not call.done:
                call.release(passed)

    async def _shut(self, error: Exception | None) -> None:
        self.ended = True
        if self._reconnecting is not None:
            self._reconnecting.cancel()
        link = self._link
        self._outbox.fail_all(error or ClosedError("client"))
        if self._heartbeat is not None:
            self._heartbeat.stop()
        if link is not None:
            await link.close(CLOSE_TIMEOUT)
        self._tell(Closed(error))

    async def _establish_within(self, max_attempts: int) -> None:
        """Tries until it works, at most `max_attempts` times in a row. Raises the last error, or one that trying again
        cannot mend."""
        while True:
            self._attempts += 1
            try:
                await self._establish()
                return
            except Exception as error:
                if _is_final(error) or self._attempts >= max_attempts:
                    raise
                await self._wait(self._attempts, _retry_after_ms(error))

    async def _reconnect(self) -> None:
        delays = self.settings.delays
        try:
            if (self.loop.time() - self._opened_at) * 1000 >= delays.max_delay_ms:
                self._attempts = 0
            if self._attempts >= delays.max_attempts:
                raise ConnectionLost("each new socket was lost before it answered a call")
            await self._wait(self._attempts, 0)
            await self._establish_within(delays.max_attempts)
        except Exception as error:
            self._reconnecting = None
            gave_up = ConnectionLost(f"gave up reconnecting to {self.settings.url}: {error}")
            gave_up.__cause__ = error
            self._end(error if _is_final(error) else gave_up)

    def _end(self, error: Exception) -> None:
        # Before anything else can be asked.
        self.ended = True
        if self._closing is None:
            self._closing = self.loop.create_task(self._shut(error))

    async def _wait(self, attempts_before: int, at_least_ms: float) -> None:
        attempt = attempts_before + 1
        delay_ms = max(at_least_ms, backoff_ms(attempt, self.settings.delays, random.random()))
        if self._welcome is not None:
            self._tell(Reconnecting(attempt, delay_ms))
        await asyncio.sleep(delay_ms / 1000)

    async def _establish(self) -> None:
        """One attempt: upgrade, `initialize`, attach, resend."""
        timeout_ms = self.settings.connect_timeout_ms
        try:
            link = await asyncio.wait_for(self._handshake(), timeout_ms / 1000)
            # It may have been lost in the turns of the loop since its last frame; nobody would hear of that any more.
            if not link.writable:
                raise ConnectionLost("the socket was lost in its handshake")
        except BaseException as error:
            if self._link is not None:
                self._link.drop("the handshake failed")
            if isinstance(error, asyncio.TimeoutError):
                raise ConnectionLost(f"{self.settings.url} did not answer within {timeout_ms} ms") from None
            raise
        self._opened_at = self.loop.time()
        limits = self.welcome.limits
        self._max_bytes = limits.max_message_bytes
        period_ms = self.settings.heartbeat_ms
        self._heartbeat = Heartbeat(period_ms, link.ping, lambda: link.drop(f"nothing heard for {2 * period_ms} ms"))
        self._outbox.open(link, FrameLimits(limits.max_message_bytes, limits.max_batch))
        self._attach_all()
        self._outbox.flush()
        self._tell(Opened(self.welcome.server.instance))

    async def _handshake(self) -> Link:
        link = await Link.open(self.settings.url, self.settings.ssl, self._receive, self._heard, self._lost)
        self._link = link
        welcome = await self._initialize(link)
        if welcome.protocol_version not in PROTOCOL_VERSIONS:
            what = "the server chose a protocol version that was not offered"
            raise ProtocolViolation(what, welcome.protocol_version)
        wanted = self.settings.role
        if wanted is not None and welcome.role != wanted:
            raise WrongRole(wanted, welcome.role)
        self._welcome = welcome
        return link

    async def _initialize(self, link: Link) -> InitializeResult:
        token, traceparent = self.settings.token, self.settings.traceparent
        params = {
            "protocolVersions": list(PROTOCOL_VERSIONS),
            "client": {"name": self.settings.name, "version": __version__},
            **({} if token is None else {"token": token}),
            **({} if traceparent is None else {"traceparent": traceparent}),
        }
        call = self._call("initialize", params, "link", self.loop.create_future())
        self._outbox.write_now(call, link)
        await self.settled(call)
        if call.error is not None:
            raise call.error
        result: InitializeResult = read_result("initialize", call.result, "observer")
        return result

    def _attach_all(self) -> None:
        """The leases first: a session must not run out while older calls are sent again. Nobody waits for the answers:
        a session that is gone says so to its own next call."""
        batch = Batch(self.loop)
        for session in self.held:
            self._outbox.add(self._call("session/attach", {"session": session}, "link", None, batch))
        self._outbox.send(batch)

    def _heard(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.heard = True

    def _lost(self, code: int, reason: str) -> None:
        was_open = self._heartbeat is not None
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._heartbeat = None
        self._link = None
        if self.ended:
            return
        why = f"the socket was lost ({code}{f', {reason}' if reason else ''})"
        self._outbox.lost(why)
        # During a handshake the attempt's own loop goes on.
        if not was_open:
            return
        self._tell(Lost(code, reason))
        if self.settings.reconnect is False:
            self._end(ConnectionLost(why))
        else:
            self._reconnecting = self.loop.create_task(self._reconnect())

    def _receive(self, data: bytes, is_text: bool) -> None:
        messages, broken = _messages(data, is_text)
        garbage = broken is not None
        if broken is not None:
            self._violation(broken)
        for message in messages:
            item = classify(message)
            if isinstance(item, Response):
                garbage = not self._answer(item) or garbage
            elif isinstance(item, ProgressOf):
                self._outbox.progress(item.id, item.progress)
            elif isinstance(item, Garbage):
                self._violation(item)
                garbage = True
        # Somebody's answer may have been in it. A new socket and the same calls again bring it, or show that nothing will.
        if garbage and self._link is not None:
            self._link.drop("the server sent what cannot be read")

    def _answer(self, response: Response) -> bool:
        """False when some call will wait for ever unless this socket is given up."""
        call = self._outbox.answer(response.id, response.result, response.error)
        if call is not None:
            if call.delivery != "link":
                self._attempts = 0
            return True
        received = {"id": response.id, "result": response.result, "error": response.error}
        if response.id is None and response.error is not None:
            # The server could not tell whose request it was. With one frame under way it is clear.
            if self._outbox.fail_only_frame(response.error):
                return True
            tell(self.settings.on_violation, ProtocolViolation("an error for nobody knows which request", received))
            return False
        # Late, twice, or invented: no call waits for it, so nothing is lost with it.
        tell(self.settings.on_violation, ProtocolViolation("a reply that no call waits for", received))
        return True

    def _violation(self, garbage: Garbage) -> None:
        problem = ProtocolViolation(f"the server sent {garbage.problem}", garbage.received)
        tell(self.settings.on_violation, problem)

    def _tell(self, change: StateChange) -> None:
        tell(self.settings.on_state_change, change)


def _messages(data: bytes, is_text: bool) -> tuple[list[Any], Garbage | None]:
    if not is_text:
        return [], Garbage("a binary frame", "(binary)")
    try:
        message = loads(data)
    except (ValueError, RecursionError):
        return [], Garbage("a frame that is not JSON", data.decode(errors="replace"))
    if not isinstance(message, list):
        return [message], None
    return message, None if message else Garbage("an empty batch", "[]")


def _is_final(error: Exception) -> bool:
    """Trying again, the server would say the same."""
    if isinstance(error, WireError):
        return not error.retryable
    return isinstance(error, (ProtocolViolation, WrongRole)) or not isinstance(error, (ClientError, OSError))


def _retry_after_ms(error: Exception) -> float:
    wait = error.data.get("retryAfterMs") if isinstance(error, WireError) else None
    return wait if isinstance(wait, (int, float)) else 0
