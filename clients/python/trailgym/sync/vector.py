"""How are many sessions stepped together from plain, blocking code?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from typing_extensions import Self

from ..connection.call import ProgressListener
from ..errors import ClosedError
from ..vector import AsyncVectorEnv, VectorReset, VectorStep
from .portal import Portal
from .session import Session


class VectorEnv:
    """As AsyncVectorEnv, for blocking code."""

    def __init__(self, portal: Portal, vector: AsyncVectorEnv) -> None:
        """Use `vector` and `vector_of` of the client."""
        self.sessions = tuple(Session(portal, session) for session in vector.sessions)
        self._portal = portal
        self._vector = vector

    def __len__(self) -> int:
        return len(self.sessions)

    def reset(
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
        reset = self._vector.reset(
            seed=seed,
            task=task,
            only=only,
            split=split,
            options=options,
            timeout_ms=timeout_ms,
            on_progress=on_progress,
        )
        return self._portal.run(reset)

    reset.__doc__ = AsyncVectorEnv.reset.__doc__

    def step(
        self, actions: Sequence[Any], *, timeout_ms: int | None = None, on_progress: ProgressListener | None = None
    ) -> VectorStep:
        """`actions`: one for each; SKIP leaves that environment alone."""
        return self._portal.run(self._vector.step(actions, timeout_ms=timeout_ms, on_progress=on_progress))

    def close(self) -> None:
        """Closes every session. Raises the first error, after all were tried."""
        self._portal.run(self._vector.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes what this client made and lets go of the others. Needs no server."""
        with contextlib.suppress(ClosedError):
            self._portal.run(self._vector.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"
