"""What is in all pages of a listing?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from .errors import ProtocolViolation


class Page(Protocol):
    next_cursor: str | None


P = TypeVar("P", bound=Page)


async def pages(fetch: Callable[[str | None], Awaitable[P]]) -> AsyncIterator[P]:
    """Raises ProtocolViolation for a cursor that comes back: it would go on for ever."""
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        page = await fetch(cursor)
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
        if cursor in seen:
            raise ProtocolViolation("a listing that goes in circles", cursor)
        seen.add(cursor)
