"""The recorded sessions are what this client says and hears: the golden transcript that the server is held to as well."""

from __future__ import annotations

from typing import Any

import pytest
from recordings import recordings
from scripted import RawRefusal, Scripted

from trailgym import AsyncClient, AsyncSession, WireError, connect_async

Params = dict[str, Any]


class Player:
    """Plays a recording by the client's own verbs, and by its general call where it has none."""

    def __init__(self, client: AsyncClient) -> None:
        self.by_verb: set[str] = set()
        self._client = client
        self._open: dict[str, AsyncSession] = {}

    async def play(self, exchange: Any) -> list[Params]:
        """What the caller got, in the recording's words; `whole`: there is nothing in the result that it does not get."""
        if isinstance(exchange, list):
            return await self._together([one["params"] for one in exchange])
        try:
            result = await self._one(exchange["method"], dict(exchange["params"]))
        except WireError as error:
            return [{"error": error.to_object()}]
        return [{"result": result, "whole": exchange["method"] != "env/make"}]

    async def _one(self, method: str, params: Params) -> Any:
        if method == "env/make":
            made = await self._client.make(params.pop("env"), **params)
            return {"session": self._keep(made, method), "seq": made.seq, "env": made.env}
        if method == "env/fork":
            source = self._open[params["session"]] if "session" in params else params["snapshot"]
            forks = await self._client.fork(source, params["count"])
            return {"sessions": [self._keep(fork, method) for fork in forks]}
        session = self._open.get(params["session"])
        counted = method in ("env/reset", "env/step", "env/restore")
        if session is None or (counted and params.get("seq") != session.seq):
            return _plain(await self._client.call(method, params))  # type: ignore[call-overload]
        self.by_verb.add(method)
        for known in ("session", "seq"):
            params.pop(known, None)
        if method == "env/close":
            del self._open[session.id]
            await session.close()
            return {"closed": True}
        if method == "env/restore":
            return _plain(await session.restore(params.pop("snapshot"), **params))
        if method == "env/step":
            return _plain(await session.step(params.pop("action"), **params))
        if method == "session/attach":
            return _plain(await session.resync())
        return _plain(await getattr(session, method.removeprefix("env/"))(**params))

    async def _together(self, params: list[Params]) -> list[Params]:
        self.by_verb.add("batch")
        vector = self._client.vector_of([self._open[one["session"]] for one in params])
        step = await vector.step([one["action"] for one in params])
        return [
            {"error": error.to_object()}
            if isinstance(error, WireError)
            else {
                "result": {
                    "observation": step.observations[i],
                    "reward": step.rewards[i],
                    "info": step.infos[i],
                    "terminated": step.terminated[i],
                    "truncated": step.truncated[i],
                }
            }
            for i, error in enumerate(step.errors)
        ]

    def _keep(self, session: AsyncSession, method: str) -> str:
        self.by_verb.add(method)
        self._open[session.id] = session
        return session.id


def _plain(result: Any) -> Any:
    return result.model_dump(by_alias=True, exclude_unset=True)


async def replay(server: Scripted, recording: dict[str, Any]) -> set[str]:
    exchanges = recording["exchanges"]
    answers = [one for exchange in exchanges for one in (exchange if isinstance(exchange, list) else [exchange])]

    def answer(_request: Any, next: Any) -> Any:
        if not answers:
            return next()
        recorded = answers.pop(0)
        if "error" in recorded:
            raise RawRefusal(recorded["error"])
        return recorded["result"]

    server.on("initialize", lambda _request, next: next())
    server.on("*", answer)
    async with connect_async(server.url) as client:
        player = Player(client)
        heard = len(server.received)
        for exchange in exchanges:
            recorded = exchange if isinstance(exchange, list) else [exchange]
            handed = await player.play(exchange)
            said = [(one.method, one.params, one.frame) for one in server.received[heard:]]
            heard = len(server.received)
            assert said == [(one["method"], one["params"], len(recorded)) for one in recorded]
            for got, expected in zip(handed, recorded, strict=True):
                _assert_handed(got, expected)
    return player.by_verb


def _assert_handed(got: Params, expected: Params) -> None:
    if "error" in expected:
        assert got["error"] == expected["error"]
    elif got.get("whole"):
        assert got["result"] == expected["result"]
    else:
        assert got["result"] == {key: expected["result"][key] for key in got["result"]}


@pytest.mark.parametrize("name", recordings())
async def test_a_recorded_session_is_what_this_client_says_and_hands_over(server: Scripted, name: str) -> None:
    await replay(server, recordings()[name])


async def test_every_verb_of_a_session_is_in_some_recording(server: Scripted) -> None:
    played: set[str] = set()
    for recording in recordings().values():
        played |= await replay(server, recording)
    assert sorted(played) == [
        "batch",
        "env/close",
        "env/fork",
        "env/make",
        "env/observe",
        "env/reset",
        "env/restore",
        "env/snapshot",
        "env/step",
        "session/attach",
    ]
