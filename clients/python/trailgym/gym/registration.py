"""How does Gymnasium find the environments of a server by name?"""

from __future__ import annotations

import os
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv

from ..sync.client import connect

NAMESPACE = "trailgym"


def make(url: str, env_id: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """`env_id` of the server at `url`, through `gymnasium.make`, with its usual wrappers. `kwargs` as of TrailGymEnv; those
    of `gymnasium.make`, such as `disable_env_checker`, too."""
    return gymnasium.make(_spec(url, env_id), **kwargs)


def make_vec(url: str, env_id: str, num_envs: int, **kwargs: Any) -> VectorEnv[Any, Any, Any]:
    """`num_envs` episodes of it side by side. `kwargs` as of TrailGymVectorEnv."""
    return gymnasium.make_vec(_spec(url, env_id), num_envs, "vector_entry_point", **kwargs)


def register_envs(url: str, *, token: str | None = None) -> list[str]:
    """Registers every environment of a server with Gymnasium, as `trailgym/<id>`, so that `gymnasium.make` and libraries
    that build on it find them. Returns the names. A name that is registered already is pointed at this server."""
    with connect(url, token=token or os.environ.get("TRAILGYM_TOKEN")) as client:
        specs = [_spec(url, entry.id) for entry in client.list()]
    for spec in specs:
        gymnasium.registry[spec.id] = spec
        if token is not None:
            spec.kwargs["token"] = token
    return [spec.id for spec in specs]


def _spec(url: str, env_id: str) -> EnvSpec:
    return EnvSpec(
        id=f"{NAMESPACE}/{env_id}",
        entry_point="trailgym.gym.env:TrailGymEnv",
        vector_entry_point="trailgym.gym.vector:TrailGymVectorEnv",
        kwargs={"url": url, "env_id": env_id},
        # The server truncates episodes itself.
        max_episode_steps=None,
    )
