"""Is the other side still there? A socket whose peer vanished without a word says nothing, for hours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Heartbeat:
    def __init__(self, period_ms: float, probe: Callable[[], None], dead: Callable[[], None]) -> None:
        """`period_ms` 0: never beats. `probe` asks for an answer, whatever it is; `dead`: none came."""
        self.heard = True
        """Set it for any frame."""
        self._period = period_ms / 1000
        self._probe = probe
        self._dead = dead
        self._silent_ticks = 0
        self._timer: asyncio.TimerHandle | None = None
        if period_ms > 0:
            self._schedule(self._period)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._tick)

    def _tick(self) -> None:
        self._silent_ticks = 0 if self.heard else self._silent_ticks + 1
        self.heard = False
        if self._silent_ticks == 1:
            self._probe()
        if self._silent_ticks == 3:
            self._dead()
            return
        # After a long computation timers run before the frames that came meanwhile are read: give those one more moment.
        self._schedule(min(self._period, 1) if self._silent_ticks == 2 else self._period)
