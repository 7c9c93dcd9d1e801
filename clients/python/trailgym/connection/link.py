"""One WebSocket: is it open, what does it say, and when exactly is it gone? Knows nothing of JSON-RPC.

It drives websockets' protocol itself instead of its connection class: many frames are read from one packet without a queue
and a task switch for each, and what is sent in one turn of the loop leaves in one packet.
"""

from __future__ import annotations

import asyncio
import ssl as ssl_module
from collections.abc import Callable
from typing import cast

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidURI
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from ..errors import ConnectionLost
from ..wire import SUBPROTOCOL

OnFrame = Callable[[bytes, bool], None]
"""A whole message, and whether it is text."""
OnEnd = Callable[[int, str], None]
"""The close code (1006 when the peer sent none) and the reason. Once, whoever ended it; no frame comes after it."""


class Link(asyncio.Protocol):
    def __init__(
        self, protocol: ClientProtocol, on_frame: OnFrame, on_heard: Callable[[], None], on_end: OnEnd
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._on_frame = on_frame
        self._on_heard = on_heard
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._upgraded: asyncio.Future[None] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._fragments: list[bytes] = []
        self._is_text = True
        self._flushing = False
        self._ended = False

    @staticmethod
    async def open(
        url: str,
        ssl: ssl_module.SSLContext | None,
        on_frame: OnFrame,
        on_heard: Callable[[], None],
        on_end: OnEnd,
    ) -> Link:
        """Raises ConnectionLost when it does not open. No compression: frames are small, and it costs more than it
        saves."""
        try:
            uri = parse_uri(url)
        except InvalidURI as error:
            raise ValueError(str(error)) from None
        # No limit of its own: the server's limits are the caller's choice.
        protocol = ClientProtocol(uri, subprotocols=[Subprotocol(SUBPROTOCOL)], max_size=None)
        loop = asyncio.get_running_loop()
        link = Link(protocol, on_frame, on_heard, on_end)
        try:
            await loop.create_connection(lambda: link, uri.host, uri.port, ssl=(ssl or True) if uri.secure else None)
            await link._upgraded
        except OSError as error:
            raise ConnectionLost(f"cannot connect to {url}: {error}") from error
        finally:
            if not link.writable:
                link.drop("the upgrade failed")
        return link

    @property
    def writable(self) -> bool:
        """False from the moment the other side starts to close: what is sent then is surely not delivered."""
        return not self._ended and self._protocol.state is State.OPEN

    def send(self, text: bytes) -> None:
        self._protocol.send_text(text)
        # With whatever else is sent in this turn of the loop.
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def ping(self) -> None:
        if self.writable:
            self._protocol.send_ping(b"")
            self._flush()

    def drop(self, reason: str) -> None:
        """Ends the link now, without waiting for the other side, which may be dead."""
        self._end(1006, reason)
        if self._transport is not None:
            self._transport.abort()

    async def close(self, timeout: float) -> None:
        """Ends the link and returns once the socket is gone, after `timeout` seconds at the latest."""
        was_open = self.writable
        self._end(1000, "closed by this client")
        if was_open:
            self._protocol.send_close(1000)
            self._flush()
            await asyncio.wait([self._gone], timeout=timeout)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._on_heard()
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._receive(event)
            elif self._protocol.handshake_exc is None:
                self._upgraded.set_result(None)
        if self._protocol.handshake_exc is not None and not self._upgraded.done():
            self._upgraded.set_exception(ConnectionLost(f"the upgrade was refused: {self._protocol.handshake_exc}"))
        self._flush()
        if self._protocol.close_expected() and self._protocol.close_rcvd is not None:
            self._end(self._protocol.close_rcvd.code, self._protocol.close_rcvd.reason)

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        reason = "" if exc is None else str(exc)
        if not self._upgraded.done():
            self._upgraded.set_exception(ConnectionLost(f"the socket was closed during its upgrade {reason}".rstrip()))
            # Nobody may be waiting for it any more.
            self._upgraded.exception()
        failure = self._protocol.parser_exc
        self._end(1006, str(failure) if failure is not None and not isinstance(failure, EOFError) else reason)
        if not self._gone.done():
            self._gone.set_result(None)

    def _receive(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT) or self._ended:
            return
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
            if frame.fin:
                self._on_frame(bytes(frame.data), self._is_text)
                return
        self._fragments.append(bytes(frame.data))
        if frame.fin:
            message = b"".join(self._fragments)
            self._fragments.clear()
            self._on_frame(message, self._is_text)

    def _flush(self) -> None:
        self._flushing = False
        chunks = self._protocol.data_to_send()
        if not chunks or self._transport is None:
            return
        self._transport.write(b"".join(chunks))
        # websockets' sign for the end of the stream.
        if chunks[-1] == b"" and self._transport.can_write_eof():
            self._transport.write_eof()

    def _end(self, code: int, reason: str) -> None:
        if self._ended:
            return
        self._ended = True
        self._on_end(code, reason)
