"""May a session's next mutating call be made now, and which `seq` does it have?"""

from __future__ import annotations

import asyncio
from typing import Any

from .connection.call import Call
from .errors import LateCommit, SessionBusy


class Turn:
    """One reset, step or restore at a time. A second one is a bug of the caller (its action was chosen for a state that is
    about to change), so it raises instead of waiting. Behind a call that its caller has let go of, the next one waits:
    only the answer tells which `seq` is next."""

    def __init__(self, session: str, seq: int) -> None:
        self.seq = seq
        """The number that the next reset, step or restore will have."""
        self._session = session
        self._running: Call | None = None
        self._settled: asyncio.Event | None = None
        self._late: LateCommit | None = None

    @property
    def awaits_abandoned(self) -> bool:
        return self._running is not None and self._running.abandoned

    async def settled(self) -> None:
        """Once the call that runs is answered."""
        if self._running is not None:
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()

    def admit(self, method: str) -> None:
        """Raises SessionBusy; LateCommit, once, for a step."""
        if self._running is not None:
            raise SessionBusy(self._session, method)
        late, self._late = self._late, None
        if late is not None and method == "env/step":
            raise late

    def begin(self, call: Call) -> None:
        if not call.done:
            self._running = call

    def settle(self, committed: bool) -> None:
        """A failed call does not consume its seq."""
        if committed:
            self.seq += 1
        self._running = None
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    def late(self, method: str, result: Any) -> None:
        """`result` is of a call whose caller had let go of it."""
        self._late = LateCommit(method, result)

    def resync(self, seq: int) -> None:
        """Takes the server's word for the next seq: what lies between is given up knowingly."""
        self.seq = seq
        self._late = None
