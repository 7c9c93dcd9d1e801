"""What a lost socket costs: time, and nothing else."""

import asyncio
import random
from typing import Any

import pytest
from proxy import proxied
from scripted import NO_REPLY, Refusal, Scripted
from served import served

import trailgym
from trailgym import ClosedError, ConnectionLost, Reconnect, StateChange, connect_async

QUICK = Reconnect(min_delay_ms=5, max_delay_ms=20, max_attempts=20)


async def test_a_step_that_was_committed_before_the_socket_broke_is_answered_late_and_was_executed_once(
    server: Scripted,
) -> None:
    async with connect_async(server.url, reconnect=QUICK) as client:
        session = await client.make("countdown-v1")
        await session.reset()

        def lossy(request: Any, next: Any) -> Any:
            result = next()
            if len(server.of("env/step")) == 1:
                request.drop()
            return result

        server.on("env/step", lossy)
        assert (await session.step(3)).observation == 3
        assert (await session.step(4)).observation == 7
        assert server.executed == 3
        first, again, _ = server.of("env/step")
        assert (first.socket, again.socket) == (1, 2)
        assert again.params == first.params


async def test_a_step_that_was_lost_before_it_was_executed_is_executed_after_the_reconnect(server: Scripted) -> None:
    async with connect_async(server.url, reconnect=QUICK) as client:
        session = await client.make("countdown-v1")
        await session.reset()

        def lossy(request: Any, next: Any) -> Any:
            if len(server.of("env/step")) > 1:
                return next()
            request.drop()
            return NO_REPLY

        server.on("env/step", lossy)
        assert (await session.step(3)).observation == 3
        assert server.executed == 2


async def test_the_new_socket_initialises_attaches_every_session_and_only_then_repeats_what_was_unanswered(
    server: Scripted,
) -> None:
    async with connect_async(server.url, reconnect=QUICK, token="secret", name="trainer-7") as client:
        a, b, gone = [await client.make("e-v1") for _ in range(3)]
        await gone.close()
        await asyncio.gather(a.reset(), b.reset())
        for method in ("env/step", "env/observe"):
            server.on(method, lambda request, next: NO_REPLY if request.socket == 1 else next())
        calls = asyncio.gather(a.step(1), b.observe())
        await server.got("env/observe")
        server.drop_all()
        await calls
        second = [request for request in server.received if request.socket == 2]
        assert [(request.method, request.params.get("session")) for request in second] == [
            ("initialize", None),
            ("session/attach", a.id),
            ("session/attach", b.id),
            ("env/step", a.id),
            ("env/observe", b.id),
        ]
        said = second[0].params
        assert (said["token"], said["client"]["name"], said["protocolVersions"]) == ("secret", "trainer-7", ["1"])


async def test_only_what_was_unanswered_is_sent_again(server: Scripted) -> None:
    async with connect_async(server.url, reconnect=QUICK) as client:
        sessions = await asyncio.gather(*(client.make("e-v1") for _ in range(16)))
        await asyncio.gather(*(session.reset() for session in sessions))
        server.on("env/step", lambda request, next: NO_REPLY if request.socket == 1 and request.id % 2 == 0 else next())
        steps = asyncio.gather(*(session.step(1) for session in sessions))
        await server.got("env/step", 16)
        # Whatever was answered has been sent before this reply is.
        await client.list()
        server.drop_all()
        assert [step.observation for step in await steps] == [1] * 16
        assert len(server.of("env/step")) == 16 + 8
        assert server.executed == 16 + 16


async def test_calls_that_must_not_happen_twice_fail_with_connection_lost_once_they_were_written(
    server: Scripted,
) -> None:
    async with connect_async(server.url, reconnect=QUICK) as client:
        session = await client.make("e-v1")
        await session.reset()
        for method in ("env/make", "env/fork", "env/snapshot"):
            server.on(method, lambda _request, _next: NO_REPLY)
        server.on("env/step", lambda request, next: NO_REPLY if request.socket == 1 else next())
        lost = asyncio.gather(
            client.make("e-v1"),
            session.fork(2),
            session.snapshot(),
            # Without a seq the server cannot know a retry.
            client.call("env/step", {"session": session.id, "action": 1}),
            return_exceptions=True,
        )
        await server.got("env/step")
        server.drop_all()
        assert {type(outcome) for outcome in await lost} == {ConnectionLost}
        assert len(server.of("env/make")) == 2
        assert (await session.step(1)).observation == 1


async def test_a_call_made_while_there_is_no_socket_waits_for_one_even_if_it_could_not_be_repeated(
    server: Scripted,
) -> None:
    lost = asyncio.Event()

    def heard(change: StateChange) -> None:
        if isinstance(change, trailgym.Lost):
            lost.set()

    async with connect_async(server.url, reconnect=QUICK, on_state_change=heard) as client:
        await server.shut()
        await lost.wait()
        making = asyncio.create_task(client.make("e-v1"))
        await asyncio.sleep(0.03)
        await server.listen()
        assert (await making).id == "s1"
        assert len(server.of("env/make")) == 1


async def test_a_call_made_while_its_socket_is_closing_was_surely_not_delivered_and_goes_out_on_the_next(
    server: Scripted,
) -> None:
    async with connect_async(server.url, reconnect=QUICK) as client:

        async def closing(request: Any, next: Any) -> Any:
            if request.socket == 1:
                await request.close(1001)
                return NO_REPLY
            return next()

        server.on("env/list", closing)
        listing = asyncio.create_task(client.list())
        await server.got("env/list")
        link = client._connection._link
        assert link
        while link.writable:
            await asyncio.sleep(0)
        assert (await client.make("e-v1")).id == "s1"
        assert await listing == []
        assert [request.socket for request in server.of("env/make")] == [2]


async def test_a_session_that_the_server_lost_says_so_to_its_own_call_and_leaves_the_others_alone(
    server: Scripted,
) -> None:
    async with connect_async(server.url, reconnect=QUICK) as client:
        kept, gone = await client.make("e-v1"), await client.make("e-v1")
        await asyncio.gather(kept.reset(), gone.reset())
        server.on("env/step", lambda request, next: NO_REPLY if request.socket == 1 else next())
        steps = asyncio.gather(kept.step(1), gone.step(1), return_exceptions=True)
        await server.got("env/step", 2)
        del server.sessions[gone.id]
        server.drop_all()
        first, second = await steps
        assert isinstance(first, trailgym.StepResult)
        assert isinstance(second, trailgym.UnknownSessionError)
        assert second.reason == "unknown"


async def test_each_change_of_state_is_told_once_in_order(server: Scripted) -> None:
    changes: list[StateChange] = []

    def heard(change: StateChange) -> None:
        changes.append(change)
        raise RuntimeError("the caller's own trouble")

    client = await connect_async(server.url, reconnect=QUICK, on_state_change=heard)
    await client.list()
    server.drop_all()
    await server.got("initialize", 2)
    await client.list()
    await client.close()
    await client.close()
    assert [type(change).__name__ for change in changes] == ["Opened", "Lost", "Reconnecting", "Opened", "Closed"]
    opened, lost, reconnecting, _, closed = changes
    assert opened == trailgym.Opened("i1")
    assert isinstance(lost, trailgym.Lost)
    assert lost.code == 1006
    assert isinstance(reconnecting, trailgym.Reconnecting)
    assert reconnecting.attempt == 1
    assert closed == trailgym.Closed(None)


async def test_after_the_allowed_attempts_the_client_gives_up_and_every_call_and_session_learns_why(
    server: Scripted,
) -> None:
    changes: list[StateChange] = []
    few = Reconnect(min_delay_ms=1, max_delay_ms=4, max_attempts=3)
    client = await connect_async(server.url, reconnect=few, on_state_change=changes.append)
    session = await client.make("e-v1")
    await session.reset()
    server.on("env/step", lambda _request, _next: NO_REPLY)
    step = asyncio.create_task(session.step(1))
    await server.got("env/step")
    await server.shut()
    with pytest.raises(ConnectionLost, match="gave up reconnecting"):
        await step
    with pytest.raises(ClosedError):
        await session.observe()
    await client.close()
    assert len([change for change in changes if isinstance(change, trailgym.Reconnecting)]) == 3
    assert isinstance(changes[-1], trailgym.Closed)
    assert isinstance(changes[-1].error, ConnectionLost)


async def test_a_frame_that_ends_every_socket_it_is_sent_on_does_not_go_round_for_ever(server: Scripted) -> None:
    few = Reconnect(min_delay_ms=1, max_delay_ms=60_000, max_attempts=4)
    client = await connect_async(server.url, reconnect=few)

    def fatal(request: Any, _next: Any) -> Any:
        request.drop()
        return NO_REPLY

    server.on("env/list", fatal)
    with pytest.raises(ConnectionLost):
        await client.list()
    assert len(server.of("env/list")) == 5
    await client.close()


async def test_with_reconnect_false_a_lost_socket_closes_the_client(server: Scripted) -> None:
    client = await connect_async(server.url, reconnect=False)
    server.on("env/list", lambda _request, _next: NO_REPLY)
    listing = asyncio.create_task(client.list())
    await server.got("env/list")
    server.drop_all()
    with pytest.raises(ConnectionLost):
        await listing
    with pytest.raises(ClosedError):
        await client.list()
    await client.close()


async def test_a_refusal_that_trying_again_cannot_mend_ends_the_attempts_with_the_servers_error(
    server: Scripted,
) -> None:
    changes: list[StateChange] = []
    client = await connect_async(server.url, reconnect=QUICK, on_state_change=changes.append)
    server.on("env/list", lambda _request, _next: NO_REPLY)

    def refuse(_request: Any, _next: Any) -> Any:
        raise Refusal("UNAUTHENTICATED")

    server.on("initialize", refuse)
    listing = asyncio.create_task(client.list())
    await server.got("env/list")
    server.drop_all()
    with pytest.raises(trailgym.UnauthenticatedError):
        await listing
    await client.close()
    assert isinstance(changes[-1], trailgym.Closed)
    assert isinstance(changes[-1].error, trailgym.UnauthenticatedError)
    assert len(server.of("initialize")) == 2


async def test_every_initialize_carries_the_traceparent_that_the_client_was_given(server: Scripted) -> None:
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with await connect_async(server.url, reconnect=QUICK, traceparent=traceparent) as client:
        server.drop_all()
        await client.list()
    assert [request.params["traceparent"] for request in server.of("initialize")] == [traceparent] * 2


async def test_connect_fails_at_once_without_a_server_or_keeps_trying_as_often_as_it_was_told(
    server: Scripted,
) -> None:
    await server.shut()
    with pytest.raises(ConnectionLost):
        await connect_async(server.url, reconnect=QUICK)
    patient = asyncio.ensure_future(connect_async(server.url, reconnect=QUICK, connect_attempts=100)._connect())
    await asyncio.sleep(0.03)
    await server.listen()
    client = await patient
    assert client.welcome.server.name == "scripted"
    await client.close()


async def test_connect_passes_on_what_the_server_refuses_and_which_versions_it_has(server: Scripted) -> None:
    def refuse(_request: Any, _next: Any) -> Any:
        raise Refusal("UNSUPPORTED_VERSION", supported=["9"])

    server.on("initialize", refuse)
    with pytest.raises(trailgym.UnsupportedVersionError) as caught:
        await connect_async(server.url)
    assert caught.value.supported == ["9"]
    server.on("initialize", lambda _request, next: {**next(), "protocolVersion": "9"})
    with pytest.raises(trailgym.ProtocolViolation):
        await connect_async(server.url)


async def test_connect_ends_with_its_task_and_when_the_server_accepts_the_socket_but_never_answers(
    server: Scripted,
) -> None:
    server.on("initialize", lambda _request, _next: NO_REPLY)
    with pytest.raises(ConnectionLost, match="did not answer within 30 ms"):
        await connect_async(server.url, connect_timeout_ms=30)
    connecting = asyncio.ensure_future(connect_async(server.url)._connect())
    await server.got("initialize", 2)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/rpc", "ws//", "127.0.0.1:7474"])
async def test_what_is_no_websocket_url_is_said_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="isn't a valid URI"):
        await connect_async(url, connect_attempts=50)


async def test_a_server_that_is_no_websocket_server_is_a_lost_connection() -> None:
    async def http(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(http, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    with pytest.raises(ConnectionLost, match="404"):
        await connect_async(f"ws://127.0.0.1:{port}/rpc")
    listener.close()


async def test_a_peer_that_went_silent_is_pinged_and_then_taken_for_dead(server: Scripted) -> None:
    async with proxied(server.url) as network:
        changes: list[StateChange] = []
        async with connect_async(
            network.url, reconnect=QUICK, heartbeat_ms=20, on_state_change=changes.append
        ) as client:
            session = await client.make("e-v1")
            await session.reset()
            network.deafen()
            step = asyncio.create_task(session.step(2))
            while not any(isinstance(change, trailgym.Lost) for change in changes):
                await asyncio.sleep(0.005)
            network._deaf = False
            assert (await step).observation == 2
            lost = next(change for change in changes if isinstance(change, trailgym.Lost))
            assert lost.reason == "nothing heard for 40 ms"
            assert server.executed == 2


async def test_a_peer_that_answers_pings_keeps_its_socket_however_long_a_step_takes(server: Scripted) -> None:
    async with connect_async(server.url, reconnect=QUICK, heartbeat_ms=10) as client:
        session = await client.make("e-v1")
        await session.reset()

        async def slow(_request: Any, next: Any) -> Any:
            await asyncio.sleep(0.3)
            return next()

        server.on("env/step", slow)
        await session.step(2)
        assert server.sockets == 1


async def test_a_random_schedule_of_lost_sockets_loses_no_step_and_plays_none_twice(server: Scripted) -> None:
    often = Reconnect(min_delay_ms=1, max_delay_ms=3, max_attempts=50)
    dice = random.Random(12345)
    async with connect_async(server.url, reconnect=often) as client:
        sessions = await asyncio.gather(*(client.make("e-v1") for _ in range(8)))

        def lossy(request: Any, next: Any) -> Any:
            if dice.random() < 0.02:
                request.drop()
                return NO_REPLY
            result = next()
            if dice.random() < 0.02:
                request.drop()
            return result

        server.on("env/step", lossy)

        async def play(session: trailgym.AsyncSession, amount: int) -> float:
            await session.reset()
            observation = 0
            for _ in range(60):
                observation = (await session.step(amount)).observation
            return observation

        totals = await asyncio.gather(*(play(session, i + 1) for i, session in enumerate(sessions)))
        assert totals == [60 * (i + 1) for i in range(8)]
        assert server.executed == 8 * 61
        assert server.sockets > 5


async def test_a_killed_server_that_comes_back_goes_on_where_it_was(tmp_path: Any) -> None:
    with served("--port", "0", "--data", str(tmp_path)) as first:
        port = first.url.rsplit(":", 1)[1].split("/")[0]
        instances: list[str] = []

        def heard(change: StateChange) -> None:
            if isinstance(change, trailgym.Opened):
                instances.append(change.instance)

        patient = Reconnect(min_delay_ms=50, max_delay_ms=200, max_attempts=200)
        async with connect_async(first.url, reconnect=patient, on_state_change=heard) as client:
            session = await client.make("countdown-v1", options={"start": 100})
            await session.reset(seed=1)
            for _ in range(5):
                await session.step({"amount": 1})
            await asyncio.to_thread(first.kill)
            step = asyncio.create_task(session.step({"amount": 2}))
            await asyncio.sleep(0.1)
            with served("--port", port, "--data", str(tmp_path)) as _second:
                result = await step
                assert (result.observation, result.index) == ({"remaining": 93}, 6)
                assert (await session.step({"amount": 1})).observation == {"remaining": 92}
                assert len(set(instances)) == 2
                await client.close()
