import * as tf from "@tensorflow/tfjs-core";
import type { Rng } from "trailgym/env";
import { beforeAll, expect, test } from "vitest";
import type { Decisions } from "../../../trainer/algorithms/decisions.ts";
import { takenTerms } from "../../../trainer/algorithms/likelihood.ts";
import { objective, objectiveDefaults, type ObjectiveOptions, weigh } from "../../../trainer/algorithms/objective.ts";
import { gae, whiten } from "../../../trainer/algorithms/ppo.ts";
import { useBackend } from "../../../trainer/backend/backend.ts";
import { Learner } from "../../../trainer/learner.ts";
import { Optimiser } from "../../../trainer/optim/optimiser.ts";
import { mlpForward, MlpInference, mlpLayout } from "../../../trainer/policy/mlp.ts";
import { randomAt } from "../../../trainer/random.ts";
import { softmax } from "./toy.ts";

/** CartPole-v1's dynamics (Barto, Sutton & Anderson 1983); 1 for every step, cut off at 500. */
function push([x, speed, angle, turn]: readonly [number, number, number, number], action: number) {
  const force = action === 1 ? 10 : -10;
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const pull = (force + 0.05 * turn * turn * sine) / 1.1;
  const turning = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - (0.1 * cosine * cosine) / 1.1));
  const going = pull - (0.05 * turning * cosine) / 1.1;
  return [x + 0.02 * speed, speed + 0.02 * going, angle + 0.02 * turn, turn + 0.02 * turning] as const;
}

const config = { inputs: 4, actions: 2, hidden: [64, 64], separateValue: true };
const limit = 500;
const options: ObjectiveOptions = { ...objectiveDefaults, algorithm: "ppo", entropyCoef: 0.01, valueCoef: 0.5 };

interface Played {
  states: number[][];
  actions: number[];
  logProbs: number[];
  values: number[];
  bootstrap: number;
}

function play(policy: MlpInference, random: Rng): Played {
  const out: Played = { states: [], actions: [], logProbs: [], values: [], bootstrap: 0 };
  let state = [0, 0, 0, 0].map(() => 0.1 * random.float() - 0.05) as unknown as readonly [
    number,
    number,
    number,
    number,
  ];
  for (let t = 0; t < limit; t++) {
    const { logits, value } = policy.decide(Float32Array.from(state));
    const p = softmax(logits);
    const action = random.float() < p[0]! ? 0 : 1;
    out.states.push([...state]);
    out.actions.push(action);
    out.logProbs.push(Math.log(p[action]!));
    out.values.push(value);
    state = push(state, action);
    if (Math.abs(state[0]) > 2.4 || Math.abs(state[2]) > (12 * Math.PI) / 180) return out;
  }
  // Cut, not over.
  out.bootstrap = policy.decide(Float32Array.from(state)).value;
  return out;
}

beforeAll(async () => void (await useBackend("auto")));

test("PPO balances a pole: 195 steps and more in the mean of 100 episodes", () => {
  const seed = 1;
  const layout = mlpLayout(config);
  const optimiser = new Optimiser(layout.size, { kind: "adam", weightDecay: 0, maxGradNorm: 0.5 });
  const learner = new Learner(layout, layout.initial(randomAt(seed, "init")), optimiser);
  const last: number[] = [];
  for (let update = 0; update < 120; update++) {
    const policy = new MlpInference(config, learner.weights);
    const played = Array.from({ length: 12 }, (_, rollout) =>
      play(policy, randomAt(seed, "sampling", { update, rollout })),
    );
    last.push(...played.map(({ actions }) => actions.length));
    const recent = last.slice(-100);
    if (recent.length === 100 && recent.reduce((a, b) => a + b) / 100 >= 195) break;

    // One row of all decisions: episodes need no padding when nothing is averaged over them.
    const estimates = played.map(({ actions, values, bootstrap }) =>
      gae({ rewards: actions.map(() => 1), values, bootstrap }, { gamma: 0.99, lambda: 0.95 }),
    );
    const count = played.reduce((sum, { actions }) => sum + actions.length, 0);
    const flat = (values: number[][]) => Float32Array.from(values.flat());
    const mask = new Float32Array(count).fill(1);
    const decisions: Decisions = {
      batch: 1,
      steps: count,
      mask,
      groups: new Int32Array(1),
      oldLogProbs: flat(played.map(({ logProbs }) => logProbs)),
      advantages: whiten(flat(estimates.map(({ advantages }) => advantages)), mask),
      valueTargets: flat(estimates.map(({ targets }) => targets)),
    };
    const weighed = weigh(decisions, options);
    const states = flat(played.flatMap(({ states }) => states));
    const actions = Int32Array.from(played.flatMap(({ actions }) => actions));
    for (let epoch = 0; epoch < 8; epoch++) {
      learner.update(
        [
          (p) => {
            const { logits, values } = mlpForward(p, states, config);
            const taken = takenTerms(logits, actions, 1);
            const row = (x: tf.Tensor) => tf.reshape(x, [1, count]);
            const terms = { logProbs: row(taken.logProbs), entropy: row(taken.entropy), values: row(values) };
            return { total: objective(terms, weighed, 0, options).total };
          },
        ],
        2e-3,
      );
    }
  }
  const recent = last.slice(-100);
  expect(recent.reduce((a, b) => a + b) / recent.length).toBeGreaterThanOrEqual(195);
});
