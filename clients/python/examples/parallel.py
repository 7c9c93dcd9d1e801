"""Many episodes at once from asyncio, over one connection."""

import asyncio
import random
import sys
import time

import trailgym

url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:7474/rpc"
episodes = int(sys.argv[2]) if len(sys.argv) > 2 else 64


async def play(client: trailgym.AsyncClient, seed: int) -> tuple[float, int]:
    dice = random.Random(seed)
    async with await client.make("countdown-v1", options={"start": 50}, retry_capacity=True) as session:
        await session.reset(seed=seed)
        total = 0.0
        while True:
            try:
                step = await session.step({"amount": dice.randint(1, 3)}, timeout_ms=60_000)
            except trailgym.WireError as error:
                # Nothing has happened: the same step can be made again, or the episode left out. It is no reward of 0.
                if error.retryable:
                    continue
                raise
            total += step.reward
            if step.terminated or step.truncated:
                return total, step.index


async def main() -> None:
    async with trailgym.connect_async(url) as client:
        started = time.perf_counter()
        played = await asyncio.gather(*(play(client, seed) for seed in range(episodes)))
        seconds = time.perf_counter() - started
    steps = sum(steps for _, steps in played)
    print(f"{episodes} episodes, mean return {sum(total for total, _ in played) / episodes:.2f}")
    print(f"{steps} steps, {steps / seconds:.0f} a second")


asyncio.run(main())
