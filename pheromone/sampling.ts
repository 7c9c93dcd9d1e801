/** With which probability is an action taken? The policy's distribution, guided by the trail: equation (7) of PhGPO. */

export type SamplingProblem = "NO_CANDIDATES" | "NOT_A_NUMBER";

export class SamplingError extends Error {
  override readonly name = "SamplingError";
  readonly problem: SamplingProblem;
  constructor(problem: SamplingProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

export interface FuseOptions {
  /** 1 or true where an action may be taken, [A]; default: all. A logit of −∞ forbids as well. */
  allowed?: ArrayLike<number | boolean>;
  /** log τ̄ an action, [A], not yet times β; default: no trail. */
  bias?: ArrayLike<number>;
  /** β; default 0. With β_max in every step these are the rollouts of (11). */
  beta?: number;
  /** T_s > 0; default 1. */
  temperature?: number;
  /** K: only the K actions that the policy finds likeliest stay; default: all. */
  topK?: number;
  /** p_rand: how often one of the K is taken blindly; default 0. */
  pRand?: number;
  /**
   * `temperature-first` (default): p ∝ π_T τ̄^β, T dividing the logits only. `trail-first`: p ∝ (π τ̄^β)^{1/T}, which is the
   * maximum of E_q[log π + β log τ̄] + T·H(q), and what a server does that divides by T after a logit bias.
   */
  order?: "temperature-first" | "trail-first";
}

/** Over the top-K, likeliest by the policy first; of equals, the lower number. */
export interface Guided {
  /** Actions' numbers, [k]; k ≤ K where fewer are allowed. */
  candidates: Int32Array;
  /** log π_θ(a) at T_s over all that is allowed, [k]. */
  logPolicy: Float64Array;
  /** What was added: β log τ̄, [k]. */
  bias: Float64Array;
  /** log p(a) of (7), [k]. */
  logFused: Float64Array;
  /** p(a) of (7), [k]; sums to 1. */
  fused: Float64Array;
  /** b(a) = (1 − p_rand) p(a) + p_rand/k, (7a), [k]: what really samples. */
  behaviour: Float64Array;
  /** How many actions are allowed, |A_t|. */
  allowed: number;
  /** H(π_θ) at T_s over all that is allowed, in nats. */
  policyEntropy: number;
  /** H(p) in nats. */
  fusedEntropy: number;
  /** log Σ exp(z/T_s): log π_θ(a) = z_a/T_s − this, of actions beyond the top-K too. */
  logNormaliser: number;
}

/**
 * (7): logits/T → softmax over what is allowed → top-K → + β log τ̄ → normalised; then (7a).
 * @param logits or log-probs, [A], in nats. @throws SamplingError when nothing is allowed, or for NaN and +∞
 * @throws RangeError for options without sense
 */
export function guide(logits: ArrayLike<number>, options: FuseOptions = {}): Guided {
  const { bias, beta = 0, temperature = 1, topK = Infinity, pRand = 0, order = "temperature-first" } = options;
  if (!(temperature > 0 && temperature < Infinity))
    throw new RangeError(`a temperature is above 0, not ${temperature}`);
  if (!(topK >= 1)) throw new RangeError(`at least one action stays, not ${topK}`);
  if (!(pRand >= 0 && pRand <= 1)) throw new RangeError(`a probability is from 0 to 1, not ${pRand}`);
  checkLength("a trail", bias, logits);
  checkLength("a mask", options.allowed, logits);

  const allowed = allowedOf(logits, options.allowed);
  const { logNormaliser, entropy } = summary(logits, allowed, temperature);
  const candidates = likeliest(logits, allowed, topK);
  const k = candidates.length;
  const logPolicy = new Float64Array(k);
  const added = new Float64Array(k);
  const scores = new Float64Array(k);
  const strength = order === "trail-first" ? beta / temperature : beta;
  for (let i = 0; i < k; i++) {
    const action = candidates[i] as number;
    logPolicy[i] = (logits[action] as number) / temperature - logNormaliser;
    added[i] = bias ? (bias[action] as number) * strength : 0;
    scores[i] = (logPolicy[i] as number) + (added[i] as number);
    if (!Number.isFinite(scores[i]))
      throw new SamplingError("NOT_A_NUMBER", `the trail to action ${action} is no number`);
  }
  const logFused = logSoftmax(scores);
  const fused = logFused.map(Math.exp);
  return {
    candidates,
    logPolicy,
    bias: added,
    logFused,
    fused,
    behaviour: fused.map((p) => (1 - pRand) * p + pRand / k),
    allowed: allowed.length,
    policyEntropy: entropy,
    fusedEntropy: entropyOf(fused),
    logNormaliser,
  };
}

/** What is to be stored of a decision, in nats. */
export interface Choice {
  action: number;
  logPolicy: number;
  logFused: number;
  logBehaviour: number;
}

/** One action from b. @param uniform in [0, 1), from the caller's generator. */
export function sample(guided: Guided, uniform: number): Choice {
  if (!(uniform >= 0 && uniform < 1)) throw new RangeError(`a uniform number is in [0, 1), not ${uniform}`);
  const { behaviour, candidates } = guided;
  let chosen = 0;
  let rest = uniform;
  for (let i = 0; i < behaviour.length && rest >= 0; i++) {
    if (behaviour[i] === 0) continue;
    // Also when rounding leaves a rest after the last one.
    chosen = i;
    rest -= behaviour[i] as number;
  }
  return choiceOf(guided, candidates[chosen] as number) as Choice;
}

/** The same of a given action; undefined when it is not in the top-K and could not have been sampled. */
export function choiceOf({ candidates, logPolicy, logFused, behaviour }: Guided, action: number): Choice | undefined {
  const i = candidates.indexOf(action);
  if (i < 0) return undefined;
  return {
    action,
    logPolicy: logPolicy[i] as number,
    logFused: logFused[i] as number,
    logBehaviour: Math.log(behaviour[i] as number),
  };
}

/** H(p) = −Σ p log p in nats; what has probability 0 adds nothing. */
export function entropyOf(probabilities: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < probabilities.length; i++) {
    const p = probabilities[i] as number;
    if (p > 0) sum -= p * Math.log(p);
  }
  return sum;
}

/** H/log|A| ∈ [0, 1]: how much is still open among `allowed` actions; 0 where there is one. */
export function diversityOf(entropy: number, allowed: number): number {
  return allowed > 1 ? entropy / Math.log(allowed) : 0;
}

/**
 * For a server that adds a bias to its logits and then divides by T: b = T·β·log τ̄ makes its p ∝ π_T τ̄^β, as (7) has it.
 * @param bias log τ̄. @returns nats, as OpenAI's `logit_bias` takes them.
 */
export function logitBias(bias: ArrayLike<number>, beta: number, temperature: number): Float64Array {
  return Float64Array.from(bias, (logTau) => temperature * beta * logTau);
}

function checkLength(what: string, given: ArrayLike<unknown> | undefined, logits: ArrayLike<number>): void {
  if (given && given.length !== logits.length) {
    throw new RangeError(`${what} over ${given.length} actions does not fit ${logits.length} logits`);
  }
}

function allowedOf(logits: ArrayLike<number>, mask: FuseOptions["allowed"]): Int32Array {
  const allowed = new Int32Array(logits.length);
  let size = 0;
  for (let action = 0; action < logits.length; action++) {
    if (mask && !mask[action]) continue;
    const logit = logits[action] as number;
    if (logit === -Infinity) continue;
    if (!Number.isFinite(logit)) throw new SamplingError("NOT_A_NUMBER", `the logit of action ${action} is ${logit}`);
    allowed[size++] = action;
  }
  if (size === 0) throw new SamplingError("NO_CANDIDATES", `none of ${logits.length} actions is allowed`);
  return allowed.subarray(0, size);
}

/** log Σ exp(z/T) and H of softmax(z/T) = log Σ exp(z/T) − E[z/T]. */
function summary(logits: ArrayLike<number>, allowed: Int32Array, temperature: number) {
  let largest = -Infinity;
  for (const action of allowed) largest = Math.max(largest, (logits[action] as number) / temperature);
  let [sum, weighted] = [0, 0];
  for (const action of allowed) {
    const z = (logits[action] as number) / temperature - largest;
    const weight = Math.exp(z);
    sum += weight;
    weighted += weight * z;
  }
  return { logNormaliser: largest + Math.log(sum), entropy: Math.log(sum) - weighted / sum };
}

/** The `topK` allowed actions of the highest logits, in falling order. */
function likeliest(logits: ArrayLike<number>, allowed: Int32Array, topK: number): Int32Array {
  const at = (action: number) => logits[action] as number;
  if (topK >= allowed.length) return allowed.slice().sort((a, b) => at(b) - at(a) || a - b);
  const best = new Int32Array(Math.floor(topK));
  let size = 0;
  for (const action of allowed) {
    if (size === best.length && at(action) <= at(best[size - 1] as number)) continue;
    let place = size < best.length ? size++ : size - 1;
    for (; place > 0 && at(best[place - 1] as number) < at(action); place--) best[place] = best[place - 1] as number;
    best[place] = action;
  }
  return best;
}

function logSoftmax(scores: Float64Array): Float64Array {
  const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const log = largest + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - largest), 0));
  return scores.map((score) => score - log);
}
