"""What a peer sends that it should not, and what of it a caller sees."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from scripted import NO_REPLY, RawRefusal, Refusal, Scripted

import trailgym
from trailgym import AsyncClient, AsyncSession, ProtocolViolation, Reconnect, connect_async


@dataclass
class Watched:
    server: Scripted
    client: AsyncClient
    session: AsyncSession
    violations: list[ProtocolViolation] = field(default_factory=list)


@pytest_asyncio.fixture
async def given(server: Scripted) -> AsyncIterator[Watched]:
    violations: list[ProtocolViolation] = []
    quick = Reconnect(min_delay_ms=2, max_delay_ms=10)
    async with connect_async(server.url, reconnect=quick, on_violation=violations.append) as client:
        session = await client.make("e-v1")
        await session.reset()
        yield Watched(server, client, session, violations)


async def test_a_reply_that_comes_twice_or_to_an_id_that_was_never_used_is_reported_and_changes_nothing(
    given: Watched,
) -> None:
    async def noisy(request: Any, next: Any) -> Any:
        result = next()
        reply = {"jsonrpc": "2.0", "id": request.id, "result": result}
        await request.raw(json.dumps({**reply, "id": 999_999, "result": {**result, "observation": "wrong"}}))
        await request.raw(json.dumps({**reply, "id": str(request.id)}))
        await request.raw(json.dumps({**reply, "id": float(request.id)}))
        await request.raw(json.dumps(reply))
        return result

    given.server.on("env/step", noisy)
    assert (await given.session.step(1)).observation == 1
    assert (await given.session.step(1)).observation == 2
    assert len(given.violations) >= 7
    assert given.violations[0].code == "PROTOCOL_VIOLATION"
    assert given.server.sockets == 1


@pytest.mark.parametrize(
    "garbage",
    [
        "{nope",
        "42",
        "[]",
        "NaN",
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"1.0","id":1,"result":{}}',
        "[null]",
        "[" * 5000 + "]" * 5000,
        b"\x00\x01",
    ],
)
async def test_garbage_is_reported_and_the_call_gets_its_answer_over_a_new_socket(
    given: Watched, garbage: str | bytes
) -> None:
    async def noisy(request: Any, next: Any) -> Any:
        result = next()
        if request.socket > 1:
            return result
        await request.raw(garbage)
        return NO_REPLY

    given.server.on("env/step", noisy)
    assert (await given.session.step(5)).observation == 5
    assert given.server.executed == 2
    assert len(given.violations) == 1
    assert len(given.violations[0].received) <= 201


async def test_a_frame_that_breaks_the_websocket_protocol_costs_its_socket_only(given: Watched) -> None:
    def broken(request: Any, next: Any) -> Any:
        result = next()
        if request.socket > 1:
            return result
        # A reserved bit is set.
        request.connection.transport.write(b"\xf1\x01a")
        return NO_REPLY

    given.server.on("env/step", broken)
    assert (await given.session.step(5)).observation == 5
    assert given.server.executed == 2


async def test_a_message_in_fragments_is_one_message(given: Watched) -> None:
    async def fragmented(request: Any, next: Any) -> Any:
        text = json.dumps({"jsonrpc": "2.0", "id": request.id, "result": {**next(), "info": {"é": "à"}}})
        await request.connection.send([text[:5], text[5:-20], text[-20:]])
        return NO_REPLY

    given.server.on("env/step", fragmented)
    step = await given.session.step(5)
    assert (step.observation, step.info) == (5, {"é": "à"})


@pytest.mark.parametrize("error", ["no", 5, {"code": "x", "message": "m"}, {"code": 1, "message": "m", "data": []}])
async def test_a_malformed_error_is_a_violation_of_its_own_call_only(given: Watched, error: Any) -> None:
    def refuse(_request: Any, _next: Any) -> Any:
        raise RawRefusal(error)

    given.server.on("env/step", refuse)
    with pytest.raises(ProtocolViolation):
        await given.session.step(1)
    assert await given.client.list() == []


async def test_an_error_without_an_id_ends_the_only_call_that_it_can_be_about(given: Watched) -> None:
    async def nobody(request: Any, _next: Any) -> Any:
        error = Refusal("INVALID_REQUEST").error
        await request.raw(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}))
        return NO_REPLY

    given.server.on("env/step", nobody)
    with pytest.raises(trailgym.InvalidRequestError):
        await given.session.step(1)


async def test_an_error_without_an_id_that_may_be_about_several_calls_ends_none_of_the_innocent(
    given: Watched,
) -> None:
    other = await given.client.make("e-v1")
    await other.reset()

    async def nobody(request: Any, next: Any) -> Any:
        if request.params["session"] == other.id:
            return next() if request.socket > 1 else NO_REPLY
        error = Refusal("PARSE_ERROR").error
        await request.raw(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}))
        return NO_REPLY

    given.server.on("env/step", nobody)
    innocent, guilty = await asyncio.gather(other.step(1), given.session.step(1), return_exceptions=True)
    assert isinstance(innocent, trailgym.StepResult)
    assert innocent.observation == 1
    assert isinstance(guilty, trailgym.ParseError)


async def test_unknown_notifications_and_unknown_fields_of_a_newer_server_are_ignored(given: Watched) -> None:
    async def newer(request: Any, next: Any) -> Any:
        await request.raw('{"jsonrpc":"2.0","method":"$/weather","params":{"rain":true}}')
        await request.raw('{"jsonrpc":"2.0","method":"$/progress","params":{"id":"nobody"}}')
        return {**next(), "weather": "rain"}

    given.server.on("env/step", newer)
    step = await given.session.step(1)
    assert (step.observation, step.model_extra) == (1, {"weather": "rain"})
    assert given.violations == []


async def test_an_error_name_of_a_newer_server_arrives_as_it_is(given: Watched) -> None:
    def refuse(_request: Any, _next: Any) -> Any:
        raise RawRefusal({"code": 1777, "message": "new", "data": {"name": "SOLAR_FLARE", "retryable": True, "kp": 9}})

    given.server.on("env/step", refuse)
    with pytest.raises(trailgym.WireError) as caught:
        await given.session.step(1)
    error = caught.value
    assert (error.name, error.code, error.retryable, error.data) == ("SOLAR_FLARE", 1777, True, {"kp": 9})


async def test_an_error_without_data_is_named_by_its_code(given: Watched) -> None:
    def refuse(_request: Any, _next: Any) -> Any:
        raise RawRefusal({"code": 1301, "message": "full"})

    given.server.on("env/step", refuse)
    with pytest.raises(trailgym.CapacityError):
        await given.session.step(1)


async def test_a_request_over_the_servers_limit_is_refused_here_counted_in_bytes_and_the_session_goes_on(
    given: Watched,
) -> None:
    with pytest.raises(trailgym.RequestTooLarge) as caught:
        await given.session.step("€" * 40_000)
    assert caught.value.size > 120_000
    assert (await given.session.step(1)).observation == 1
    assert len(given.server.of("env/step")) == 1


async def test_a_reply_on_a_socket_that_was_never_asked_is_not_believed(given: Watched) -> None:
    def forging(request: Any, next: Any) -> Any:
        if request.socket > 1:
            return next()

        async def forge(second: Any, welcome: Any) -> Any:
            forged = {"jsonrpc": "2.0", "id": request.id, "result": {"observation": "forged"}}
            await second.raw(json.dumps(forged))
            return welcome()

        given.server.on("initialize", forge)
        request.drop()
        return NO_REPLY

    given.server.on("env/step", forging)
    assert (await given.session.step(1)).observation == 1
    assert len(given.violations) == 1
