"""How long to wait before the next attempt?"""

from __future__ import annotations

from ..options import Reconnect


def backoff_ms(attempt: int, reconnect: Reconnect, random: float) -> float:
    """`attempt` counts from 1; `random` is in [0, 1). Half of the exponential wait is certain, half random."""
    full = min(reconnect.max_delay_ms, reconnect.min_delay_ms * 2.0 ** min(attempt - 1, 60))
    return full / 2 + full / 2 * random
