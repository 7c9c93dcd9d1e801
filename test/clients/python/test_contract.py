"""What every client promises its caller, against a real server: the same tests as test/contracts/client.ts, name by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from math import isnan
from typing import Any

import pytest
import pytest_asyncio
from proxy import Proxy, proxied
from served import Served

import trailgym
from trailgym import AsyncClient, AsyncSession, LateCommit, Progress, Reconnect, SessionBusy, connect_async


@dataclass
class Given:
    client: AsyncClient
    """Its socket can be cut."""
    other: AsyncClient
    """Of the same principal, on a socket of its own."""
    network: Proxy

    async def countdown(self, start: int = 5) -> AsyncSession:
        session = await self.client.make("countdown-v1", options={"start": start})
        await session.reset(seed=1)
        return session

    async def sessions(self) -> int:
        return len((await self.other.call("session/list", {"limit": 1000})).sessions)


@pytest_asyncio.fixture
async def given(real: Served) -> AsyncIterator[Given]:
    reconnect = Reconnect(min_delay_ms=2, max_delay_ms=20, max_attempts=100)
    async with (
        proxied(real.url) as network,
        connect_async(real.url) as other,
        connect_async(network.url, reconnect=reconnect) as client,
    ):
        yield Given(client, other, network)
        await client.close()


async def test_an_episode_runs_from_reset_to_its_end_and_a_step_after_that_needs_a_reset(given: Given) -> None:
    session = await given.client.make("countdown-v1")
    reset = await session.reset(seed=4, options={"start": 4})
    assert (reset.observation, reset.seed, reset.index, reset.task) == ({"remaining": 4}, 4, 0, None)
    step = await session.step({"amount": 3})
    assert (step.observation, step.reward, step.terminated) == ({"remaining": 1}, 0, False)
    last = await session.step({"amount": 1})
    assert (last.observation, last.reward, last.terminated, last.truncated, last.index) == (
        {"remaining": 0},
        1,
        True,
        False,
        2,
    )
    with pytest.raises(trailgym.ResetNeededError):
        await session.step({"amount": 1})
    now = await session.observe()
    assert (now.status, now.index, now.episode_return, now.seq) == ("terminated", 2, 1, 3)
    assert (await session.reset()).index == 0


async def test_the_servers_errors_arrive_by_name_with_their_fields(given: Given) -> None:
    with pytest.raises(trailgym.UnknownEnvError) as unknown:
        await given.client.make("countdwn-v1")
    assert unknown.value.suggestions == ["countdown-v1"]
    session = await given.countdown()
    with pytest.raises(trailgym.InvalidActionError) as invalid:
        await session.step({"amount": 9})
    assert (invalid.value.retryable, invalid.value.issues[0]["path"]) == (False, "amount")
    assert (await session.step({"amount": 1})).index == 1
    with pytest.raises(trailgym.UnknownSnapshotError):
        await session.restore("snap-none")
    with pytest.raises(trailgym.UnknownSessionError) as nobody:
        await given.client.attach("nobody")
    assert nobody.value.reason == "unknown"


async def test_environments_and_their_schemas_are_listed(given: Given) -> None:
    envs = {entry.id: entry for entry in await given.client.list()}
    assert {"countdown-v1", "code-gym-v1", "wait-v1"} <= envs.keys()
    assert "properties" in envs["countdown-v1"].action_schema
    assert [task async for task in given.client.tasks("countdown-v1")] == []
    assert len([task async for task in given.client.tasks("code-gym-v1")]) > 100


async def test_forks_and_restores_of_one_snapshot_give_the_same_replies_to_the_same_actions(given: Given) -> None:
    session = await given.countdown(9)
    await session.step({"amount": 2})
    snapshot = await session.snapshot("after two")
    forks = await given.client.fork(snapshot, 2)
    replies = await asyncio.gather(*(fork.step({"amount": 3}) for fork in forks))
    await session.step({"amount": 1})
    restored = await session.restore(snapshot)
    assert (restored.observation, restored.index) == ({"remaining": 7}, 1)
    again = await session.step({"amount": 3})
    assert replies == [again, again]
    assert again.observation == {"remaining": 4}


async def test_a_step_whose_reply_is_lost_with_its_socket_is_answered_late_once(given: Given) -> None:
    session = await given.countdown(100)
    given.network.deafen()
    step = asyncio.create_task(session.step({"amount": 1}))
    while (await given.other.call("env/observe", {"session": session.id})).index == 0:
        await asyncio.sleep(0.005)
    given.network.cut()
    result = await step
    assert (result.observation, result.index) == ({"remaining": 99}, 1)
    following = await session.step({"amount": 1})
    assert (following.observation, following.index) == ({"remaining": 98}, 2)


async def test_a_step_that_runs_while_the_socket_is_cut_is_joined_not_started_again(given: Given) -> None:
    session = await given.client.make("wait-v1")
    await session.reset()
    begun = asyncio.Event()
    step = asyncio.create_task(session.step({"ms": 300}, on_progress=lambda _: begun.set()))
    await begun.wait()
    given.network.cut()
    result = await step
    assert (result.observation, result.index) == ({"waited": 300}, 1)
    assert session.seq == 2


async def test_many_cuts_lose_no_step_and_play_none_twice(given: Given) -> None:
    sessions = await asyncio.gather(*(given.countdown(1000) for _ in range(4)))

    async def cutting() -> None:
        while True:
            await asyncio.sleep(0.015)
            # On a busy machine a handshake may take longer than that, and then nothing would ever be played.
            if given.client._connection.open:
                given.network.cut()

    cuts = asyncio.create_task(cutting())

    async def play(session: AsyncSession) -> int:
        remaining = 1000
        for i in range(1, 151):
            step = await session.step({"amount": 1})
            remaining = step.observation["remaining"]
            assert (remaining, step.index) == (1000 - i, i)
            if i % 25 == 0:
                await asyncio.sleep(0.01)
        return remaining

    assert await asyncio.gather(*map(play, sessions)) == [850] * 4
    cuts.cancel()


async def test_another_client_takes_a_session_over_and_the_first_is_told_instead_of_skipping(given: Given) -> None:
    session = await given.countdown(9)
    guest = await given.other.attach(session.id)
    assert (await guest.step({"amount": 3})).observation == {"remaining": 6}
    with pytest.raises(trailgym.SeqConflictError) as conflict:
        await session.step({"amount": 1})
    assert conflict.value.expected == 2
    where = await session.resync()
    assert (where.seq, where.observation) == (2, {"remaining": 6})
    assert (await session.step({"amount": 1})).observation == {"remaining": 5}


async def test_one_mutating_call_at_a_time(given: Given) -> None:
    session = await given.client.make("wait-v1")
    await session.reset()
    step = asyncio.create_task(session.step({"ms": 100}))
    await asyncio.sleep(0)
    with pytest.raises(SessionBusy):
        await session.step({"ms": 1})
    assert (await session.observe()).index == 0
    assert (await step).index == 1


async def test_a_cancelled_step_ends_at_the_server_too_and_changes_nothing(given: Given) -> None:
    session = await given.client.make("wait-v1")
    await session.reset()
    before = await session.observe()
    begun = asyncio.Event()
    heard: list[Progress] = []

    def progress(said: Progress) -> None:
        heard.append(said)
        begun.set()

    step = asyncio.create_task(session.step({"ms": 60_000}, on_progress=progress))
    await begun.wait()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert heard == [Progress(0.5, "waiting")]
    assert (await session.step({"ms": 1})).observation == {"waited": 1}
    assert before.observation == {"waited": 0}


async def test_a_cancel_ends_a_step_that_was_begun_on_a_socket_which_is_gone(given: Given) -> None:
    session = await given.client.make("wait-v1")
    await session.reset()
    begun = asyncio.Event()
    step = asyncio.create_task(session.step({"ms": 5000}, on_progress=lambda _: begun.set()))
    await begun.wait()
    given.network.cut()
    # Answered over the new socket, on which the step has been joined before.
    await session.observe()
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    started = time.monotonic()
    result = await session.step({"ms": 1})
    assert (result.index, result.observation) == (1, {"waited": 1})
    assert time.monotonic() - started < 4


async def test_whenever_a_cancel_comes_the_step_has_happened_or_not_and_the_next_one_fits(given: Given) -> None:
    session = await given.client.make("wait-v1")
    await session.reset()
    index = 0
    for i in range(30):
        step = asyncio.create_task(session.step({"ms": 4}))
        asyncio.get_running_loop().call_later((i % 10) / 1000, step.cancel)
        try:
            index = (await step).index
        except asyncio.CancelledError:
            # What this one is told of the last is what happened.
            try:
                index = (await session.step({"ms": 4})).index
            except LateCommit as late:
                index = late.result.index
        now = await session.observe()
        assert (now.index, now.observation) == (index, {"waited": 4 * index})
    assert (await session.step({"ms": 1})).index == index + 1


async def test_a_deadline_stops_the_step_and_the_session_goes_on(given: Given) -> None:
    session = await given.client.make("wait-v1")
    await session.reset()
    with pytest.raises(trailgym.DeadlineError) as late:
        await session.step({"ms": 60_000}, timeout_ms=100)
    assert late.value.timeout_ms == 100
    assert (await session.step({"ms": 1})).index == 1


@pytest.mark.parametrize("autoreset", ["disabled", "nextStep", "sameStep"])
async def test_a_vector_steps_with_one_frame_and_passes_each_autoreset_mode_through(
    given: Given, autoreset: Any
) -> None:
    async with await given.client.vector("countdown-v1", 3, autoreset=autoreset, options={"start": 3}) as vector:
        assert (await vector.reset(seed=1)).observations == [{"remaining": 3}] * 3
        actions = [{"amount": 3}, {"amount": 1}, {"amount": 9}]
        first, second = await vector.step(actions), await vector.step(actions)
    ended = {"remaining": 3} if autoreset == "sameStep" else {"remaining": 0}
    assert first.observations == [ended, {"remaining": 2}, None]
    assert first.rewards[:2] == [1, 0]
    assert isnan(first.rewards[2])
    assert first.terminated == [True, False, False]
    assert isinstance(first.errors[2], trailgym.InvalidActionError)
    if autoreset == "disabled":
        assert isinstance(second.errors[0], trailgym.ResetNeededError)
    if autoreset == "nextStep":
        assert (second.observations[0], second.rewards[0]) == ({"remaining": 3}, 0)
    if autoreset == "sameStep":
        assert first.final_observations[0] == {"remaining": 0}


async def test_a_vector_loses_nothing_with_its_socket(given: Given) -> None:
    async with await given.client.vector("countdown-v1", 8, options={"start": 1000}) as vector:
        await vector.reset()
        for i in range(1, 41):
            if i % 10 == 3:
                given.network.deafen()
                asyncio.get_running_loop().call_later(0.01, given.network.cut)
            step = await vector.step([{"amount": 1}] * 8)
            assert step.observations == [{"remaining": 1000 - i}] * 8


async def test_what_is_left_leaves_no_session_behind(given: Given) -> None:
    before = await given.sessions()
    async with await given.countdown() as session, await given.client.vector("countdown-v1", 3) as vector:
        await session.fork(2)
        assert await given.sessions() - before == 6
        assert len(vector) == 3
    assert await given.sessions() - before == 2
    await given.client.close()
    assert await given.sessions() - before == 0


async def test_closing_twice_is_one_answer_and_a_closed_session_is_unknown_to_others(given: Given) -> None:
    session = await given.countdown()
    await session.close()
    await session.close()
    assert (await given.client.call("env/close", {"session": session.id})).closed is True
    with pytest.raises(trailgym.UnknownSessionError) as unknown:
        await given.client.attach(session.id)
    assert unknown.value.reason == "closed"


async def test_a_tool_environment_is_played_with_the_tools_of_its_task(given: Given) -> None:
    task = await anext(aiter(given.client.tasks("code-gym-v1")))
    async with await given.client.make("code-gym-v1") as session:
        reset = await session.reset(task=task.id, seed=1)
        assert reset.task == task.id
        assert session.tools
        assert all(tool.input_schema["type"] == "object" for tool in session.tools)
        unknown = await session.call_tool("no such tool")
        assert unknown.observation["isError"] is True
        first = next(tool for tool in session.tools if not tool.input_schema["required"])
        known = await session.call_tool(first.name)
        assert known.observation["isError"] is False
        trajectory = await given.client.call("trajectory/get", {"session": session.id})
        assert [one.action["tool"] for one in trajectory.transitions] == ["no such tool", first.name]
        assert trajectory.opening.observation == reset.observation
