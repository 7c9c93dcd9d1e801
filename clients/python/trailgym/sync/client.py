"""What can plain, blocking code ask of a server over one connection?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, overload

from typing_extensions import Self, Unpack

from .. import client as aio
from ..connection.call import ProgressListener
from ..errors import ClosedError
from ..options import ConnectOptions
from ..session import SnapshotRef
from ..wire import Autoreset, Caller, InitializeResult, Role
from .portal import Portal
from .session import AgentSession, Session, Sessions
from .vector import VectorEnv


class AgentClient:
    """As AsyncAgentClient, for blocking code. Any thread may use it; a process that was forked may not (WrongProcess)."""

    def __init__(self, portal: Portal, client: aio.AsyncAgentClient) -> None:
        """Use `connect`."""
        self._portal = portal
        self._client = client
        portal.say_at_end(client.close)

    @property
    def welcome(self) -> InitializeResult:
        """Server, role, capabilities and limits, as of the last (re)connection."""
        return self._client.welcome

    def attach(self, session: str) -> AgentSession:
        """Takes up a session of the same principal, made elsewhere, at the server's `seq`."""
        return AgentSession(self._portal, self._portal.run(self._client.attach(session)))

    def list(self) -> aio.EnvEntries:
        """Every environment that the server has."""
        return self._portal.run(self._client.list())

    def tasks(self, env: str, *, split: str | None = None, limit: int | None = None) -> Iterator[aio.Task]:
        pages = self._client._task_pages(env, split, limit)

        async def following() -> aio.Tasks | None:
            return await anext(pages, None)

        while (page := self._portal.run(following())) is not None:
            yield from page

    tasks.__doc__ = aio.AsyncAgentClient.tasks.__doc__

    if TYPE_CHECKING:

        @property
        def call(self) -> Caller: ...

    else:

        def call(self, method: str, params: Mapping[str, Any]) -> Any:
            return self._portal.run(self._client.call(method, params))

        call.__doc__ = aio.AsyncAgentClient.call.__doc__

    def close(self) -> None:
        """Closes the sessions that this client made (detach those that should live on), then the socket. Does not fail, and
        without a server does not wait. Again: nothing."""
        with contextlib.suppress(ClosedError):
            self._portal.run(self._client.close())
        self._portal.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._client).replace("Async", "", 1)


class Client(AgentClient):
    """As AsyncClient, for blocking code. Any thread may use it; a process that was forked may not (WrongProcess)."""

    _client: aio.AsyncClient

    def __init__(self, portal: Portal, client: aio.AsyncClient) -> None:
        """Use `connect`."""
        super().__init__(portal, client)

    def make(
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
    ) -> Session:
        made = self._client.make(
            env_id,
            options=options,
            lease_ms=lease_ms,
            step_timeout_ms=step_timeout_ms,
            autoreset=autoreset,
            digest=digest,
            wait=wait,
            retry_capacity=retry_capacity,
            on_progress=on_progress,
        )
        return Session(self._portal, self._portal.run(made))

    make.__doc__ = aio.AsyncClient.make.__doc__

    def attach(self, session: str) -> Session:
        return Session(self._portal, self._portal.run(self._client.attach(session)))

    attach.__doc__ = aio.AsyncClient.attach.__doc__

    def vector(
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
    ) -> VectorEnv:
        made = self._client.vector(
            env_id,
            n,
            options=options,
            lease_ms=lease_ms,
            step_timeout_ms=step_timeout_ms,
            autoreset=autoreset,
            digest=digest,
            retry_capacity=retry_capacity,
        )
        return VectorEnv(self._portal, self._portal.run(made))

    vector.__doc__ = aio.AsyncClient.vector.__doc__

    def vector_of(self, sessions: Iterable[Session]) -> VectorEnv:
        return VectorEnv(self._portal, self._client.vector_of([session._session for session in sessions]))

    vector_of.__doc__ = aio.AsyncClient.vector_of.__doc__

    def fork(self, source: SnapshotRef | Session, count: int, *, retry_capacity: bool = False) -> Sessions:
        if isinstance(source, Session):
            return source.fork(count, retry_capacity=retry_capacity)
        forks = self._portal.run(self._client.fork(source, count, retry_capacity=retry_capacity))
        return [Session(self._portal, fork) for fork in forks]

    fork.__doc__ = aio.AsyncClient.fork.__doc__


@overload
def connect(url: str, *, role: Literal["agent"], **options: Unpack[ConnectOptions]) -> AgentClient: ...
@overload
def connect(
    url: str, *, role: Literal["trainer", "observer"] | None = None, **options: Unpack[ConnectOptions]
) -> Client: ...
def connect(url: str, *, role: Role | None = None, **options: Unpack[ConnectOptions]) -> AgentClient | Client:
    portal = Portal()
    try:
        if role == "agent":
            return AgentClient(portal, portal.run(_awaited(aio.connect_async(url, role=role, **options))))
        return Client(portal, portal.run(_awaited(aio.connect_async(url, role=role, **options))))
    except BaseException:
        portal.stop()
        raise


connect.__doc__ = aio.connect_async.__doc__


async def _awaited(connecting: aio.Connecting[aio.C]) -> aio.C:
    return await connecting
