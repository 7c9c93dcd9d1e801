"""Tabular Q-learning on a Gymnasium vector environment: 32 episodes side by side, one frame for each step of all."""

import sys

import numpy as np

import trailgym.gym

url = sys.argv[1] if len(sys.argv) > 1 else "ws://127.0.0.1:7474/rpc"
START, N, STEPS = 10, 32, 250

envs = trailgym.gym.make_vec(url, "countdown-v1", N, autoreset_mode="SameStep", options={"start": START})
random = np.random.default_rng(0)
q = np.zeros((START + 1, 3))  # value of taking 1, 2 or 3 from what remains


def choose(remaining: np.ndarray, epsilon: float) -> np.ndarray:
    """Indices of actions; ties are broken at random."""
    greedy = np.argmax(q[remaining] + 1e-6 * random.random((N, 3)), axis=1)
    return np.where(random.random(N) < epsilon, random.integers(3, size=N), greedy)


observations, infos = envs.reset(seed=0)
remaining = observations["remaining"]
for _ in range(STEPS):
    action = choose(remaining, epsilon=0.3)
    observations, rewards, terminated, truncated, infos = envs.step({"amount": action + 1})
    following = observations["remaining"]
    # Where an episode ended, the observation is the next one's first: nothing follows what terminated, so that it does
    # not matter here. One that was truncated would be bootstrapped from infos["final_obs"].
    future = np.where(terminated, 0.0, q[following].max(axis=1))
    for state, taken, target in zip(remaining, action, rewards + 0.95 * future):
        q[state, taken] += 0.2 * (target - q[state, taken])
    remaining = following

wins = ended = 0
while ended < 100:
    observations, rewards, terminated, truncated, infos = envs.step({"amount": choose(remaining, 0.0) + 1})
    remaining = observations["remaining"]
    ended += int((terminated | truncated).sum())
    wins += int(rewards.sum())
envs.close()
print(f"wins {wins / ended:.2f} of {ended} episodes after {N * STEPS} steps (at random: about 0.5)")
