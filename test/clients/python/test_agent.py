"""What is an agent's client told, and who notices when somebody is told too little?"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from scripted import Scripted, as_role
from served import served

import trailgym
from trailgym import ProtocolViolation, Reconnect, StateChange, WrongRole, connect, connect_async


def token(name: str, role: str, **more: Any) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(name.encode()).hexdigest(), "principal": "alice", "role": role, **more}


def test_an_agent_plays_what_its_trainer_resets_and_is_told_neither_reward_nor_info(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    told = token("told", "agent", discloses=["reward"])
    tokens.write_text(json.dumps([token("trains", "trainer"), token("plays", "agent"), told]))
    with served("--port", "0", "--memory", "--tokens", str(tokens)) as server:
        with pytest.raises(trailgym.UnauthenticatedError):
            connect(server.url, token="wrong")
        with connect(server.url, token="trains") as trainer, trainer.make("countdown-v1") as session:
            session.reset(seed=1)
            with connect(server.url, token="plays", role="agent") as agent:
                assert not hasattr(agent, "make")
                mine = agent.attach(session.id)
                assert not hasattr(mine, "reset")
                step = mine.step({"amount": 3})
                assert (step.observation, step.terminated, step.index) == ({"remaining": 2}, False, 1)
                assert (step.reward, step.info, step.state_digest) == (None, None, None)
                now = mine.observe()
                assert (now.status, now.episode_return, now.info) == ("running", None, None)
                mine.detach()
            with connect(server.url, token="told", role="agent") as other:
                last = other.attach(session.id).step({"amount": 2})
                assert (last.reward, last.info) == (1, None)
            with pytest.raises(WrongRole):
                connect(server.url, token="plays", role="trainer")


async def test_a_token_of_another_role_is_refused_at_once_and_after_a_reconnect(server: Scripted) -> None:
    with pytest.raises(WrongRole) as refused:
        await connect_async(server.url, role="agent")
    assert (refused.value.code, refused.value.role) == ("WRONG_ROLE", "trainer")
    assert server.sockets == 1
    changes: list[StateChange] = []
    quick = Reconnect(min_delay_ms=1, max_delay_ms=5)
    client = await connect_async(server.url, role="trainer", reconnect=quick, on_state_change=changes.append)
    session = await client.make("e-v1")
    server.on("initialize", lambda _request, next: {**next(), "role": "observer"})
    server.drop_all()
    with pytest.raises(trailgym.TrailGymError) as caught:
        await session.observe()
    assert isinstance(caught.value, WrongRole)
    await client.close()
    assert isinstance(changes[-1], trailgym.Closed)
    assert isinstance(changes[-1].error, WrongRole)


@pytest.mark.parametrize(
    ("method", "field"),
    [
        ("env/step", "reward"),
        ("env/step", "info"),
        ("env/observe", "episodeReturn"),
        ("env/observe", "info"),
        ("env/restore", "episodeReturn"),
        ("session/attach", "info"),
    ],
)
async def test_a_trainer_does_not_take_a_result_without_what_an_agent_may_lack(
    server: Scripted, method: str, field: str
) -> None:
    for role in ("trainer", "observer", "agent"):
        server.on("initialize", as_role(role))
        async with connect_async(server.url) as client:
            session = await client.make("e-v1")
            await session.reset()
            calls: dict[str, Any] = {
                "env/step": lambda session=session: session.step(1),
                "env/observe": session.observe,
                "env/restore": lambda session=session: session.restore("snap"),
                "session/attach": session.resync,
            }

            def untold(_request: Any, next: Any) -> Any:
                return {key: value for key, value in next().items() if key != field}

            server.on(method, untold)
            if role == "agent":
                assert (await calls[method]()).observation == 0 or method == "env/step"
            else:
                with pytest.raises(ProtocolViolation, match=f"{method} is not what it promises \\({field}"):
                    await calls[method]()
