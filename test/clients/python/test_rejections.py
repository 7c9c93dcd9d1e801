"""Each error that a server has for a bad frame reaches the caller by its name, and costs the client nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recordings import rejections
from scripted import NO_REPLY, RawRefusal, Scripted

import trailgym
from trailgym import Reconnect, StateChange, WireError, connect_async

QUICK = Reconnect(min_delay_ms=2, max_delay_ms=10)


def errors_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Every recorded error; it is all the same to a client what it was said to."""
    replies = [one for reply in case.get("replies", []) for one in (reply if isinstance(reply, list) else [reply])]
    return [reply for reply in replies if "error" in reply]


ERRORS = [pytest.param(reply, id=case["name"]) for case in rejections() for reply in errors_of(case)]
CLOSING = [pytest.param(case["close"], id=case["name"]) for case in rejections() if "close" in case]
HANDSHAKE = [
    pytest.param(reply["error"], id=case["name"])
    for case in rejections()
    if any(isinstance(frame, str) and '"method":"initialize"' in frame for frame in case["send"])
    for reply in errors_of(case)
]


def test_there_are_recorded_cases_of_each_kind() -> None:
    assert len(ERRORS) > 50
    assert len(CLOSING) > 0
    assert len(HANDSHAKE) > 0


@pytest.mark.parametrize("reply", ERRORS)
async def test_a_recorded_error_is_raised_by_its_name_and_the_next_call_works(
    server: Scripted, reply: dict[str, Any]
) -> None:
    async with connect_async(server.url, reconnect=QUICK, heartbeat_ms=0) as client:
        session = await client.make("e-v1")
        await session.reset()

        async def refuse(request: Any, _next: Any) -> Any:
            id = None if reply["id"] is None else request.id
            await request.raw(json.dumps({"jsonrpc": "2.0", "id": id, "error": reply["error"]}))
            return NO_REPLY

        server.on("env/observe", refuse)
        with pytest.raises(WireError) as caught:
            await session.observe()
        error = reply["error"]
        assert type(caught.value) is trailgym.wire.ERRORS[error["data"]["name"]]
        assert caught.value.to_object() == error
        assert (await session.step(1)).observation == 1
        assert server.sockets == 1


@pytest.mark.parametrize("code", CLOSING)
async def test_a_recorded_close_is_told_with_its_code_and_the_step_is_answered_over_the_next_socket(
    server: Scripted, code: int
) -> None:
    codes: list[int] = []

    def heard(change: StateChange) -> None:
        if isinstance(change, trailgym.Lost):
            codes.append(change.code)

    async with connect_async(server.url, reconnect=QUICK, heartbeat_ms=0, on_state_change=heard) as client:
        session = await client.make("e-v1")
        await session.reset()

        async def closing(request: Any, next: Any) -> Any:
            if request.socket > 1:
                return next()
            await request.close(code)
            return NO_REPLY

        server.on("env/step", closing)
        assert (await session.step(1)).observation == 1
        assert codes == [code]


@pytest.mark.parametrize("error", HANDSHAKE)
async def test_an_error_in_the_handshake_is_raised_by_connect(server: Scripted, error: dict[str, Any]) -> None:
    def refuse(_request: Any, _next: Any) -> Any:
        raise RawRefusal(error)

    server.on("initialize", refuse)
    with pytest.raises(WireError) as caught:
        await connect_async(server.url, reconnect=QUICK)
    assert caught.value.to_object() == error
    assert server.sockets == 1
