"""Steps a second of this client, in a closed loop, with the CPU time that each step costs it.

    python benchmarks/steps.py ws://127.0.0.1:7474/rpc [seconds]

The server's own process limits the rate on a small machine; the client's cost for each step does not depend on it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

import trailgym

START = 1000
Play = Callable[[trailgym.AsyncClient, int, float], Awaitable[int]]


async def singly(client: trailgym.AsyncClient, n: int, until: float) -> int:
    """`n` sessions, each stepped by a task of its own."""

    async def one() -> int:
        steps = 0
        async with await client.make("countdown-v1", options={"start": START}) as session:
            while time.perf_counter() < until:
                await session.reset(seed=1)
                for _ in range(START - 1):
                    await session.step({"amount": 1})
                    steps += 1
                    if time.perf_counter() >= until:
                        break
        return steps

    return sum(await asyncio.gather(*(one() for _ in range(n))))


async def together(client: trailgym.AsyncClient, n: int, until: float) -> int:
    """`n` sessions, stepped with one frame."""
    steps = 0
    async with await client.vector("countdown-v1", n, options={"start": START}) as vector:
        while time.perf_counter() < until:
            await vector.reset(seed=1)
            for _ in range(START - 1):
                await vector.step([{"amount": 1}] * n)
                steps += n
                if time.perf_counter() >= until:
                    break
    return steps


def blocking(url: str, seconds: float) -> None:
    with trailgym.connect(url) as client, client.make("countdown-v1", options={"start": START}) as session:
        session.reset(seed=1)
        steps, cpu, begun = 0, time.process_time(), time.perf_counter()
        while time.perf_counter() - begun < seconds and steps < START - 1:
            session.step({"amount": 1})
            steps += 1
        report("blocking", 1, steps, time.perf_counter() - begun, time.process_time() - cpu)


async def measure(url: str, name: str, play: Play, n: int, seconds: float) -> None:
    async with trailgym.connect_async(url) as client:
        await play(client, n, time.perf_counter() + 0.3)
        cpu, begun = time.process_time(), time.perf_counter()
        steps = await play(client, n, begun + seconds)
        report(name, n, steps, time.perf_counter() - begun, time.process_time() - cpu)


def report(name: str, n: int, steps: int, seconds: float, cpu: float) -> None:
    print(
        f"{name:>22} {n:>4} sessions {steps / seconds:>8.0f} steps/s {cpu / steps * 1e6:>7.1f} µs of client CPU a step"
    )


def loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    found: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    try:
        import uvloop
    except ImportError:
        return found
    return {**found, "uvloop": uvloop.new_event_loop}


def main() -> None:
    url = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 4
    for name, new_loop in loops().items():
        loop = new_loop()
        for n in (1, 64, 256):
            loop.run_until_complete(measure(url, f"{name}", singly, n, seconds))
        for n in (64, 256):
            loop.run_until_complete(measure(url, f"{name}, vector", together, n, seconds))
        loop.close()
    blocking(url, seconds)


if __name__ == "__main__":
    main()
