"""How is one episode played from plain, blocking code?"""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, TypeVar

from typing_extensions import Self

from ..connection.call import ProgressListener
from ..connection.results import AttachResult, ObserveResult, StepResult
from ..errors import ClosedError
from ..session import AsyncAgentSession, AsyncSession, ResetResult, SnapshotRef
from ..wire import EnvObserveResult, EnvSnapshotResult, EnvStepResult, SessionAttachResult, ToolSpec
from .portal import Portal

T = TypeVar("T")

Sessions = list["Session"]


class AgentSession:
    """As AsyncAgentSession, for blocking code. Any thread may call it; two that step at once are told SessionBusy."""

    def __init__(self, portal: Portal, session: AsyncAgentSession) -> None:
        """Use `attach` of the client."""
        self._portal = portal
        self._session = session

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def env(self) -> str | None:
        """None for one that was attached: the server does not say."""
        return self._session.env

    @property
    def seq(self) -> int:
        """The number that the next reset, step or restore will have."""
        return self._session.seq

    @property
    def tools(self) -> list[ToolSpec] | None:
        """The tools of the episode's task, as the last reset told them; None where the action is no tool call."""
        return self._session.tools

    def step(
        self,
        action: Any,
        *,
        timeout_ms: int | None = None,
        extras: Mapping[str, Any] | None = None,
        on_progress: ProgressListener | None = None,
    ) -> EnvStepResult:
        step = self._session.step(action, timeout_ms=timeout_ms, extras=extras, on_progress=on_progress)
        return self._mutate("env/step", step)

    step.__doc__ = AsyncAgentSession.step.__doc__

    def call_tool(self, tool: str, /, **arguments: Any) -> EnvStepResult:
        """`step` for environments whose action is a tool call."""
        return self.step({"tool": tool, "arguments": arguments})

    def observe(self) -> EnvObserveResult:
        """The last committed value. Never waits for a running step."""
        return self._portal.run(self._session.observe())

    def resync(self) -> SessionAttachResult:
        return self._portal.run(self._session.resync())

    resync.__doc__ = AsyncAgentSession.resync.__doc__

    def detach(self) -> None:
        """Lets go without closing: the session lives on, for another client, until its lease runs out."""
        with contextlib.suppress(ClosedError):
            self._portal.run(_detached(self._session))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return repr(self._session).replace("Async", "", 1)

    def _mutate(self, method: str, call: Coroutine[Any, Any, T]) -> T:
        return self._portal.run(call, lambda result: self._session._turn.late(method, result))


class Session(AgentSession):
    """As AsyncSession, for blocking code. Any thread may call it; two that step at once are told SessionBusy. Ctrl-C during
    a step ends it at the server too."""

    _session: AsyncSession

    def __init__(self, portal: Portal, session: AsyncSession) -> None:
        """Use `make` and `attach` of the client."""
        super().__init__(portal, session)

    def reset(
        self,
        *,
        seed: int | None = None,
        task: str | None = None,
        split: str | None = None,
        options: Mapping[str, Any] | None = None,
        timeout_ms: int | None = None,
        on_progress: ProgressListener | None = None,
    ) -> ResetResult:
        reset = self._session.reset(
            seed=seed, task=task, split=split, options=options, timeout_ms=timeout_ms, on_progress=on_progress
        )
        return self._mutate("env/reset", reset)

    reset.__doc__ = AsyncSession.reset.__doc__

    def step(
        self,
        action: Any,
        *,
        timeout_ms: int | None = None,
        extras: Mapping[str, Any] | None = None,
        on_progress: ProgressListener | None = None,
    ) -> StepResult:
        step = self._session.step(action, timeout_ms=timeout_ms, extras=extras, on_progress=on_progress)
        return self._mutate("env/step", step)

    step.__doc__ = AsyncSession.step.__doc__

    def call_tool(self, tool: str, /, **arguments: Any) -> StepResult:
        """`step` for environments whose action is a tool call."""
        return self.step({"tool": tool, "arguments": arguments})

    def observe(self) -> ObserveResult:
        """The last committed value. Never waits for a running step."""
        return self._portal.run(self._session.observe())

    def restore(self, snapshot: SnapshotRef, *, on_progress: ProgressListener | None = None) -> ObserveResult:
        """Goes on from a snapshot of the same environment."""
        return self._mutate("env/restore", self._session.restore(snapshot, on_progress=on_progress))

    def snapshot(self, label: str | None = None) -> EnvSnapshotResult:
        return self._portal.run(self._session.snapshot(label))

    snapshot.__doc__ = AsyncSession.snapshot.__doc__

    def fork(self, count: int, *, retry_capacity: bool = False) -> Sessions:
        """Independent copies of the last committed value. `count`: 1 to 1024."""
        forks = self._portal.run(self._session.fork(count, retry_capacity=retry_capacity))
        return [Session(self._portal, fork) for fork in forks]

    def resync(self) -> AttachResult:
        return self._portal.run(self._session.resync())

    resync.__doc__ = AsyncSession.resync.__doc__

    def close(self) -> None:
        """Ends the session and what runs in it; a running call gets CANCELLED. Again: the same."""
        self._portal.run(self._session.close())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes a session that this client made; only lets go of one that it attached to. Needs no server."""
        with contextlib.suppress(ClosedError):
            self._portal.run(self._session.__aexit__(kind, error, trace))


async def _detached(session: AsyncAgentSession) -> None:
    session.detach()
