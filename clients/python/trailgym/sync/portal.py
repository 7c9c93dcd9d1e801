"""How does a thread without an event loop get its coroutines run? A background thread has one loop for each client."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..errors import ClosedError, WrongLoop, WrongProcess

T = TypeVar("T")

Farewell = Callable[[], Coroutine[Any, Any, None]]

STOP_TIMEOUT = 5.0


class _Errand:
    """One coroutine that some thread waits for."""

    __slots__ = ("coroutine", "ended", "lost", "task")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], lost: Callable[[Any], None] | None) -> None:
        self.coroutine = coroutine
        self.lost = lost
        self.task: asyncio.Task[Any] | None = None
        # A bare lock: several times cheaper than the future that run_coroutine_threadsafe would make.
        self.ended = threading.Lock()
        self.ended.acquire()

    def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.coroutine)
        self.task.add_done_callback(lambda _: self.ended.release())

    def abandon(self) -> None:
        """Its thread waits no more, after Ctrl-C. Runs on the loop's thread, so the outcome cannot change meanwhile."""
        task = self.task
        assert task is not None
        if not task.done():
            task.cancel()
        elif self.lost is not None and not task.cancelled() and task.exception() is None:
            self.lost(task.result())


class Portal:
    """Where the coroutines of one client run. The thread ends with the portal: a program that forgets its client, or ends,
    leaves no thread behind, and no session either."""

    def __init__(self) -> None:
        self._background = _Background()
        self._finalizer = weakref.finalize(self, self._background.stop)

    def run(self, coroutine: Coroutine[Any, Any, T], lost: Callable[[T], None] | None = None) -> T:
        """What the coroutine returns or raises. When the waiting thread is interrupted (Ctrl-C), the coroutine is
        cancelled; `lost` gets a result that came too late for that. Any number of threads may wait at once."""
        errand = _Errand(coroutine, lost)
        try:
            self._background.assert_usable()
            if not self._background.call_soon(errand.start):
                raise ClosedError("client")
        except BaseException:
            coroutine.close()
            raise
        try:
            errand.ended.acquire()
        except BaseException:
            self._background.call_soon(errand.abandon)
            raise
        assert errand.task is not None
        try:
            result: T = errand.task.result()
        except asyncio.CancelledError:
            raise ClosedError("client") from None
        return result

    def say_at_end(self, farewell: Farewell) -> None:
        """What runs before the thread ends when nobody closed the client: its server should not wait for leases."""
        self._background.farewell = farewell

    def stop(self) -> None:
        """Ends the thread; coroutines that still run are cancelled."""
        self._finalizer()


class _Background:
    def __init__(self) -> None:
        self.farewell: Farewell | None = None
        self._loop = _new_loop()
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._main, name="trailgym", daemon=True)
        self._thread.start()

    def call_soon(self, callback: Callable[[], None]) -> bool:
        """False when the thread has ended, or will soon."""
        with self._lock:
            if not self._stopped:
                self._loop.call_soon_threadsafe(callback)
            return not self._stopped

    def assert_usable(self) -> None:
        if os.getpid() != self._pid:
            raise WrongProcess("this client was connected before the process forked; connect again in the child")
        if threading.current_thread() is self._thread:
            raise WrongLoop("a listener runs on the client's own thread, which cannot wait for itself")

    def stop(self) -> None:
        """Does not wait when called from its own thread, as the garbage collector may."""
        if os.getpid() != self._pid:
            return
        if self.call_soon(self._begin_end):
            self._stopped = True
        if threading.current_thread() is not self._thread:
            self._thread.join(STOP_TIMEOUT)

    def _begin_end(self) -> None:
        self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        if self.farewell is not None:
            # It has a time limit of its own.
            with contextlib.suppress(Exception):
                await self.farewell()
        self._loop.stop()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            self._loop.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
