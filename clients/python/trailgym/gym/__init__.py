"""Gymnasium environments that are played on a TrailGym server. Needs `trailgym[gymnasium]`."""

from .env import TrailGymEnv
from .registration import make, make_vec, register_envs
from .spaces import AnyText, JsonText
from .vector import TrailGymVectorEnv, VectorError

__all__ = [
    "AnyText",
    "JsonText",
    "TrailGymEnv",
    "TrailGymVectorEnv",
    "VectorError",
    "make",
    "make_vec",
    "register_envs",
]
