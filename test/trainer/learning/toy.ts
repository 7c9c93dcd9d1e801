/** Small problems that a policy can learn in seconds, and the plainest loop that trains on them: no server, no pheromone. */

import * as tf from "@tensorflow/tfjs-core";
import type { Rng } from "trailgym/env";
import type { Decisions } from "../../../trainer/algorithms/decisions.ts";
import { grpoAdvantages } from "../../../trainer/algorithms/grpo.ts";
import { oneHot, supervisedTerms, takenTerms, tempered } from "../../../trainer/algorithms/likelihood.ts";
import { objective, objectiveDefaults, type ObjectiveOptions, weigh } from "../../../trainer/algorithms/objective.ts";
import { gae } from "../../../trainer/algorithms/ppo.ts";
import { discounted } from "../../../trainer/algorithms/returns.ts";
import { rlooAdvantages } from "../../../trainer/algorithms/rloo.ts";
import { Learner } from "../../../trainer/learner.ts";
import { Optimiser } from "../../../trainer/optim/optimiser.ts";
import { type MlpConfig, mlpForward, MlpInference, mlpLayout } from "../../../trainer/policy/mlp.ts";
import { randomAt } from "../../../trainer/random.ts";

export interface Toy {
  inputs: number;
  actions: number;
  steps: number;
  /** A task of the group, as what the policy sees first. */
  start(random: Rng): number[];
  /** @returns reward, the next observation, and whether that was the end. */
  play(
    task: number[],
    actions: readonly number[],
    random: Rng,
  ): { reward: number; observation: number[]; terminated: boolean };
  /** What a reference would do now. */
  reference?(task: number[], step: number): number;
}

export interface Run {
  seed: number;
  updates: number;
  objective?: Partial<ObjectiveOptions>;
  learningRate?: number;
  groups?: number;
  groupSize?: number;
  hidden?: number[];
  /** Chance that the reference chooses, and weight of L_SL. */
  oracle?: (update: number) => { teach: number; lambda: number };
  /** Rewards are dealt out anew within each group: nothing can be learned. */
  shuffled?: boolean;
  after?: (update: number, learner: Learner) => void;
  from?: number;
  learner?: Learner;
}

interface Step {
  observation: number[];
  action: number;
  logProb: number;
  value: number;
  oracle: boolean;
  target: number;
  reward: number;
}

export function configOf(toy: Toy, hidden = [32]): MlpConfig {
  return { inputs: toy.inputs, actions: toy.actions, hidden, separateValue: true };
}

export function newLearner(toy: Toy, seed: number, hidden?: number[]): Learner {
  const layout = mlpLayout(configOf(toy, hidden));
  const optimiser = new Optimiser(layout.size, { kind: "adam", weightDecay: 0, maxGradNorm: 1 });
  return new Learner(layout, layout.initial(randomAt(seed, "init")), optimiser);
}

export function train(toy: Toy, run: Run): Learner {
  const { seed, updates, groups = 4, groupSize = 8, learningRate = 0.01, hidden } = run;
  const config = configOf(toy, hidden);
  const learner = run.learner ?? newLearner(toy, seed, hidden);
  const options: ObjectiveOptions = { ...objectiveDefaults, entropyCoef: 0, ...run.objective };
  for (let update = run.from ?? 0; update < updates; update++) {
    const { teach, lambda } = run.oracle?.(update) ?? { teach: 0, lambda: 0 };
    const policy = new MlpInference(config, learner.weights);
    const episodes = Array.from({ length: groups * groupSize }, (_, i) => {
      const [task, rollout] = [Math.floor(i / groupSize), i % groupSize];
      const first = toy.start(randomAt(seed, "environment", { update, task }));
      return episode(toy, policy, first, teach, randomAt(seed, "sampling", { update, task, rollout }));
    });
    if (run.shuffled) deal(episodes, groupSize, randomAt(seed, "shuffle", { update }));
    const decisions = weigh(decisionsOf(toy, episodes, groupSize, options), options);
    const rows = (pick: (step: Step) => number) =>
      Int32Array.from(
        episodes.flatMap((each) => Array.from({ length: toy.steps }, (_, t) => (each[t] ? pick(each[t]) : 0))),
      );
    const observations = Float32Array.from(
      episodes.flatMap((each) =>
        Array.from(
          { length: toy.steps },
          (_, t) => each[t]?.observation ?? new Array<number>(toy.inputs).fill(0),
        ).flat(),
      ),
    );
    const actions = rows(({ action }) => action);
    const targets = rows(({ target }) => target);
    const shape: [number, number] = [episodes.length, toy.steps];
    learner.update(
      [
        (p) => {
          const { logits, values } = mlpForward(p, observations, config);
          const { logProbs, entropy } = takenTerms(logits, actions, 1);
          const goal = tf.tensor2d(oneHot(targets, toy.actions), [targets.length, toy.actions]);
          const taught = lambda > 0 ? supervisedTerms(tempered(logits, 1), goal, 0, tf.onesLike(goal)) : undefined;
          const terms = {
            logProbs: tf.reshape(logProbs, shape),
            entropy: tf.reshape(entropy, shape),
            values: tf.reshape(values, shape),
            supervised: taught && tf.reshape(taught, shape),
          };
          return { total: objective(terms, decisions, lambda, options).total };
        },
      ],
      learningRate,
    );
    run.after?.(update, learner);
  }
  return learner;
}

function episode(toy: Toy, policy: MlpInference, task: number[], teach: number, random: Rng): Step[] {
  const steps: Step[] = [];
  let observation = task;
  for (let t = 0; t < toy.steps; t++) {
    const { logits, value } = policy.decide(Float32Array.from(observation));
    const probabilities = softmax(logits);
    const target = toy.reference?.(task, t) ?? 0;
    const oracle = random.float() < teach;
    const action = oracle ? target : draw(probabilities, random.float());
    const next = toy.play(task, [...steps.map((step) => step.action), action], random);
    steps.push({
      observation,
      action,
      logProb: Math.log(probabilities[action]!),
      value,
      oracle,
      target,
      reward: next.reward,
    });
    if (next.terminated) break;
    observation = next.observation;
  }
  return steps;
}

function decisionsOf(toy: Toy, episodes: Step[][], groupSize: number, { algorithm }: ObjectiveOptions): Decisions {
  const size = episodes.length * toy.steps;
  const groups = Int32Array.from(episodes, (_, i) => Math.floor(i / groupSize));
  const returns = discounted(episodes.map((each) => each.map(({ reward }) => reward)));
  const fill = (pick: (step: Step, row: number, t: number) => number) => {
    const out = new Float32Array(size);
    for (const [row, each] of episodes.entries()) {
      for (const [t, step] of each.entries()) out[row * toy.steps + t] = pick(step, row, t);
    }
    return out;
  };
  const estimates = episodes.map((each) =>
    gae(
      { rewards: each.map(({ reward }) => reward), values: each.map(({ value }) => value), bootstrap: 0 },
      { gamma: 1, lambda: 0.95 },
    ),
  );
  const whole = (algorithm === "rloo" ? rlooAdvantages : grpoAdvantages)(returns, groups).advantages;
  return {
    batch: episodes.length,
    steps: toy.steps,
    mask: fill(() => 1),
    groups,
    oldLogProbs: fill(({ logProb }) => logProb),
    oracle: fill(({ oracle }) => (oracle ? 1 : 0)),
    supervised: fill(() => 1),
    advantages: fill((_, row, t) => (algorithm === "ppo" ? estimates[row]!.advantages[t]! : whole[row]!)),
    valueTargets: fill((_, row, t) => estimates[row]!.targets[t]!),
    oldValues: fill(({ value }) => value),
  };
}

function deal(episodes: Step[][], groupSize: number, random: Rng): void {
  for (let from = 0; from < episodes.length; from += groupSize) {
    const group = episodes.slice(from, from + groupSize);
    const rewards = random.shuffle(group.map((each) => each.map(({ reward }) => reward)));
    for (const [i, each] of group.entries()) for (const [t, step] of each.entries()) step.reward = rewards[i]![t] ?? 0;
  }
}

export function softmax(logits: ArrayLike<number>): number[] {
  const values = Array.from(logits);
  const most = Math.max(...values);
  const shares = values.map((v) => Math.exp(v - most));
  const total = shares.reduce((a, b) => a + b);
  return shares.map((share) => share / total);
}

function draw(probabilities: readonly number[], at: number): number {
  let left = at;
  for (const [action, p] of probabilities.entries()) if ((left -= p) < 0) return action;
  return probabilities.length - 1;
}

/** The probability of each action in a state. */
export function policyOf(toy: Toy, learner: Learner, observation: number[], hidden?: number[]): number[] {
  return softmax(
    new MlpInference(configOf(toy, hidden), learner.weights).decide(Float32Array.from(observation)).logits,
  );
}

/** Ten arms, of which 7 pays best. */
export const bandit: Toy = {
  inputs: 1,
  actions: 10,
  steps: 1,
  start: () => [1],
  play: (_task, [arm], random) => ({
    reward: (arm === 7 ? 1 : 0.06 * arm!) + 0.3 * random.normal(),
    observation: [1],
    terminated: true,
  }),
};

/** Four contexts, each with an arm of its own. */
export const contextual: Toy = {
  inputs: 4,
  actions: 4,
  steps: 1,
  start: (random) => hot(random.int(0, 3), 4),
  play: (task, [arm]) => ({ reward: arm === bestArm(task) ? 1 : 0, observation: task, terminated: true }),
};

export function bestArm(task: readonly number[]): number {
  return (task.indexOf(1) * 3 + 1) % 4;
}

/** Five steps, four actions, one good path of 1024; a reward only at its end, and the first error ends it. */
export const chain: Toy = {
  inputs: 6,
  actions: 4,
  steps: 5,
  start: () => hot(0, 6),
  play: (_task, actions) => {
    const right = actions.every((action, t) => action === goodPath[t]);
    const ended = !right || actions.length === 5;
    return { reward: right && ended ? 1 : 0, observation: hot(actions.length, 6), terminated: ended };
  },
  reference: (_task, step) => goodPath[step]!,
};

export const goodPath = [2, 0, 3, 1, 2];

export function hot(index: number, size: number): number[] {
  return Array.from({ length: size }, (_, i) => (i === index ? 1 : 0));
}
