"""The server is full: is it worth asking again?"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .wire import CapacityError

T = TypeVar("T")


async def when_there_is_room(retry: bool, attempt: Callable[[], Awaitable[T]]) -> T:
    """On CAPACITY, waits as long as the server says (`retryAfterMs`) and asks again, until there is room. No other error
    is retried. Without `retry`, CapacityError is raised."""
    while True:
        try:
            return await attempt()
        except CapacityError as error:
            if not retry:
                raise
            wait_ms = error.data.get("retryAfterMs", 1000)
        # Up to half as long again: many clients that were refused together should not come back together.
        await asyncio.sleep(wait_ms / 1000 * (1 + random.random() / 2))
