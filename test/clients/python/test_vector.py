"""How a vector shares frames, and keeps each environment's outcome its own."""

import asyncio
from math import isnan
from typing import Any

import pytest
from scripted import Refusal, Scripted, as_role

import trailgym
from trailgym import SKIP, Reconnect, connect_async


async def test_a_vector_makes_resets_and_steps_its_sessions_with_one_frame_each(server: Scripted) -> None:
    async with connect_async(server.url) as client, await client.vector("e-v1", 4, autoreset="sameStep") as vector:
        reset = await vector.reset(seed=10, options={"start": 3})
        assert reset.seeds == [10, 11, 12, 13]
        step = await vector.step([1, 2, 3, 4])
        assert step.observations == step.rewards == [1, 2, 3, 4]
        assert step.terminated == step.truncated == [False] * 4
        assert step.errors == [None] * 4
        for method in ("env/make", "env/reset", "env/step"):
            assert [request.frame for request in server.of(method)] == [4, 4, 4, 4]
        assert server.of("env/make")[0].params == {"env": "e-v1", "wait": False, "autoreset": "sameStep"}


async def test_frames_are_split_at_the_servers_max_batch_and_at_its_max_message_bytes(server: Scripted) -> None:
    server.limits = {**server.limits, "maxBatch": 3}
    async with connect_async(server.url) as client, await client.vector("e-v1", 7) as vector:
        await vector.reset()
        assert [request.frame for request in server.of("env/reset")] == [3, 3, 3, 3, 3, 3, 1]
        text = "é" * 15_000
        await vector.step([text] * 7)
        assert [request.frame for request in server.of("env/step")] == [3, 3, 3, 3, 3, 3, 1]
        await vector.step([text * 2] * 7)
        assert [request.frame for request in server.of("env/step")[7:]] == [1] * 7
        errors = (await vector.step([1, text * 4, *[1] * 5])).errors
        assert isinstance(errors[1], trailgym.RequestTooLarge)
        assert errors[1].limit == 100_000
        assert errors.count(None) == 6


async def test_one_environments_error_leaves_the_others_their_results_and_no_reward_looks_like_0(
    server: Scripted,
) -> None:
    async with connect_async(server.url) as client, await client.vector("e-v1", 3) as vector:
        await vector.reset()
        bad = vector.sessions[1].id

        def faulty(request: Any, next: Any) -> Any:
            if request.params["session"] == bad:
                raise Refusal("ENV_FAULT")
            return next()

        server.on("env/step", faulty)
        step = await vector.step([1, 1, 1])
        assert step.observations == [1, None, 1]
        assert (step.rewards[0], isnan(step.rewards[1]), step.rewards[2]) == (1, True, 1)
        assert [type(error) for error in step.errors] == [type(None), trailgym.EnvFaultError, type(None)]
        server.on("env/step", lambda _request, next: next())
        assert (await vector.step([1, 1, 1])).observations == [2, 1, 2]


async def test_a_value_that_cannot_cross_the_wire_is_its_own_environments_error(server: Scripted) -> None:
    async with connect_async(server.url) as client, await client.vector("e-v1", 2) as vector:
        await vector.reset()
        step = await vector.step([object(), 1])
        assert isinstance(step.errors[0], trailgym.CodecError)
        assert step.observations == [None, 1]


async def test_environments_can_be_left_out_of_a_step_and_of_a_reset(server: Scripted) -> None:
    async with connect_async(server.url) as client, await client.vector("e-v1", 3) as vector:
        await vector.reset(seed=[5, 6, 7], task="t1")
        step = await vector.step([1, SKIP, 1])
        assert step.observations == [1, None, 1]
        assert step.errors == [None] * 3
        reset = await vector.reset(only=[2], task=["a", "b", "c"])
        assert reset.tasks == [None, None, "c"]
        assert [session.seq for session in vector.sessions] == [2, 1, 3]
        assert (await vector.step([SKIP] * 3)).errors == [None] * 3
        with pytest.raises(ValueError, match="1 actions for 3 environments"):
            await vector.step([1])
        with pytest.raises(ValueError, match="2 seeds for 3 environments"):
            await vector.reset(seed=[1, 2])


async def test_after_a_lost_socket_only_the_unanswered_entries_are_sent_again_with_their_seq(
    server: Scripted,
) -> None:
    server.limits = {**server.limits, "maxBatch": 2}
    async with (
        connect_async(server.url, reconnect=Reconnect(min_delay_ms=5)) as client,
        await client.vector("e-v1", 4) as vector,
    ):
        await vector.reset()
        slow = {session.id for session in vector.sessions[2:]}

        async def half(request: Any, next: Any) -> Any:
            result = next()
            # The second frame's reply never comes on the first socket, though its steps are committed.
            if request.socket == 1 and request.params["session"] in slow:
                await asyncio.Event().wait()
            return result

        server.on("env/step", half)
        step = asyncio.create_task(vector.step([1, 2, 3, 4]))
        await server.got("env/step", 4)
        await client.list()
        server.drop_all()
        assert (await step).observations == [1, 2, 3, 4]
        sent = [(one.socket, one.params["session"], one.params["seq"], one.frame) for one in server.of("env/step")]
        assert sent == [
            (1, "s1", 1, 2),
            (1, "s2", 1, 2),
            (1, "s3", 1, 2),
            (1, "s4", 1, 2),
            (2, "s3", 1, 2),
            (2, "s4", 1, 2),
        ]
        assert server.executed == 8


async def test_same_step_autoreset_gives_the_ended_episodes_last_values_beside_the_next_ones_first(
    server: Scripted,
) -> None:
    async with connect_async(server.url) as client, await client.vector("e-v1", 2, autoreset="sameStep") as vector:
        await vector.reset()

        def ending(request: Any, next: Any) -> Any:
            if request.params["action"] != 2:
                return next()
            last = {"terminated": True, "finalObservation": 2, "finalInfo": {"won": True}}
            return {**next(), "observation": 0, **last}

        server.on("env/step", ending)
        step = await vector.step([1, 2])
        assert step.observations == [1, 0]
        assert step.terminated == [False, True]
        assert step.final_observations == [None, 2]
        assert step.final_infos == [None, {"won": True}]


async def test_when_one_of_the_sessions_cannot_be_made_the_others_are_closed(server: Scripted) -> None:
    async with connect_async(server.url) as client:

        def mostly(_request: Any, next: Any) -> Any:
            if len(server.sessions) == 1:
                raise Refusal("CAPACITY", retryAfterMs=5)
            return next()

        server.on("env/make", mostly)
        with pytest.raises(trailgym.CapacityError):
            await client.vector("e-v1", 3)
        assert server.sessions == {}


async def test_a_vector_waits_for_room_without_holding_the_others_frame_back(server: Scripted) -> None:
    async with connect_async(server.url) as client:

        def mostly(_request: Any, next: Any) -> Any:
            if len(server.of("env/make")) in (2, 3) and len(server.sessions) == 1:
                raise Refusal("CAPACITY", retryAfterMs=5)
            return next()

        server.on("env/make", mostly)
        vector = await client.vector("e-v1", 3, retry_capacity=True)
        assert len({session.id for session in vector.sessions}) == 3
        assert {request.frame for request in server.of("env/make")[3:]} == {1}


async def test_sessions_that_are_there_already_step_with_one_frame_each_with_its_own_seq(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        await session.step(5)
        forks = await session.fork(2)
        await forks[0].reset()
        together = client.vector_of([session, *forks])
        assert (await together.step([1, 2, 3])).observations == [6, 2, 3]
        assert [(one.frame, one.params["seq"]) for one in server.of("env/step")[1:]] == [(3, 2), (3, 1), (3, 0)]


async def test_a_vector_takes_no_session_twice_none_of_another_client_and_not_none_at_all(server: Scripted) -> None:
    async with connect_async(server.url) as client, connect_async(server.url) as other:
        session = await client.make("e-v1")
        with pytest.raises(ValueError, match="each session once"):
            client.vector_of([session, session])
        with pytest.raises(ValueError, match=f"session {session.id} is of another client"):
            other.vector_of([session])
        with pytest.raises(ValueError, match="1 or more environments, not 0"):
            await client.vector("e-v1", 0)


async def test_an_environment_that_is_being_stepped_is_busy_and_the_others_are_not(server: Scripted) -> None:
    async with connect_async(server.url) as client, await client.vector("e-v1", 2) as vector:
        await vector.reset()
        hold = asyncio.Event()

        async def held(_request: Any, next: Any) -> Any:
            await hold.wait()
            return next()

        server.on("env/step", held)
        single = asyncio.create_task(vector.sessions[0].step(1))
        await server.got("env/step")
        server.on("env/step", lambda _request, next: next())
        step = await vector.step([1, 1])
        assert isinstance(step.errors[0], trailgym.SessionBusy)
        assert step.observations == [None, 1]
        hold.set()
        await single


async def test_a_step_without_a_reward_is_nan_for_an_agent_and_an_error_for_a_trainer(server: Scripted) -> None:
    for role in ("trainer", "agent"):
        server.on("initialize", as_role(role))
        async with connect_async(server.url) as client:
            vector = await client.vector("e-v1", 2)
            await vector.reset()

            def untold(request: Any, next: Any) -> Any:
                result = next()
                if request.params["action"] == 1:
                    del result["reward"]
                return result

            server.on("env/step", untold)
            step = await vector.step([1, 2])
            assert [isnan(reward) for reward in step.rewards] == [True, False]
            assert isinstance(step.errors[0], trailgym.ProtocolViolation) == (role == "trainer")
