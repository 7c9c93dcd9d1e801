/**
 * How does a gradient become new weights? Parameters, gradients and moments are one flat float32 vector each, in plain
 * arrays: an update is one loop, the same on every backend, and a checkpoint is a copy.
 */

export interface OptimiserOptions {
  kind: "adam" | "adamw" | "sgd";
  beta1: number;
  beta2: number;
  eps: number;
  /** Decoupled (AdamW, Loshchilov & Hutter 2019): w ← w − lr·wd·w before the step. */
  weightDecay: number;
  /** ‖g‖₂ over all parameters is cut to this (as torch's clip_grad_norm_); undefined: never. */
  maxGradNorm?: number | undefined;
}

export const optimiserDefaults: OptimiserOptions = {
  kind: "adamw",
  beta1: 0.9,
  beta2: 0.999,
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 0.5,
};

export class GradientNotFinite extends Error {
  override readonly name = "GradientNotFinite";
  constructor(norm: number) {
    super(`the gradient's norm is ${norm}: this update was not made and the weights are as before`);
  }
}

/** What a checkpoint keeps. */
export interface OptimiserState {
  /** Updates made. */
  step: number;
  firstMoment: Float32Array;
  secondMoment: Float32Array;
}

export class Optimiser {
  readonly options: OptimiserOptions;
  state: OptimiserState;

  constructor(size: number, options: Partial<OptimiserOptions> = {}) {
    this.options = { ...optimiserDefaults, ...options };
    const slots = this.options.kind === "sgd" ? 0 : size;
    this.state = { step: 0, firstMoment: new Float32Array(slots), secondMoment: new Float32Array(slots) };
  }

  /**
   * Changes `weights` in place; scales `gradient` in place when it is clipped.
   * @returns the norm before clipping.
   * @throws GradientNotFinite before anything is changed.
   */
  update(weights: Float32Array, gradient: Float32Array, learningRate: number): number {
    const norm = globalNorm(gradient);
    if (!Number.isFinite(norm)) throw new GradientNotFinite(norm);
    const { kind, maxGradNorm } = this.options;
    if (maxGradNorm !== undefined) clipToNorm(gradient, norm, maxGradNorm);
    this.state.step++;
    if (kind === "sgd") descend(weights, gradient, learningRate);
    else this.#adam(weights, gradient, learningRate);
    return norm;
  }

  /** m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − lr · m̂ / (√v̂ + ε) (Kingma & Ba 2015), with torch's order of operations. */
  #adam(weights: Float32Array, gradient: Float32Array, learningRate: number): void {
    const { beta1, beta2, eps, kind, weightDecay } = this.options;
    const { step, firstMoment: m, secondMoment: v } = this.state;
    const size = learningRate / (1 - beta1 ** step);
    const root = 1 / Math.sqrt(1 - beta2 ** step);
    const keep = kind === "adamw" ? 1 - learningRate * weightDecay : 1;
    const [fresh1, fresh2] = [1 - beta1, 1 - beta2];
    for (let i = 0; i < weights.length; i++) {
      const g = gradient[i] as number;
      const mean = beta1 * (m[i] as number) + fresh1 * g;
      const square = beta2 * (v[i] as number) + fresh2 * g * g;
      m[i] = mean;
      v[i] = square;
      // Often many: a head that this batch did not use.
      if (mean === 0) weights[i]! *= keep;
      else weights[i] = (weights[i] as number) * keep - (size * mean) / (Math.sqrt(square) * root + eps);
    }
  }
}

function descend(weights: Float32Array, gradient: Float32Array, learningRate: number): void {
  for (let i = 0; i < weights.length; i++) weights[i]! -= learningRate * (gradient[i] as number);
}

export function globalNorm(gradient: Float32Array): number {
  // Four sums at a time: one alone waits for each of its additions.
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = gradient.length - (gradient.length % 4);
  for (let i = 0; i < whole; i += 4) {
    a += (gradient[i] as number) ** 2;
    b += (gradient[i + 1] as number) ** 2;
    c += (gradient[i + 2] as number) ** 2;
    d += (gradient[i + 3] as number) ** 2;
  }
  for (let i = whole; i < gradient.length; i++) a += (gradient[i] as number) ** 2;
  return Math.sqrt(a + b + (c + d));
}

function clipToNorm(gradient: Float32Array, norm: number, limit: number): void {
  const factor = limit / (norm + 1e-6);
  if (factor >= 1) return;
  for (let i = 0; i < gradient.length; i++) gradient[i]! *= factor;
}
