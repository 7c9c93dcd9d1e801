"""Many episodes side by side, as a `gymnasium.vector.VectorEnv`: one frame steps them all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from ..sync.client import Client, connect
from ..wire import Autoreset, ToolSpec
from .env import entry_of, reset_options, server_seed
from .spaces import bridge

_MODES: dict[AutoresetMode, Autoreset] = {
    AutoresetMode.NEXT_STEP: "nextStep",
    AutoresetMode.SAME_STEP: "sameStep",
    AutoresetMode.DISABLED: "disabled",
}


class VectorError(RuntimeError):
    """Some environments of a vector failed; the others have made their step. Those that failed are as they were."""

    errors: dict[int, Exception]
    """By the environment's index."""

    def __init__(self, errors: dict[int, Exception]) -> None:
        first, error = next(iter(errors.items()))
        more = "" if len(errors) == 1 else f" (and {len(errors) - 1} more)"
        super().__init__(f"environment {first}: {error}{more}")
        self.errors = errors


class TrailGymVectorEnv(VectorEnv[Any, Any, NDArray[Any]]):
    """`num_envs` episodes of one environment on a TrailGym server.

    `metadata["autoreset_mode"]` is what `autoreset_mode` chose:
    - NEXT_STEP (Gymnasium's default): the step after an episode's end begins the next one; its action is not used and its
      reward is 0.
    - SAME_STEP: the step that ends an episode begins the next one, and `infos` has the last values as `final_obs` and
      `final_info`, with the masks `_final_obs` and `_final_info`.
    - DISABLED: call `reset(options={"reset_mask": mask})`; a step of an ended episode is a VectorError.

    Seeding is that of Gymnasium's vector environments (`seed + i`), and environment `i` begins with the episodes of a
    TrailGymEnv that was reset with `seed + i`. The seeds of autoreset episodes follow from it.
    """

    def __init__(
        self,
        url: str,
        env_id: str,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        token: str | None = None,
        options: Mapping[str, Any] | None = None,
        task: str | None = None,
        split: str | None = None,
        step_timeout_ms: int | None = None,
        client: Client | None = None,
    ) -> None:
        """As TrailGymEnv."""
        # Gymnasium's `__del__` closes what is open; one that cannot be made is not.
        self.closed = True
        mode = AutoresetMode(autoreset_mode)
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": mode, "render_modes": []}
        self._client = client or connect(url, token=token or os.environ.get("TRAILGYM_TOKEN"))
        self._owns_client = client is None
        try:
            self._vector = self._client.vector(
                env_id, num_envs, options=options, step_timeout_ms=step_timeout_ms, autoreset=_MODES[mode]
            )
            entry = entry_of(self._client, env_id)
        except BaseException:
            self._close_client()
            raise
        self._action = bridge(entry.action_schema)
        self._observation = bridge(entry.observation_schema)
        self.single_action_space = self._action.space
        self.single_observation_space = self._observation.space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._defaults = {"task": task, "split": split}
        self._randoms = [seeding.np_random()[0] for _ in range(num_envs)]
        # What environments that are not reset show again.
        self._observations: list[Any] = [None] * num_envs
        self.closed = False

    @property
    def tools(self) -> list[list[ToolSpec] | None]:
        """For each environment, the tools of its episode's task, where the action is a tool call."""
        return [session.tools for session in self._vector.sessions]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """`options`: as of TrailGymEnv, and `reset_mask`, an array of bool: which to reset; the others go on. Raises
        VectorError."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        given = dict(options or {})
        mask = _mask(given.pop("reset_mask", None), self.num_envs)
        shared = reset_options(given, self._defaults)
        self._reseed(seed, mask)
        seeds = [server_seed(random) if chosen else None for random, chosen in zip(self._randoms, mask)]
        result = self._vector.reset(seed=seeds, only=[int(i) for i in np.flatnonzero(mask)], **shared)
        _raise_any(result.errors)
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(mask):
            self._observations[i] = self._observation.from_json(result.observations[i])
            infos = self._add_info(infos, result.infos[i] or {}, int(i))
        return self._batched(), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Raises VectorError: an environment that failed has made no step, and no reward of 0 stands for it."""
        chosen = [self._action.to_json(action) for action in iterate(self.action_space, actions)]
        result = self._vector.step(chosen)
        _raise_any(result.errors)
        infos: dict[str, Any] = {}
        for i in range(self.num_envs):
            final_info = result.final_infos[i]
            if final_info is not None:
                final = self._observation.from_json(result.final_observations[i])
                infos = self._add_info(infos, {"final_obs": final, "final_info": final_info}, i)
            info = result.infos[i]
            if info:
                infos = self._add_info(infos, info, i)
        self._observations = [self._observation.from_json(value) for value in result.observations]
        return (
            self._batched(),
            np.array(result.rewards, np.float64),
            np.array(result.terminated, np.bool_),
            np.array(result.truncated, np.bool_),
            infos,
        )

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the sessions."""
        self._vector.__exit__(None, None, None)
        self._close_client()

    def _batched(self) -> Any:
        space = self.single_observation_space
        out: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, self._observations, out)

    def _reseed(self, seed: int | Sequence[int | None] | None, mask: NDArray[np.bool_]) -> None:
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is None:
            return
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        for i, own in enumerate(seeds):
            if own is not None and mask[i]:
                self._randoms[i] = seeding.np_random(own)[0]

    def _close_client(self) -> None:
        if self._owns_client:
            self._client.close()


def _mask(given: Any, n: int) -> NDArray[np.bool_]:
    if given is None:
        return np.ones(n, np.bool_)
    mask = np.asarray(given)
    if mask.shape != (n,) or mask.dtype != np.bool_ or not mask.any():
        raise ValueError(f"reset_mask is an array of {n} bools, one of them true at least")
    return mask


def _raise_any(errors: list[Exception | None]) -> None:
    failed = {i: error for i, error in enumerate(errors) if error is not None}
    if failed:
        raise VectorError(failed) from next(iter(failed.values()))
