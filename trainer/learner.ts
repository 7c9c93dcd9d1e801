/** One update of a policy: gradient, clip, step; and what it must not do when there is nothing to learn. */

import type { Optimiser, OptimiserState } from "./optim/optimiser.ts";
import type { Layout, Tensors } from "./policy/parameters.ts";
import { gradientOf, type PartLoss } from "./update.ts";

export interface UpdateResult {
  loss: number;
  /** ‖g‖₂ before clipping. */
  gradNorm: number;
  /** False: the gradient was exactly 0, and neither weights nor moments have moved. */
  updated: boolean;
  /** For each part, what its loss named. */
  reported: Record<string, Float32Array>[];
}

export class Learner {
  readonly layout: Layout;
  readonly optimiser: Optimiser;
  /** Changed in place by every update. */
  readonly weights: Float32Array;
  readonly #gradient: Float32Array;

  /** @param weights are taken, not copied. */
  constructor(layout: Layout, weights: Float32Array, optimiser: Optimiser) {
    if (weights.length !== layout.size) {
      throw new RangeError(`${weights.length} weights are not the ${layout.size} of this policy`);
    }
    this.layout = layout;
    this.weights = weights;
    this.optimiser = optimiser;
    this.#gradient = new Float32Array(layout.size);
  }

  /**
   * The parts' losses add up (see `weigh`), so parts only bound the memory.
   * A batch without any signal (constant rewards, all episodes failed) changes nothing: its zeros would otherwise let old
   * momentum and weight decay move the policy.
   * @throws GradientNotFinite, with everything as before.
   */
  update(parts: readonly ((p: Tensors) => PartLoss)[], learningRate: number): UpdateResult {
    const { gradient, loss, reported } = gradientOf(this.layout, this.weights, parts, this.#gradient);
    if (!gradient.some((g) => g !== 0)) return { loss, gradNorm: 0, updated: false, reported };
    const gradNorm = this.optimiser.update(this.weights, gradient, learningRate);
    return { loss, gradNorm, updated: true, reported };
  }

  /** What a checkpoint holds of it, copied. */
  snapshot(): { weights: Float32Array; optimiser: OptimiserState } {
    const { step, firstMoment, secondMoment } = this.optimiser.state;
    return {
      weights: this.weights.slice(),
      optimiser: { step, firstMoment: firstMoment.slice(), secondMoment: secondMoment.slice() },
    };
  }

  /** @throws RangeError when it is of another size. */
  restore({ weights, optimiser }: { weights: Float32Array; optimiser: OptimiserState }): void {
    const sizes = [weights.length, optimiser.firstMoment.length, optimiser.secondMoment.length];
    const { firstMoment, secondMoment } = this.optimiser.state;
    if (sizes.join() !== [this.weights.length, firstMoment.length, secondMoment.length].join()) {
      throw new RangeError("these weights or moments are not of this policy and optimiser");
    }
    this.weights.set(weights);
    this.optimiser.state = {
      step: optimiser.step,
      firstMoment: optimiser.firstMoment.slice(),
      secondMoment: optimiser.secondMoment.slice(),
    };
  }
}
