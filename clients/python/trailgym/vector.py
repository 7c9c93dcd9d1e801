"""How are many sessions stepped with one frame?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import nan
from types import TracebackType
from typing import Any

from typing_extensions import Self

from .connection.call import Call, ProgressListener
from .connection.connection import Connection
from .errors import ClientError
from .session import AsyncSession


@dataclass(frozen=True, slots=True)
class VectorReset:
    """`errors[i]` is set when environment `i` failed, and then its other entries say nothing: None. The environment is as
    it was, unless the error is a ProtocolViolation."""

    observations: list[Any]
    infos: list[dict[str, Any] | None]
    errors: list[Exception | None]
    seeds: list[int | None]
    tasks: list[str | None]


@dataclass(frozen=True, slots=True)
class VectorStep:
    """`errors[i]` is set when environment `i` failed, and then its other entries say nothing: None, nan, False. The
    environment is as it was, unless the error is a ProtocolViolation."""

    observations: list[Any]
    infos: list[dict[str, Any] | None]
    errors: list[Exception | None]
    rewards: list[float]
    """nan where there is none: an error must not pass for a reward of 0."""
    terminated: list[bool]
    truncated: list[bool]
    final_observations: list[Any]
    """With `sameStep` autoreset, where an episode ended in this step."""
    final_infos: list[dict[str, Any] | None]


class Skip:
    """An action that leaves its environment alone: its entries stay empty, without an error."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP = Skip()


class AsyncVectorEnv:
    """Sessions of one environment, stepped together: one JSON-RPC batch for all, or as many as the server's limits ask
    for. A call raises only for a wrong number of arguments, or when the client is closed or its caller cancelled;
    everything else is in `errors`."""

    def __init__(self, connection: Connection, sessions: Iterable[AsyncSession]) -> None:
        """Use `vector` and `vector_of` of the client."""
        self.sessions = tuple(sessions)
        self._connection = connection

    def __len__(self) -> int:
        return len(self.sessions)

    async def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        task: str | Sequence[str | None] | None = None,
        only: Iterable[int] | None = None,
        split: str | None = None,
        options: dict[str, Any] | None = None,
        timeout_ms: int | None = None,
        on_progress: ProgressListener | None = None,
    ) -> VectorReset:
        """`seed`: one for each, or a first one: environment `i` gets `seed + i`. `task`: one for each, or one for all.
        `only`: indices of those to reset; the others' entries stay empty."""
        n = len(self)
        seeds = _each("seeds", seed, n, lambda first, i: first + i)
        tasks = _each("tasks", task, n, lambda name, _: name)
        chosen = set(range(n)) if only is None else set(only)
        shared = {"split": split, "options": options, "timeoutMs": timeout_ms}
        params = [{"seed": seeds[i], "task": tasks[i], **shared} if i in chosen else None for i in range(n)]
        results, errors = await self._together("env/reset", params, timeout_ms, on_progress)
        return VectorReset(
            observations=[result and result.observation for result in results],
            infos=[result and result.info for result in results],
            errors=errors,
            seeds=[result and result.seed for result in results],
            tasks=[result and result.task for result in results],
        )

    async def step(
        self, actions: Sequence[Any], *, timeout_ms: int | None = None, on_progress: ProgressListener | None = None
    ) -> VectorStep:
        """`actions`: one for each; SKIP leaves that environment alone."""
        _assert_size("actions", actions, len(self))
        params = [None if action is SKIP else {"action": action, "timeoutMs": timeout_ms} for action in actions]
        results, errors = await self._together("env/step", params, timeout_ms, on_progress)
        return VectorStep(
            observations=[result and result.observation for result in results],
            infos=[result and result.info for result in results],
            errors=errors,
            rewards=[nan if result is None or result.reward is None else result.reward for result in results],
            terminated=[result is not None and result.terminated for result in results],
            truncated=[result is not None and result.truncated for result in results],
            final_observations=[result and result.final_observation for result in results],
            final_infos=[result and result.final_info for result in results],
        )

    async def close(self) -> None:
        """Closes every session. Raises the first error, after all were tried."""
        failed: list[Exception] = []
        batch = [session.close() for session in self.sessions]
        for closing in [self._connection.loop.create_task(close) for close in batch]:
            try:
                await closing
            except Exception as error:
                failed.append(error)
        if failed:
            raise failed[0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes what this client made and lets go of the others. Needs no server."""
        leaving = [self._connection.loop.create_task(session.__aexit__(None, None, None)) for session in self.sessions]
        for one in leaving:
            await one

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"

    async def _together(
        self,
        method: str,
        params: list[dict[str, Any] | None],
        timeout_ms: int | None,
        on_progress: ProgressListener | None,
    ) -> tuple[list[Any], list[Exception | None]]:
        """None in `params`: that environment has no part in it."""
        connection = self._connection
        for session, own in zip(self.sessions, params):
            if own is not None and session._turn.awaits_abandoned:
                await session._turn.settled()
        batch = connection.batch()
        errors: list[Exception | None] = [None] * len(self)
        calls: list[Call | None] = [None] * len(self)
        for i, (session, own) in enumerate(zip(self.sessions, params)):
            if own is None:
                continue
            try:
                calls[i] = session._begin(method, own, batch, on_progress)
            except (ClientError, ValueError) as error:
                errors[i] = error
        await connection.settled_together(batch, timeout_ms)
        results: list[Any] = [None] * len(self)
        for i, call in enumerate(calls):
            if call is None:
                continue
            try:
                results[i] = self.sessions[i]._kept(connection.read(call))
            except Exception as error:
                errors[i] = error
        return results, errors


def _each(what: str, given: Any, n: int, derive: Callable[[Any, int], Any]) -> Sequence[Any]:
    if given is None or isinstance(given, (int, str)):
        return [None if given is None else derive(given, i) for i in range(n)]
    _assert_size(what, given, n)
    return list(given)


def _assert_size(what: str, given: Sequence[Any], n: int) -> None:
    if len(given) != n:
        raise ValueError(f"{len(given)} {what} for {n} environments")
