"""A small server on a real socket, with exactly-once sessions, whose every reply a test can hold back, change or lose."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from trailgym.wire import CODES

Result = dict[str, Any]

NO_REPLY: Result = {}
"""What a script returns to say nothing."""

DIGEST = "0" * 32
RETRYABLE = {"CANCELLED", "CAPACITY", "DEADLINE", "SESSION_BUSY", "SHUTTING_DOWN"}


class Refusal(Exception):
    """What a script raises to answer with an error."""

    def __init__(self, name: str, **fields: Any) -> None:
        super().__init__(name)
        code = next(code for code, known in CODES.items() if known == name)
        data = {"name": name, "retryable": name in RETRYABLE, **fields}
        self.error: Any = {"code": code, "message": f"scripted {name}", "data": data}


class RawRefusal(Exception):
    """Answers with this very error object."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Incoming:
    socket: int
    """1 for the first socket that connected."""
    method: str
    params: dict[str, Any]
    id: Any
    frame: int
    """Requests in the frame that this one came in."""
    connection: ServerConnection

    async def raw(self, text: str | bytes) -> None:
        """Sends what is nobody's reply, or a reply of the test's own."""
        await self.connection.send(text)

    def drop(self) -> None:
        """The socket is gone without a close frame."""
        self.connection.transport.abort()

    async def close(self, code: int) -> None:
        self.connection.protocol.send_close(code)
        self.connection.send_data()


@dataclass
class Held:
    seq: int = 0
    total: float = 0
    index: int = 0
    status: str = "new"
    replies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


Next = Callable[[], Result]
Script = Callable[[Incoming, Next], "Awaitable[Result] | Result"]


class Scripted:
    def __init__(self) -> None:
        self.received: list[Incoming] = []
        """Every request and notification, in order."""
        self.sessions: dict[str, Held] = {}
        self.executed = 0
        """Calls that were executed, retries not counted."""
        self.sockets = 0
        """That were ever open."""
        self.limits = {
            "maxMessageBytes": 100_000,
            "maxBatch": 8,
            "maxSessions": 100,
            "stepTimeoutMs": 30_000,
            "leaseMs": 60_000,
        }
        self._scripts: dict[str, Script] = {}
        self._open: set[ServerConnection] = set()
        self._arrival = asyncio.Condition()
        self._listener: Server | None = None
        self._port = 0
        self._made = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/rpc"

    def on(self, method: str, script: Script) -> None:
        """`*`: every method that has no script of its own."""
        self._scripts[method] = script

    def of(self, method: str) -> list[Incoming]:
        return [request for request in self.received if request.method == method]

    async def got(self, method: str, count: int = 1) -> Incoming:
        """Once `count` messages of `method` have come in all."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self.of(method)) >= count)
        return self.of(method)[count - 1]

    def drop_all(self) -> None:
        for connection in list(self._open):
            connection.transport.abort()

    async def listen(self) -> None:
        self._listener = await serve(self._accept, "127.0.0.1", self._port, compression=None, close_timeout=1)
        self._port = next(iter(self._listener.sockets)).getsockname()[1]

    async def shut(self) -> None:
        """Refuses connections until `listen`."""
        self.drop_all()
        if self._listener is not None:
            self._listener.close(close_connections=False)
            await self._listener.wait_closed()
        self._listener = None

    async def _accept(self, connection: ServerConnection) -> None:
        self.sockets += 1
        number = self.sockets
        self._open.add(connection)
        try:
            async for text in connection:
                await self._receive(number, connection, json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            self._open.discard(connection)

    async def _receive(self, number: int, connection: ServerConnection, message: Any) -> None:
        entries = message if isinstance(message, list) else [message]
        requests = [
            Incoming(number, entry["method"], entry.get("params", {}), entry.get("id"), len(entries), connection)
            for entry in entries
        ]
        async with self._arrival:
            self.received.extend(requests)
            self._arrival.notify_all()
        task = asyncio.create_task(self._reply(connection, requests, isinstance(message, list)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, connection: ServerConnection, requests: list[Incoming], batch: bool) -> None:
        said = [reply for reply in await asyncio.gather(*map(self._answer, requests)) if reply is not None]
        if said:
            with contextlib.suppress(ConnectionClosed):
                await connection.send(json.dumps(said if batch else said[0]))

    async def _answer(self, request: Incoming) -> Result | None:
        script = self._scripts.get(request.method) or self._scripts.get("*") or (lambda _request, next: next())
        try:
            given = script(request, lambda: self._standard(request.method, request.params))
            result = given if isinstance(given, dict) else await given
        except (Refusal, RawRefusal) as refusal:
            return {"jsonrpc": "2.0", "id": request.id, "error": refusal.error}
        if result is NO_REPLY or request.id is None:
            return None
        return {"jsonrpc": "2.0", "id": request.id, "result": result}

    def _standard(self, method: str, params: dict[str, Any]) -> Result:
        if method == "initialize":
            server = {"name": "scripted", "version": "0", "instance": "i1"}
            return {
                "protocolVersion": "1",
                "server": server,
                "role": "trainer",
                "capabilities": {},
                "limits": self.limits,
            }
        if method == "env/make":
            return {"session": self._make(), "seq": 0, "env": params["env"], "leaseMs": 60_000, "stepTimeoutMs": 30_000}
        if method == "env/fork":
            return {"sessions": [self._make() for _ in range(params["count"])]}
        if method == "env/list":
            return {"envs": []}
        if method == "env/tasks":
            return {"tasks": [], "total": 0}
        if method == "env/close":
            self.sessions.pop(params["session"], None)
            return {"closed": True}
        if method == "$/cancel":
            return {}
        held = self.sessions.get(params["session"])
        if held is None:
            raise Refusal("UNKNOWN_SESSION", reason="unknown")
        return self._play(method, params, held)

    def _make(self) -> str:
        self._made += 1
        self.sessions[f"s{self._made}"] = Held()
        return f"s{self._made}"

    def _play(self, method: str, params: dict[str, Any], held: Held) -> Result:
        now = {"observation": held.total, "info": {}, "index": held.index, "seq": held.seq, "episodeReturn": 0}
        now["status"] = held.status
        if method == "env/observe":
            return now
        if method == "session/attach":
            last = {"lastReply": held.replies[-1][1]} if held.replies else {}
            return {**now, "leaseMs": 60_000, **last}
        if method == "env/snapshot":
            return {"snapshot": f"snap{held.seq}", "index": held.index, "digest": DIGEST, "bytes": 1}
        seq: int | None = params.get("seq")
        expected = held.seq
        key = method + json.dumps({key: value for key, value in params.items() if key != "seq"}, sort_keys=True)
        if seq is not None and seq < expected:
            known, stored = held.replies[seq]
            if known != key:
                raise Refusal("SEQ_CONFLICT", expected=expected)
            return stored
        if seq is not None and seq > expected:
            raise Refusal("SEQ_GAP", expected=expected)
        self.executed += 1
        result = self._execute(method, params, held)
        held.replies.append((key, result))
        held.seq += 1
        return result

    def _execute(self, method: str, params: dict[str, Any], held: Held) -> Result:
        """Observations are the sum of the actions so far, so that a step lost or played twice shows."""
        if method == "env/restore":
            return {
                "status": "running",
                "observation": held.total,
                "info": {},
                "index": held.index,
                "seq": held.seq + 1,
                "episodeReturn": 0,
            }
        held.status = "running"
        if method == "env/reset":
            held.total = held.index = 0
            return {
                "observation": 0,
                "info": {},
                "episode": "e1",
                "task": params.get("task"),
                "seed": params.get("seed", 7),
                "index": 0,
                "stateDigest": DIGEST,
            }
        action = params["action"] if isinstance(params["action"], (int, float)) else 0
        held.total += action
        held.index += 1
        return {
            "observation": held.total,
            "reward": action,
            "terminated": False,
            "truncated": False,
            "info": {},
            "index": held.index,
            "stateDigest": DIGEST,
        }


def as_role(role: str) -> Script:
    """For `initialize`: the token has this role."""
    return lambda _request, next: {**next(), "role": role}


@asynccontextmanager
async def scripted() -> AsyncIterator[Scripted]:
    server = Scripted()
    await server.listen()
    try:
        yield server
    finally:
        await server.shut()
