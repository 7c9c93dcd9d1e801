"""Which frames carry these calls, within the server's limits?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .call import Call


@dataclass(frozen=True)
class FrameLimits:
    max_message_bytes: float
    max_batch: int


def frames_of(calls: Iterable[Call], limits: FrameLimits) -> list[list[Call]]:
    """Neighbours of one batch share a frame, split where it would hold too many calls or bytes. Order is kept."""
    frames: list[list[Call]] = []
    size = 0
    for call in calls:
        last = frames[-1] if frames else None
        if (
            last is not None
            and call.batch is not None
            and last[0].batch is call.batch
            and len(last) < limits.max_batch
            and size + len(call.data) + 1 <= limits.max_message_bytes
        ):
            last.append(call)
            size += len(call.data) + 1
        else:
            frames.append([call])
            size = len(call.data) + 2
    return frames


def frame_text(calls: list[Call]) -> bytes:
    return calls[0].data if len(calls) == 1 else b"[%s]" % b",".join([call.data for call in calls])
