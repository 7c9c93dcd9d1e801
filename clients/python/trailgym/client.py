"""What can be asked of a server over one connection?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from typing_extensions import Self, Unpack

from . import wire
from .capacity import when_there_is_room
from .connection.call import Batch, Call, ProgressListener
from .connection.connection import Connection
from .options import ConnectOptions, Settings
from .pages import pages
from .session import AsyncAgentSession, AsyncSession, Sessions, SnapshotRef, id_of
from .vector import AsyncVectorEnv
from .wire import Autoreset, EnvEntry, EnvTasksResultTask, InitializeResult, Role

Task = EnvTasksResultTask
Tasks = list[Task]
EnvEntries = list[EnvEntry]

FAREWELL = 2.0
"""Seconds for which `close` waits for the server to close the sessions that this client made."""


class AsyncAgentClient:
    """One connection, and what a token of the role agent can do with it. Any number of sessions share it, and their calls
    run side by side. It belongs to the event loop in which it was connected."""

    def __init__(self, connection: Connection) -> None:
        """Use `connect_async`."""
        self._connection = connection
        self._own: dict[AsyncSession, None] = {}
        self._closing: asyncio.Task[None] | None = None

    @property
    def welcome(self) -> InitializeResult:
        """Server, role, capabilities and limits, as of the last (re)connection."""
        return self._connection.welcome

    async def attach(self, session: str) -> AsyncAgentSession:
        """Takes up a session of the same principal, made elsewhere, at the server's `seq`."""
        attached = await self.call("session/attach", {"session": session})
        return AsyncAgentSession(self._connection, session, None, attached.seq, lambda _: None)

    async def list(self) -> EnvEntries:
        """Every environment that the server has."""
        envs: EnvEntries = []
        async for page in pages(lambda cursor: self.call("env/list", {"cursor": cursor} if cursor else {})):
            envs.extend(page.envs)
        return envs

    async def tasks(self, env: str, *, split: str | None = None, limit: int | None = None) -> AsyncIterator[Task]:
        """The tasks of an environment, their public fields only, as attributes; further pages are fetched as the iteration
        reaches them. `limit`: at most this many in all."""
        async for page in self._task_pages(env, split, limit):
            for task in page:
                yield task

    async def _task_pages(self, env: str, split: str | None, limit: int | None) -> AsyncIterator[Tasks]:
        asked: wire.EnvTasksParams = {"env": env}
        if split is not None:
            asked["split"] = split
        if limit is not None and limit < 1000:
            asked["limit"] = max(1, limit)

        async def fetch(cursor: str | None) -> wire.EnvTasksResult:
            return await self.call("env/tasks", {**asked, "cursor": cursor} if cursor else asked)

        given = 0
        async for page in pages(fetch):
            yield page.tasks if limit is None else page.tasks[: limit - given]
            given += len(page.tasks)
            if limit is not None and given >= limit:
                return

    if TYPE_CHECKING:

        @property
        def call(self) -> wire.AsyncCaller: ...

    else:

        async def call(self, method: str, params: Mapping[str, Any]) -> Any:
            """Any method, typed by its schemas, with params under their wire names. A mutating call without `seq` has no
            protection: it is not repeated after a lost socket. Sessions made this way are not attached again."""
            return await self._connection.reply(self._connection.ask(method, params))

    async def close(self) -> None:
        """Closes the sessions that this client made (detach those that should live on), then the socket; unanswered calls
        get ClosedError. Does not fail, and without a server does not wait. Again: waits for the first."""
        if self._closing is None:
            self._closing = self._connection.loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._connection.settings.url}>"

    async def _close(self) -> None:
        own = [*self._own]
        self._own.clear()
        if self._connection.open and own:
            await asyncio.wait([asyncio.ensure_future(session.close()) for session in own], timeout=FAREWELL)
        await self._connection.close()


class AsyncClient(AsyncAgentClient):
    """One connection and the sessions on it: everything that a trainer may do."""

    async def make(
        self,
        env_id: str,
        *,
        options: Mapping[str, Any] | None = None,
        lease_ms: int | None = None,
        step_timeout_ms: int | None = None,
        autoreset: Autoreset | None = None,
        digest: Literal["step", "end"] | None = None,
        wait: bool | None = None,
        retry_capacity: bool = False,
        on_progress: ProgressListener | None = None,
    ) -> AsyncSession:
        """Opens a session. Nothing runs before its `reset`.

        `options`: the environment's, for every reset of the session. `lease_ms`: 1000 to 7 days; a session that nobody
        calls or holds for this long is closed. `step_timeout_ms`: deadline of each reset, step and restore, 1 to
        86 400 000. `autoreset`: what happens after an episode's end; default `disabled`: a step is RESET_NEEDED. `digest`:
        `end` for a `state_digest` only at reset and at the episode's end. `wait`: where the server is full, False has
        CapacityError at once; by default the call waits in its queue for as long as the server allows. `retry_capacity`:
        on CAPACITY, wait as long as the server says and ask again.

        Raises UnknownEnvError (with `suggestions`), CapacityError, QuotaError, SandboxUnavailableError; ConnectionLost
        when the socket broke before the answer: a session may have been made, which its lease closes."""
        params = _make_params(env_id, options, lease_ms, step_timeout_ms, autoreset, digest, wait)
        return await when_there_is_room(retry_capacity, lambda: self._made(self._make(params, None, on_progress)))

    async def attach(self, session: str) -> AsyncSession:
        """Takes up a session of the same principal, made here or elsewhere, at the server's `seq`. This client then keeps
        its lease alive, but does not close it on leaving."""
        attached = await self.call("session/attach", {"session": session})
        return self._session(session, None, attached.seq, own=False)

    async def vector(
        self,
        env_id: str,
        n: int,
        *,
        options: Mapping[str, Any] | None = None,
        lease_ms: int | None = None,
        step_timeout_ms: int | None = None,
        autoreset: Autoreset | None = None,
        digest: Literal["step", "end"] | None = None,
        retry_capacity: bool = False,
    ) -> AsyncVectorEnv:
        """`n` sessions of one environment, stepped together. All are made, or none; they do not wait in a queue."""
        if n < 1:
            raise ValueError(f"a vector has 1 or more environments, not {n}")
        # Two vectors that wait for each other's sessions would wait for ever.
        params = _make_params(env_id, options, lease_ms, step_timeout_ms, autoreset, digest, wait=False)
        batch = self._connection.batch()
        calls = [self._make(params, batch) for _ in range(n)]
        await self._connection.settled_together(batch)

        async def made(call: Call) -> AsyncSession:
            first: Call | None = call

            async def attempt() -> AsyncSession:
                nonlocal first
                asked, first = first, None
                return self._made_of(asked) if asked else await self._made(self._make(params, None))

            return await when_there_is_room(retry_capacity, attempt)

        outcomes = await asyncio.gather(*map(made, calls), return_exceptions=True)
        sessions = [outcome for outcome in outcomes if isinstance(outcome, AsyncSession)]
        failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if failed:
            await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
            raise failed[0]
        return self.vector_of(sessions)

    def vector_of(self, sessions: Iterable[AsyncSession]) -> AsyncVectorEnv:
        """Sessions that are there already, stepped together from now on: forks of one value, or sessions of several
        environments. Raises ValueError for a session of another client, or one that is there twice: each environment has
        one action."""
        listed = [*sessions]
        if len(set(listed)) < len(listed):
            raise ValueError("a vector has each session once")
        foreign = next((session for session in listed if session._connection is not self._connection), None)
        if foreign is not None:
            raise ValueError(f"session {foreign.id} is of another client")
        return AsyncVectorEnv(self._connection, listed)

    async def fork(self, source: SnapshotRef | AsyncSession, count: int, *, retry_capacity: bool = False) -> Sessions:
        """Independent sessions that start from one committed value; the same actions give the same replies. `source`: a
        snapshot (its id, or what `snapshot()` returned) or a session. `count`: 1 to 1024."""
        if isinstance(source, AsyncSession):
            return await source.fork(count, retry_capacity=retry_capacity)
        return await self._fork({"snapshot": id_of(source)}, count, retry_capacity, None)

    async def _fork(self, source: dict[str, Any], count: int, retry: bool, env: str | None) -> Sessions:
        async def attempt() -> wire.EnvForkResult:
            call = self._connection.ask("env/fork", {**source, "count": count}, on_orphan=self._close_orphans)
            result: wire.EnvForkResult = await self._connection.reply(call)
            return result

        forked = await when_there_is_room(retry, attempt)
        return [self._session(id, env, 0, own=True) for id in forked.sessions]

    def _make(self, params: dict[str, Any], batch: Batch | None, on_progress: ProgressListener | None = None) -> Call:
        return self._connection.ask(
            "env/make", params, batch=batch, on_progress=on_progress, on_orphan=self._close_orphans
        )

    async def _made(self, call: Call) -> AsyncSession:
        await self._connection.settled(call)
        return self._made_of(call)

    def _made_of(self, call: Call) -> AsyncSession:
        made: wire.EnvMakeResult = self._connection.read(call)
        return self._session(made.session, made.env, made.seq, own=True)

    def _close_orphans(self, call: Call) -> None:
        """Nobody will ever use a session that was made after its caller had gone."""
        if self._connection.ended or not isinstance(call.result, dict):
            return
        made = call.result.get("sessions", [call.result.get("session")])
        for session in made if isinstance(made, list) else []:
            if isinstance(session, str):
                self._connection.ask("env/close", {"session": session})

    def _session(self, id: str, env: str | None, seq: int, *, own: bool) -> AsyncSession:
        session = AsyncSession(self._connection, id, env, seq, lambda gone: self._own.pop(gone, None), own, self._fork)
        if own:
            self._own[session] = None
        return session


def _make_params(
    env: str,
    options: Mapping[str, Any] | None,
    lease_ms: int | None,
    step_timeout_ms: int | None,
    autoreset: Autoreset | None,
    digest: str | None,
    wait: bool | None,
) -> dict[str, Any]:
    params = {
        "env": env,
        "options": options,
        "leaseMs": lease_ms,
        "stepTimeoutMs": step_timeout_ms,
        "autoreset": autoreset,
        "digest": digest,
        "wait": wait,
    }
    return {key: value for key, value in params.items() if value is not None}


C = TypeVar("C", bound=AsyncAgentClient)


class Connecting(Generic[C]):
    """Await it for a client that you close yourself, or enter it with `async with`."""

    def __init__(self, kind: type[C], settings: Settings) -> None:
        self._kind = kind
        self._settings = settings
        self._client: C | None = None

    def __await__(self) -> Generator[Any, None, C]:
        return self._connect().__await__()

    async def __aenter__(self) -> C:
        self._client = await self._connect()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def _connect(self) -> C:
        return self._kind(await Connection.connect(self._settings))


@overload
def connect_async(
    url: str, *, role: Literal["agent"], **options: Unpack[ConnectOptions]
) -> Connecting[AsyncAgentClient]: ...
@overload
def connect_async(
    url: str, *, role: Literal["trainer", "observer"] | None = None, **options: Unpack[ConnectOptions]
) -> Connecting[AsyncClient]: ...
def connect_async(
    url: str, *, role: Role | None = None, **options: Unpack[ConnectOptions]
) -> Connecting[AsyncAgentClient] | Connecting[AsyncClient]:
    """Connects to `url`, such as `ws://127.0.0.1:7474/rpc`, and agrees on a protocol version. `role`: what the token must
    have; with `agent` the client is typed as what an agent may do and is told. The other options: see ConnectOptions.

    Raises ConnectionLost when no socket opens; UnauthenticatedError, UnsupportedVersionError; WrongRole; ValueError for
    what is no WebSocket URL."""
    settings = Settings(url, role, **options)
    if role == "agent":
        return Connecting(AsyncAgentClient, settings)
    return Connecting(AsyncClient, settings)
