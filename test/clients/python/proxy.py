"""A TCP proxy in front of a server, for what real networks do to a socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Proxy:
    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._deaf = False
        self._port = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}{self._target.path}"

    def cut(self) -> None:
        """Ends every connection with a TCP reset."""
        self._deaf = False
        for writer in list(self._writers):
            raw: socket.socket = writer.get_extra_info("socket")
            if raw.fileno() >= 0:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def deafen(self) -> None:
        """Passes nothing on to the client until `cut`; the server is still heard."""
        self._deaf = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._target.hostname
        assert self._target.port
        far_reader, far_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        self._writers |= {writer, far_writer}
        ways = [
            asyncio.create_task(self._pass(reader, far_writer, False)),
            asyncio.create_task(self._pass(far_reader, writer, True)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for end in (writer, far_writer):
            self._writers.discard(end)
            end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to_client: bool) -> None:
        try:
            while data := await reader.read(65536):
                if not (to_client and self._deaf):
                    writer.write(data)
        except ConnectionError:
            pass


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(url)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy._port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        proxy.cut()
        listener.close()
