import * as tf from "@tensorflow/tfjs-core";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { useBackend } from "../../../trainer/backend/backend.ts";
import { CheckpointFolder } from "../../../trainer/checkpoint.ts";
import { Optimiser } from "../../../trainer/optim/optimiser.ts";
import { Learner } from "../../../trainer/learner.ts";
import { bandit, bestArm, chain, contextual, goodPath, hot, newLearner, policyOf, type Toy, train } from "./toy.ts";

const algorithms = ["grpo", "ppo", "rloo"] as const;

beforeAll(async () => void (await useBackend("cpu")));

describe.each(algorithms)("%s", (algorithm) => {
  test("finds the best of ten arms within 100 updates", () => {
    const learner = train(bandit, { seed: 1, updates: 100, learningRate: 0.06, objective: { algorithm }, hidden: [] });
    expect(policyOf(bandit, learner, [1], [])[7]).toBeGreaterThan(0.95);
  });

  test("learns nothing from shuffled rewards: the best arm is no likelier than others, in the mean of four seeds", () => {
    const found = [1, 2, 3, 4].map((seed) => {
      const run = { seed, updates: 60, learningRate: 0.02, objective: { algorithm }, hidden: [], shuffled: true };
      return policyOf(bandit, train(bandit, run), [1], [])[7]!;
    });
    // Chance still moves the policy; the same run without the shuffle is above 0.7 by then.
    expect(found.reduce((a, b) => a + b) / 4).toBeLessThan(0.35);
  });

  test("learns which arm is best in which context", () => {
    const learner = train(contextual, {
      seed: 2,
      updates: 60,
      learningRate: 0.06,
      objective: { algorithm },
      groups: 8,
    });
    for (let context = 0; context < 4; context++) {
      const task = hot(context, 4);
      expect(policyOf(contextual, learner, task)[bestArm(task)]).toBeGreaterThan(0.95);
    }
  });
});

describe("the chain with one good path of 1024", () => {
  const success = (toy: Toy, learner: Learner) =>
    goodPath.reduce((p, action, t) => p * policyOf(toy, learner, hot(t, 6))[action]!, 1);

  test("is not found by GRPO alone", () => {
    const learner = train(chain, { seed: 3, updates: 60, groups: 2 });
    expect(success(chain, learner)).toBeLessThan(0.05);
  });

  test("is learned with the mixed curriculum: the reference acts with p_tf and teaches with λ, both falling", () => {
    const oracle = (update: number) => ({ teach: Math.max(0, 0.8 - update / 40), lambda: update < 30 ? 0.5 : 0 });
    const learner = train(chain, { seed: 3, updates: 60, groups: 2, oracle });
    expect(success(chain, learner)).toBeGreaterThan(0.9);
  });
});

describe("an update", () => {
  test("of constant rewards leaves the weights as they are, whatever momentum there is", () => {
    const flat: Toy = { ...bandit, play: () => ({ reward: 0.1, observation: [1], terminated: true }) };
    const learner = train(bandit, { seed: 4, updates: 3 });
    const before = learner.snapshot();
    train(flat, { seed: 4, updates: 3, learner });
    expect(learner.snapshot()).toEqual(before);
  });

  test("of rewards that are NaN leaves the weights as they are", () => {
    const broken: Toy = { ...bandit, play: () => ({ reward: NaN, observation: [1], terminated: true }) };
    const learner = newLearner(bandit, 4);
    const before = learner.snapshot();
    train(broken, { seed: 4, updates: 2, learner });
    expect(learner.snapshot()).toEqual(before);
  });

  test("leaves no tensor behind, 200 times", () => {
    const counts = new Set<number>();
    train(contextual, { seed: 5, updates: 200, groups: 1, after: () => counts.add(tf.memory().numTensors) });
    expect([...counts]).toEqual([0]);
  });

  test("is the same for the same seed, and another for another", () => {
    const weights = (seed: number) => train(contextual, { seed, updates: 5 }).weights;
    expect(weights(6)).toEqual(weights(6));
    expect(weights(6)).not.toEqual(weights(7));
  });

  test("goes on bit by bit from a checkpoint: 10 = 5 + 5", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "trailgym-resume-"));
    try {
      const whole = train(contextual, { seed: 8, updates: 10 });
      const first = train(contextual, { seed: 8, updates: 5 });
      const identity = { backend: tf.getBackend(), layout: first.layout.signature, toolsDigest: "" };
      const checkpoints = new CheckpointFolder(folder);
      await checkpoints.save({ identity, update: 5, ...first.snapshot(), state: {} });
      const saved = await checkpoints.latest(identity);
      const second = new Learner(
        first.layout,
        new Float32Array(first.layout.size),
        new Optimiser(first.layout.size, first.optimiser.options),
      );
      second.restore(saved);
      train(contextual, { seed: 8, from: saved.update, updates: 10, learner: second });
      expect(second.snapshot()).toEqual(whole.snapshot());
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
