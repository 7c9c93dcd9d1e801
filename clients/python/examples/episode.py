"""One episode from blocking code, and three ways to go on from its middle."""

import sys

import trailgym

url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:7474/rpc"

with trailgym.connect(url) as client, client.make("countdown-v1", options={"start": 12}) as session:
    result = session.reset(seed=7)
    print(f"seed {result.seed}: {result.observation}")
    for amount in (3, 3):
        step = session.step({"amount": amount})
        print(f"took {amount}: {step.observation}, reward {step.reward}")

    # Each fork goes on from here by itself.
    for fork, amount in zip(session.fork(3), (1, 2, 3)):
        while not (step := fork.step({"amount": amount})).terminated:
            pass
        print(f"always {amount} from there: {step.observation}, reward {step.reward}")
