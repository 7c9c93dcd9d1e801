"""How a session numbers, sends and ends its calls."""

import asyncio
from typing import Any

import pytest
from scripted import NO_REPLY, Refusal, Scripted

import trailgym
from trailgym import ClosedError, Int64, ProtocolViolation, SessionBusy, WireError, connect_async


async def test_a_session_numbers_its_mutating_calls_and_leaves_reads_alone(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset(seed=3)
        await session.step(1)
        await session.observe()
        snapshot = await session.snapshot("here")
        await session.step(1)
        await session.restore(snapshot)
        numbered = [(request.method, request.params["seq"]) for request in server.received if "seq" in request.params]
        assert numbered == [("env/reset", 0), ("env/step", 1), ("env/step", 2), ("env/restore", 3)]
        assert session.seq == 4


async def test_a_failed_call_does_not_consume_its_seq_and_its_error_has_the_servers_fields(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset()

        def refuse(_request: Any, _next: Any) -> Any:
            raise Refusal("INVALID_ACTION", issues=[{"path": "amount", "message": "too big"}])

        server.on("env/step", refuse)
        with pytest.raises(trailgym.InvalidActionError, match="INVALID_ACTION") as caught:
            await session.step(9)
        assert (caught.value.name, caught.value.code, caught.value.retryable) == ("INVALID_ACTION", 1202, False)
        assert caught.value.issues == [{"path": "amount", "message": "too big"}]
        server.on("env/step", lambda _request, next: next())
        await session.step(2)
        assert [request.params["seq"] for request in server.of("env/step")] == [1, 1]


async def test_after_seq_conflict_nothing_is_skipped_until_the_caller_asks_for_it(server: Scripted) -> None:
    async with connect_async(server.url) as client, connect_async(server.url) as other:
        session = await client.make("countdown-v1")
        await session.reset()
        guest = await other.attach(session.id)
        assert guest.seq == 1
        await guest.step(5)
        for _ in range(2):
            with pytest.raises(trailgym.SeqConflictError) as caught:
                await session.step(2)
            assert caught.value.expected == 2
        where = await session.resync()
        assert (where.seq, where.observation) == (2, 5)
        assert where.last_reply
        assert where.last_reply["reward"] == 5
        assert (await session.step(2)).observation == 7


async def test_a_second_step_while_one_runs_raises_and_sends_nothing(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset()
        hold = asyncio.Event()

        async def held(_request: Any, next: Any) -> Any:
            await hold.wait()
            return next()

        server.on("env/step", held)
        first = asyncio.create_task(session.step(1))
        await server.got("env/step")
        with pytest.raises(SessionBusy):
            await session.step(2)
        with pytest.raises(SessionBusy):
            await session.reset()
        assert (await session.observe()).observation == 0
        hold.set()
        assert (await first).observation == 1
        assert len(server.of("env/step")) == 1


async def test_values_that_json_would_lose_go_out_and_come_back_as_they_were(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("any-v1")
        await session.reset()

        def echo(request: Any, next: Any) -> Any:
            said = request.params["action"]
            return {**next(), "observation": said, "finalObservation": said, "info": {"echo": said}}

        server.on("env/step", echo)
        action = {"big": 2**60, "bytes": b"\1\2", "minus": -0.0, "mine": {"$type": "shirt"}, "int64": Int64(5)}
        step = await session.step(action)
        assert step.observation == step.final_observation == step.info["echo"] == action
        assert isinstance(step.observation["int64"], Int64)
        assert str(step.observation["minus"]) == "-0.0"
        sent = server.of("env/step")[0].params["action"]
        assert (sent["big"]["$type"], sent["mine"]["$type"]) == ("int64", "object")


async def test_a_value_that_cannot_cross_the_wire_is_refused_here_and_the_session_goes_on(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset()
        with pytest.raises(trailgym.CodecError) as caught:
            await session.step({"at": object()})
        assert caught.value.path == "action.at"
        assert (await session.step(1)).observation == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"reward": "lots"},
        {"reward": True},
        {"index": -1},
        {"terminated": 0},
        {"stateDigest": "short"},
        {"info": []},
        {"observation": {"$type": "float", "value": "7"}},
    ],
)
async def test_a_result_without_the_promised_shape_is_a_violation_and_its_seq_counts_as_used(
    server: Scripted, wrong: dict[str, Any]
) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset()
        server.on("env/step", lambda _request, next: {**next(), **wrong})
        with pytest.raises(ProtocolViolation):
            await session.step(1)
        server.on("env/step", lambda _request, next: next())
        assert (await session.step(1)).observation == 2


async def test_progress_reaches_its_own_call_and_a_callback_that_raises_hurts_nobody(
    server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect_async(server.url) as client:
        a, b = await client.make("countdown-v1"), await client.make("countdown-v1")
        await asyncio.gather(a.reset(), b.reset())

        async def telling(request: Any, next: Any) -> Any:
            params = f'{{"id":{request.id},"fraction":0.5,"message":"{request.params["session"]}"}}'
            await request.raw(f'{{"jsonrpc":"2.0","method":"$/progress","params":{params}}}')
            return next()

        server.on("env/step", telling)
        heard: list[trailgym.Progress] = []

        def broken(_progress: trailgym.Progress) -> None:
            raise RuntimeError("the caller's own trouble")

        await asyncio.gather(a.step(1, on_progress=heard.append), b.step(1, on_progress=broken))
        assert heard == [trailgym.Progress(0.5, a.id)]
        assert "the caller's own trouble" in caplog.text


async def test_closing_twice_asks_once_a_running_step_is_cancelled_and_later_calls_are_refused(
    server: Scripted,
) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset()
        closed = asyncio.Event()

        async def until_closed(_request: Any, _next: Any) -> Any:
            await closed.wait()
            raise Refusal("CANCELLED")

        def close(_request: Any, next: Any) -> Any:
            closed.set()
            return next()

        server.on("env/step", until_closed)
        server.on("env/close", close)
        running = asyncio.create_task(session.step(1))
        await server.got("env/step")
        await asyncio.gather(session.close(), session.close())
        with pytest.raises(trailgym.CancelledError):
            await running
        await session.close()
        assert len(server.of("env/close")) == 1
        for call in (session.step(1), session.observe(), session.reset(), session.fork(1)):
            with pytest.raises(ClosedError):
                await call


async def test_a_session_that_is_gone_already_closes_without_an_error(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")

        def gone(_request: Any, _next: Any) -> Any:
            raise Refusal("UNKNOWN_SESSION", reason="expired")

        server.on("env/close", gone)
        await session.close()


async def test_a_close_that_failed_can_be_tried_again(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")

        def broken(_request: Any, _next: Any) -> Any:
            raise Refusal("INTERNAL_ERROR")

        server.on("env/close", broken)
        with pytest.raises(trailgym.InternalError):
            await session.close()
        server.on("env/close", lambda _request, next: next())
        await session.close()
        assert server.sessions == {}


async def test_leaving_closes_what_was_made_lets_go_of_what_was_attached_and_hides_no_error(server: Scripted) -> None:
    client = await connect_async(server.url, reconnect=False)
    raw = (await client.call("env/make", {"env": "countdown-v1"})).session
    async with await client.make("countdown-v1") as made, await client.attach(raw) as attached:
        assert [made.id, attached.id] == ["s2", "s1"]
    assert [request.params["session"] for request in server.of("env/close")] == ["s2"]
    with pytest.raises(RuntimeError, match="the caller's"):
        async with await client.make("countdown-v1"):
            await client.close()
            raise RuntimeError("the caller's")


async def test_closing_the_client_closes_its_sessions_except_detached_ones(server: Scripted) -> None:
    client = await connect_async(server.url)
    await client.make("countdown-v1")
    kept = await client.make("countdown-v1")
    kept.detach()
    await asyncio.gather(client.close(), client.close())
    assert list(server.sessions) == [kept.id]


async def test_forks_are_sessions_of_their_own_that_start_at_seq_0(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("countdown-v1")
        await session.reset()
        forks = [*await session.fork(2), *await client.fork("snap1", 1), *await client.fork(session, 1)]
        assert len({fork.id for fork in forks}) == 4
        await asyncio.gather(*(fork.step(1) for fork in forks))
        assert [request.params["seq"] for request in server.of("env/step")] == [0, 0, 0, 0]
        assert [request.params for request in server.of("env/fork")] == [
            {"session": "s1", "count": 2},
            {"snapshot": "snap1", "count": 1},
            {"session": "s1", "count": 1},
        ]


async def test_capacity_is_raised_or_waited_out_when_asked_for(server: Scripted) -> None:
    async with connect_async(server.url) as client:

        def mostly_full(_request: Any, next: Any) -> Any:
            if len(server.of("env/make")) % 3:
                raise Refusal("CAPACITY", retryAfterMs=5)
            return next()

        server.on("env/make", mostly_full)
        with pytest.raises(trailgym.CapacityError) as caught:
            await client.make("countdown-v1")
        assert caught.value.retry_after_ms == 5
        await client.make("countdown-v1", retry_capacity=True)
        assert len(server.of("env/make")) == 3
        assert server.of("env/make")[2].params == {"env": "countdown-v1"}

        def unknown(_request: Any, _next: Any) -> Any:
            raise Refusal("UNKNOWN_ENV", suggestions=[])

        server.on("env/make", unknown)
        with pytest.raises(trailgym.UnknownEnvError):
            await client.make("e-v1", retry_capacity=True)


async def test_listings_walk_every_page_tasks_only_as_far_as_they_are_wanted(server: Scripted) -> None:
    async with connect_async(server.url) as client:

        def page(request: Any, _next: Any) -> Any:
            first = int(request.params.get("cursor", 0))
            tasks = [{"id": f"t{first + i}", "n": {"$type": "int64", "value": "9"}} for i in range(3)]
            return {"tasks": tasks, "total": 9, **({"nextCursor": str(first + 3)} if first < 6 else {})}

        server.on("env/tasks", page)
        every = [task async for task in client.tasks("e-v1", split="train")]
        assert [task.id for task in every] == [f"t{i}" for i in range(9)]
        assert every[0].model_extra == {"n": 9}
        assert len(server.of("env/tasks")) == 3
        some = [task.id async for task in client.tasks("e-v1", limit=4)]
        assert some == ["t0", "t1", "t2", "t3"]
        assert len(server.of("env/tasks")) == 5
        server.on("env/list", lambda _request, _next: {"envs": [], "nextCursor": "again"})
        with pytest.raises(ProtocolViolation):
            await client.list()


async def test_replies_are_matched_by_id_in_whatever_order_they_come(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        sessions = await asyncio.gather(*(client.make("countdown-v1") for _ in range(8)))
        await asyncio.gather(*(session.reset() for session in sessions))
        turns = [asyncio.Event() for _ in range(9)]

        async def backwards(request: Any, next: Any) -> Any:
            place = int(request.params["action"])
            if place == 8:
                turns[8].set()
            await turns[place].wait()
            turns[place - 1].set()
            return next()

        server.on("env/step", backwards)
        steps = await asyncio.gather(*(session.step(i + 1) for i, session in enumerate(sessions)))
        assert [step.observation for step in steps] == [1, 2, 3, 4, 5, 6, 7, 8]


async def test_a_call_without_an_answer_ends_when_the_client_is_closed(server: Scripted) -> None:
    client = await connect_async(server.url)
    server.on("env/list", lambda _request, _next: NO_REPLY)
    listing = asyncio.create_task(client.list())
    await server.got("env/list")
    await client.close()
    with pytest.raises(ClosedError):
        await listing
    with pytest.raises(ClosedError):
        await client.list()


async def test_a_tool_call_is_a_step_and_the_tools_are_those_of_the_last_reset(server: Scripted) -> None:
    tool = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}
    async with connect_async(server.url) as client:
        session = await client.make("tools-v1")
        server.on("env/reset", lambda _request, next: {**next(), "tools": [tool]})
        await session.reset()
        assert session.tools
        assert [known.name for known in session.tools] == ["look"]
        await session.call_tool("look", at="the door", tool="hands")
        arguments = {"at": "the door", "tool": "hands"}
        assert server.of("env/step")[0].params["action"] == {"tool": "look", "arguments": arguments}
        following = {"episode": "e2", "task": None, "tools": [{**tool, "name": "jump"}]}
        server.on("env/step", lambda _request, next: {**next(), "nextEpisode": following})
        await session.call_tool("look")
        assert [known.name for known in session.tools] == ["jump"]


async def test_extras_go_with_their_step(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        session = await client.make("e-v1")
        await session.reset()
        await session.step(1, extras={"logProbs": [-0.5]}, timeout_ms=50)
        sent = server.of("env/step")[0].params
        assert sent == {"session": "s1", "seq": 1, "action": 1, "extras": {"logProbs": [-0.5]}, "timeoutMs": 50}


async def test_every_name_of_the_wire_has_a_class_and_only_its_own(server: Scripted) -> None:
    async with connect_async(server.url) as client:
        for name, kind in trailgym.wire.ERRORS.items():

            def refuse(_request: Any, _next: Any, name: str = name) -> Any:
                raise Refusal(name, suggestions=[], expected=1)

            server.on("env/list", refuse)
            with pytest.raises(WireError) as caught:
                await client.list()
            assert (type(caught.value), caught.value.name) == (kind, name)
            assert getattr(trailgym, kind.__name__) is kind
