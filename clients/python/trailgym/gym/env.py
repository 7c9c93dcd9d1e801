"""One episode at a time, as a `gymnasium.Env`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import gymnasium
import numpy as np

from ..sync.client import Client, connect
from ..values import SAFE
from ..wire import EnvEntry, ToolSpec, UnknownEnvError
from .spaces import bridge


class TrailGymEnv(gymnasium.Env[Any, Any]):
    """An environment of a TrailGym server. Its spaces are those of the server's schemas; see `trailgym.gym.spaces`.

    What goes wrong is an exception (`trailgym.WireError`, `trailgym.ClientError`), never a reward and never the end of an
    episode: the state is as it was, and the same step can be made again where `error.retryable` says so.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    tools: list[ToolSpec] | None = None
    """The tools of the episode's task, where the action is a tool call."""
    task: str | None = None
    """The task of the episode, where the environment has tasks."""

    def __init__(
        self,
        url: str,
        env_id: str,
        *,
        token: str | None = None,
        options: Mapping[str, Any] | None = None,
        task: str | None = None,
        split: str | None = None,
        step_timeout_ms: int | None = None,
        render_mode: Literal["ansi"] | None = None,
        client: Client | None = None,
    ) -> None:
        """`token`: default the variable TRAILGYM_TOKEN. `options`: the environment's own, for every episode. `task`, `split`:
        what `reset` plays unless it is told otherwise. `client`: share one connection; then it is not closed with the
        environment. Raises UnknownEnvError, with `suggestions`."""
        self.render_mode = render_mode
        self._client = client or connect(url, token=token or os.environ.get("TRAILGYM_TOKEN"))
        self._owns_client = client is None
        try:
            # Before anything is made: its error has suggestions, which a list does not.
            self._session = self._client.make(env_id, options=options, step_timeout_ms=step_timeout_ms)
            entry = entry_of(self._client, env_id)
        except BaseException:
            self._close_client()
            raise
        self._action = bridge(entry.action_schema)
        self._observation = bridge(entry.observation_schema)
        self.action_space = self._action.space
        self.observation_space = self._observation.space
        self._defaults = {"task": task, "split": split}
        self._last: Any = None
        self._closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """`options`: `task`, `split`, and `options` of the environment for this episode. The seed that the server gets is
        drawn from `np_random`."""
        super().reset(seed=seed)
        given = reset_options(options, self._defaults)
        result = self._session.reset(seed=server_seed(self.np_random), **given)
        self.tools, self.task = result.tools, result.task
        self._last = result.observation
        return self._observation.from_json(result.observation), result.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = self._session.step(self._action.to_json(action))
        self._last = result.observation
        observation = self._observation.from_json(result.observation)
        return observation, result.reward, result.terminated, result.truncated, result.info

    def render(self) -> str | None:
        """With `render_mode="ansi"`, the last observation as the server sent it."""
        return None if self.render_mode is None else str(self._last)

    def close(self) -> None:
        """Ends the session. Again: nothing."""
        if self._closed:
            return
        self._closed = True
        self._session.__exit__(None, None, None)
        self._close_client()

    def _close_client(self) -> None:
        if self._owns_client:
            self._client.close()


def entry_of(client: Client, env_id: str) -> EnvEntry:
    for entry in client.list():
        if entry.id == env_id:
            return entry
    raise UnknownEnvError(f'the server does not list "{env_id}"', "UNKNOWN_ENV", 1101, False, {"suggestions": []})


def server_seed(random: np.random.Generator) -> int:
    return int(random.integers(SAFE))


def reset_options(options: Mapping[str, Any] | None, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ValueError for a name that is none of `task`, `split`, `options`."""
    given = dict(options or {})
    unknown = given.keys() - {"task", "split", "options"}
    if unknown:
        what = ", ".join(sorted(map(str, unknown)))
        raise ValueError(f"reset takes the options task, split and options (the environment's own), not {what}")
    # A task that is named for one episode wins over the split that is chosen for all.
    return {**({} if "task" in given or "split" in given else defaults), **given}
