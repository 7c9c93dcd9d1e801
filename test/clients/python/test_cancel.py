"""What happens with a call whose caller no longer waits for it."""

import asyncio
from typing import Any

import pytest
from scripted import NO_REPLY, Refusal, Scripted

import trailgym
from trailgym import DeadlinePassed, LateCommit, Reconnect, SessionBusy, connect_async
from trailgym.connection.call import Call


async def let_go(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def until(event: asyncio.Event, *, commits: bool) -> Any:
    """Commits, or not, when `event` comes."""

    async def script(_request: Any, next: Any) -> Any:
        result = next() if commits else None
        await event.wait()
        if result is None:
            raise Refusal("CANCELLED")
        return result

    return script


async def test_a_cancelled_step_is_cancelled_at_the_server_and_the_next_one_has_its_seq(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        told = asyncio.Event()

        def cancel(_request: Any, _next: Any) -> Any:
            told.set()
            return NO_REPLY

        server.on("$/cancel", cancel)
        server.on("env/step", until(told, commits=False))
        step = asyncio.create_task(session.step(1))
        request = await server.got("env/step")
        await let_go(step)
        assert (await server.got("$/cancel")).params == {"id": request.id}
        server.on("env/step", lambda _request, next: next())
        assert (await session.step(2)).observation == 2
        assert [request.params["seq"] for request in server.of("env/step")] == [1, 1]


async def test_a_step_that_was_committed_before_the_cancel_arrived_is_told_by_the_next_one(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        hold = asyncio.Event()
        server.on("env/step", until(hold, commits=True))
        step = asyncio.create_task(session.step(1))
        await server.got("env/step")
        await let_go(step)
        following = asyncio.create_task(session.step(2))
        await asyncio.sleep(0.01)
        hold.set()
        with pytest.raises(LateCommit) as caught:
            await following
        assert caught.value.method == "env/step"
        assert isinstance(caught.value.result, trailgym.StepResult)
        assert caught.value.result.observation == 1
        assert len(server.of("env/step")) == 1
        assert (await session.step(2)).observation == 3
        assert server.executed == 3


async def test_a_step_whose_answer_and_cancel_come_in_the_same_turn_of_the_loop_is_not_lost(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        answered = asyncio.Event()
        step: asyncio.Task[Any] | None = None
        settle = Call.settle

        def cancelling(call: Any, result: Any, error: Any) -> None:
            settle(call, result, error)
            if call.method == "env/step" and step is not None and not answered.is_set():
                step.cancel()
                answered.set()

        Call.settle = cancelling  # type: ignore[method-assign, assignment]
        try:
            step = asyncio.create_task(session.step(1))
            with pytest.raises(asyncio.CancelledError):
                await step
        finally:
            Call.settle = settle  # type: ignore[method-assign]
        assert session.seq == 2
        with pytest.raises(LateCommit):
            await session.step(1)
        assert (await session.step(1)).observation == 2


async def test_after_a_late_commit_a_reset_needs_no_warning(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        hold = asyncio.Event()
        server.on("env/step", until(hold, commits=True))
        step = asyncio.create_task(session.step(1))
        await server.got("env/step")
        await let_go(step)
        hold.set()
        assert (await session.reset()).index == 0
        assert session.seq == 3
        assert (await session.step(1)).observation == 1


async def test_only_one_call_may_wait_behind_an_abandoned_one(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        hold = asyncio.Event()
        server.on("env/step", until(hold, commits=False))
        step = asyncio.create_task(session.step(1))
        await server.got("env/step")
        await let_go(step)
        server.on("env/step", lambda _request, next: next())
        both = asyncio.gather(session.step(2), session.step(3), return_exceptions=True)
        given_up = asyncio.create_task(session.step(4))
        await asyncio.sleep(0.01)
        await let_go(given_up)
        hold.set()
        first, second = await both
        assert isinstance(first, trailgym.StepResult)
        assert first.observation == 2
        assert isinstance(second, SessionBusy)


async def test_a_cancel_whose_socket_is_lost_is_asked_again_on_the_next_one(server: Scripted) -> None:
    async with connect_async(server.url, reconnect=Reconnect(min_delay_ms=5)) as client:
        session = await client.make("e-v1")
        await session.reset()
        told = asyncio.Event()

        def cancel(request: Any, _next: Any) -> Any:
            if request.socket == 1:
                request.drop()
            else:
                told.set()
            return NO_REPLY

        async def slow(request: Any, _next: Any) -> Any:
            if request.socket == 1:
                return NO_REPLY
            await told.wait()
            raise Refusal("CANCELLED")

        server.on("$/cancel", cancel)
        server.on("env/step", slow)
        step = asyncio.create_task(session.step(1))
        await server.got("env/step")
        await let_go(step)
        await told.wait()
        assert [(request.socket, request.params["seq"]) for request in server.of("env/step")] == [(1, 1), (2, 1)]
        server.on("env/step", lambda _request, next: next())
        assert (await session.step(1)).observation == 1


async def test_a_cancel_before_there_is_a_socket_sends_nothing(server: Scripted) -> None:
    lost = asyncio.Event()

    def heard(change: trailgym.StateChange) -> None:
        if isinstance(change, trailgym.Lost):
            lost.set()

    reconnect = Reconnect(min_delay_ms=5, max_delay_ms=10)
    async with connect_async(server.url, reconnect=reconnect, on_state_change=heard) as client:
        session = await client.make("e-v1")
        await session.reset()
        await server.shut()
        await lost.wait()
        step = asyncio.create_task(session.step(1))
        await asyncio.sleep(0.01)
        await let_go(step)
        await server.listen()
        assert (await session.step(2)).observation == 2
        assert len(server.of("env/step")) == 1


async def test_the_late_answer_of_a_cancelled_read_disturbs_nobody(server: Scripted) -> None:
    violations: list[trailgym.ProtocolViolation] = []
    async with connect_async(server.url, on_violation=violations.append) as client:
        hold = asyncio.Event()

        async def slow(_request: Any, next: Any) -> Any:
            await hold.wait()
            return next()

        server.on("env/list", slow)
        listing = asyncio.create_task(client.list())
        await server.got("env/list")
        await let_go(listing)
        await server.got("$/cancel")
        hold.set()
        await client.list()
        assert violations == []


async def test_a_cancelled_read_is_not_sent_again(server: Scripted) -> None:
    async with connect_async(server.url, reconnect=Reconnect(min_delay_ms=5)) as client:
        server.on("env/tasks", lambda _request, _next: NO_REPLY)
        asking = asyncio.ensure_future(client.call("env/tasks", {"env": "e-v1"}))
        await server.got("env/tasks")
        await let_go(asking)
        server.drop_all()
        await server.got("initialize", 2)
        await client.list()
        assert len(server.of("env/tasks")) == 1


async def test_timeout_ms_goes_to_the_server_and_ends_the_call_here_when_the_server_says_nothing(
    server: Scripted,
) -> None:
    async with connect_async(server.url, grace_ms=10) as client:
        session = await client.make("e-v1")
        await session.reset()

        def late(request: Any, _next: Any) -> Any:
            raise Refusal("DEADLINE", timeoutMs=request.params["timeoutMs"])

        server.on("env/step", late)
        with pytest.raises(trailgym.DeadlineError) as caught:
            await session.step(1, timeout_ms=50)
        assert caught.value.timeout_ms == 50
        hold = asyncio.Event()
        server.on("env/step", until(hold, commits=True))
        with pytest.raises(DeadlinePassed) as passed:
            await session.step(1, timeout_ms=20)
        assert passed.value.timeout_ms == 20
        hold.set()
        with pytest.raises(LateCommit):
            await session.step(1)


async def test_a_session_that_was_made_after_its_caller_had_gone_is_closed(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        hold = asyncio.Event()

        async def slow(_request: Any, next: Any) -> Any:
            await hold.wait()
            return next()

        server.on("env/make", slow)
        server.on("env/fork", slow)
        tasks = [asyncio.create_task(client.make("e-v1")), asyncio.create_task(client.fork("snap", 2))]
        await server.got("env/make")
        await server.got("env/fork")
        for task in tasks:
            await let_go(task)
        hold.set()
        await server.got("env/close", 3)
        assert sorted(request.params["session"] for request in server.of("env/close")) == ["s1", "s2", "s3"]


async def test_a_cancelled_vector_cancels_each_of_its_steps_and_each_tells_of_a_late_commit(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        vector = await client.vector("e-v1", 3)
        await vector.reset()
        hold = asyncio.Event()
        server.on("env/step", until(hold, commits=True))
        step = asyncio.create_task(vector.step([1, 2, 3]))
        await server.got("env/step", 3)
        await let_go(step)
        await server.got("$/cancel", 3)
        following = asyncio.create_task(vector.step([1, 1, 1]))
        await asyncio.sleep(0.01)
        hold.set()
        errors = (await following).errors
        assert [type(error) for error in errors] == [LateCommit] * 3
        assert (await vector.step([1, 1, 1])).observations == [2, 3, 4]


async def test_asyncio_wait_for_bounds_a_step(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        told = asyncio.Event()
        server.on("env/step", until(told, commits=False))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.step(1), 0.02)
        told.set()
        server.on("env/step", lambda _request, next: next())
        assert (await session.step(1)).observation == 1
