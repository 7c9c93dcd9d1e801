"""How is one episode played? Gymnasium's verbs on one session of the server, each step executed exactly once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Union

from typing_extensions import Self

from .connection.call import Batch, Call, ProgressListener
from .connection.connection import Connection
from .connection.results import AttachResult, ObserveResult, StepResult, read_result
from .errors import ClientError, ClosedError, ProtocolViolation
from .turn import Turn
from .wire import (
    EnvObserveResult,
    EnvResetResult,
    EnvSnapshotResult,
    EnvStepResult,
    SessionAttachResult,
    ToolSpec,
    UnknownSessionError,
)

ResetResult = EnvResetResult

SnapshotRef = Union[str, EnvSnapshotResult]
"""A snapshot's id, or what `snapshot()` returned."""

Sessions = list["AsyncSession"]

Fork = Callable[[dict[str, Any], int, bool, Union[str, None]], Awaitable[Sessions]]


class AsyncAgentSession:
    """A hold on one running episode. Survives a lost socket: the client attaches it again and repeats what was not
    answered, with the same `seq`, so the caller sees a late reply and the server executes each call once.

    Errors of every verb: WireError as in the method's documentation; ClientError for what did not cross the wire. After a
    WireError the state is as it was, and so is `seq`.

    This class is what a token of the role agent can do with an episode that its trainer has reset; `reward` and `info` of
    its results are None unless the token discloses them.
    """

    def __init__(
        self, connection: Connection, id: str, env: str | None, seq: int, forget: Callable[[Any], None]
    ) -> None:
        """Use `make` and `attach` of the client."""
        self.id = id
        self.env = env
        """None for one that was attached: the server does not say."""
        self.tools: list[ToolSpec] | None = None
        """The tools of the episode's task, as the last reset told them; None where the action is no tool call."""
        self._connection = connection
        self._turn = Turn(id, seq)
        self._forget = forget
        self._gone = False
        connection.held[id] = None

    @property
    def seq(self) -> int:
        """The number that the next reset, step or restore will have."""
        return self._turn.seq

    async def step(
        self,
        action: Any,
        *,
        timeout_ms: int | None = None,
        extras: Mapping[str, Any] | None = None,
        on_progress: ProgressListener | None = None,
    ) -> EnvStepResult:
        """Plays one action. `terminated`: do not bootstrap; `truncated`: bootstrap.

        `timeout_ms`: deadline of this call, 1 to 86 400 000; default the session's. The server kills the trial and says
        DEADLINE. `extras`: kept with the transition in the trajectory, such as log-probs. Raises SessionBusy while another
        reset, step or restore of this session runs; LateCommit once after one that was abandoned and committed all the
        same."""
        params = {"action": action, "timeoutMs": timeout_ms, "extras": extras}
        result: EnvStepResult = await self._mutate("env/step", params, on_progress)
        return result

    async def call_tool(self, tool: str, /, **arguments: Any) -> EnvStepResult:
        """`step` for environments whose action is a tool call."""
        return await self.step({"tool": tool, "arguments": arguments})

    async def observe(self) -> EnvObserveResult:
        """The last committed value. Never waits for a running step."""
        result: EnvObserveResult = await self._ask("env/observe", {"session": self.id})
        return result

    async def resync(self) -> SessionAttachResult:
        """After SEQ_GAP, SEQ_CONFLICT or on a session that somebody else steps too: takes the server's `seq` and returns
        where the session is, with the last reply. Never done unasked: a call between may be lost to this client."""
        attached: SessionAttachResult = await self._resync()
        return attached

    def detach(self) -> None:
        """Lets go without closing: the session lives on, for another client, until its lease runs out."""
        self._gone = True
        self._connection.held.pop(self.id, None)
        self._forget(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.env or '?'}, seq {self.seq}>"

    async def _mutate(self, method: str, params: dict[str, Any], on_progress: ProgressListener | None) -> Any:
        await self._ready()
        call = self._begin(method, params, None, on_progress)
        return self._kept(await self._connection.reply(call, params.get("timeoutMs")))

    async def _resync(self) -> Any:
        await self._ready()
        attached = await self._ask("session/attach", {"session": self.id})
        self._turn.resync(attached.seq)
        return attached

    async def _ready(self) -> None:
        self._assert_open()
        while self._turn.awaits_abandoned:
            await self._turn.settled()
            self._assert_open()

    def _begin(
        self, method: str, params: dict[str, Any], batch: Batch | None, on_progress: ProgressListener | None
    ) -> Call:
        self._assert_open()
        turn = self._turn
        turn.admit(method)
        given = {key: value for key, value in params.items() if value is not None or key == "action"}
        numbered = {"session": self.id, "seq": turn.seq, **given}
        connection = self._connection
        call = connection.ask(
            method,
            numbered,
            batch=batch,
            on_progress=on_progress,
            on_settled=self._settled,
            on_orphan=self._orphan,
        )
        turn.begin(call)
        return call

    def _settled(self, call: Call, committed: bool) -> None:
        self._turn.settle(committed)

    def _orphan(self, call: Call) -> None:
        try:
            result = self._kept(read_result(call.method, call.result, self._connection.welcome.role))
        except ProtocolViolation:
            # Nobody can be told of that any more.
            result = call.result
        self._turn.late(call.method, result)

    def _kept(self, result: Any) -> Any:
        if isinstance(result, EnvResetResult):
            self.tools = result.tools
        elif isinstance(result, EnvStepResult) and result.next_episode is not None:
            self.tools = result.next_episode.tools
        return result

    async def _ask(self, method: str, params: dict[str, Any], on_orphan: Callable[[Call], None] | None = None) -> Any:
        self._assert_open()
        return await self._connection.reply(self._connection.ask(method, params, on_orphan=on_orphan))

    def _assert_open(self) -> None:
        if self._gone:
            raise ClosedError("session")


class AsyncSession(AsyncAgentSession):
    """A hold on one running episode: everything that a trainer may do with it."""

    def __init__(
        self,
        connection: Connection,
        id: str,
        env: str | None,
        seq: int,
        forget: Callable[[Any], None],
        own: bool,
        fork: Fork,
    ) -> None:
        super().__init__(connection, id, env, seq, forget)
        self._own = own
        self._fork = fork
        self._closing: asyncio.Task[None] | None = None

    async def reset(
        self,
        *,
        seed: int | None = None,
        task: str | None = None,
        split: str | None = None,
        options: Mapping[str, Any] | None = None,
        timeout_ms: int | None = None,
        on_progress: ProgressListener | None = None,
    ) -> ResetResult:
        """Starts an episode. Without `seed` (an integer from 0) the server draws one and the result says it; without
        `task` the seed chooses one of `split`. `options` win over those of `make`, key by key."""
        params = {"seed": seed, "task": task, "split": split, "options": options, "timeoutMs": timeout_ms}
        result: ResetResult = await self._mutate("env/reset", params, on_progress)
        return result

    async def step(
        self,
        action: Any,
        *,
        timeout_ms: int | None = None,
        extras: Mapping[str, Any] | None = None,
        on_progress: ProgressListener | None = None,
    ) -> StepResult:
        params = {"action": action, "timeoutMs": timeout_ms, "extras": extras}
        result: StepResult = await self._mutate("env/step", params, on_progress)
        return result

    step.__doc__ = AsyncAgentSession.step.__doc__

    async def call_tool(self, tool: str, /, **arguments: Any) -> StepResult:
        """`step` for environments whose action is a tool call."""
        return await self.step({"tool": tool, "arguments": arguments})

    async def observe(self) -> ObserveResult:
        """The last committed value. Never waits for a running step."""
        result: ObserveResult = await self._ask("env/observe", {"session": self.id})
        return result

    async def restore(self, snapshot: SnapshotRef, *, on_progress: ProgressListener | None = None) -> ObserveResult:
        """Goes on from a snapshot of the same environment."""
        result: ObserveResult = await self._mutate("env/restore", {"snapshot": id_of(snapshot)}, on_progress)
        return result

    async def snapshot(self, label: str | None = None) -> EnvSnapshotResult:
        """Names the last committed value. It outlives the session. Raises ConnectionLost when it may or may not have been
        made."""
        params = {"session": self.id, **({} if label is None else {"label": label})}
        result: EnvSnapshotResult = await self._ask("env/snapshot", params)
        return result

    async def fork(self, count: int, *, retry_capacity: bool = False) -> Sessions:
        """Independent copies of the last committed value. `count`: 1 to 1024."""
        self._assert_open()
        return await self._fork({"session": self.id}, count, retry_capacity, self.env)

    async def resync(self) -> AttachResult:
        attached: AttachResult = await self._resync()
        return attached

    resync.__doc__ = AsyncAgentSession.resync.__doc__

    async def close(self) -> None:
        """Ends the session and what runs in it; a running call gets CANCELLED. Again: waits for the first."""
        if self._closing is None:
            if self._gone:
                return
            self._closing = self._connection.loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes a session that this client made; only lets go of one that it attached to. Needs no server."""
        if not self._own:
            self.detach()
            return
        # Without a connection the lease closes it; that must not hide the error which ended the caller's block.
        with contextlib.suppress(ClientError):
            await self.close()

    async def _close(self) -> None:
        self._gone = True
        try:
            await self._connection.reply(self._connection.ask("env/close", {"session": self.id}))
        except UnknownSessionError:
            # Expired, or closed by another client: gone is what was asked for.
            pass
        except Exception:
            self._gone = False
            self._closing = None
            raise
        self.detach()


def id_of(snapshot: SnapshotRef) -> str:
    return snapshot if isinstance(snapshot, str) else snapshot.snapshot
