"""A countdown in OpenEnv, in one process: `default` as its documentation has it, `async` in its fastest form (with uvloop).

Prints {"url": …} once connections are accepted.
"""

import json
import socket
import sys

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

MAX_SESSIONS = 2000
START = 1000


class Amount(Action):
    amount: int


class Remaining(Observation):
    remaining: int


class Countdown(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self.remaining = START
        self.steps = 0

    def reset(self, seed=None, episode_id=None, **_kwargs):
        self.remaining = START
        self.steps = 0
        return Remaining(remaining=START)

    def step(self, action, timeout_s=None, **_kwargs):
        left = self.remaining - action.amount
        self.steps += 1
        # The episode after the last step of one begins at once, as the server beside it does it.
        self.remaining = left if left > 0 else START
        return Remaining(remaining=self.remaining, reward=1.0 if left == 0 else 0.0, done=left <= 0)

    @property
    def state(self):
        return State(step_count=self.steps)


class AsyncCountdown(Countdown):
    async def reset_async(self, seed=None, episode_id=None, **kwargs):
        return self.reset(seed, episode_id, **kwargs)

    async def step_async(self, action, timeout_s=None, **kwargs):
        return self.step(action, timeout_s, **kwargs)


def main():
    fast = sys.argv[1] == "async"
    app = create_fastapi_app(
        AsyncCountdown if fast else Countdown, Amount, Remaining, max_concurrent_envs=MAX_SESSIONS
    )
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    config = uvicorn.Config(app, loop="uvloop" if fast else "asyncio", log_level="critical", backlog=2048)
    server = uvicorn.Server(config)
    print(json.dumps({"url": f"ws://127.0.0.1:{listener.getsockname()[1]}/ws"}), flush=True)
    server.run(sockets=[listener])


main()
