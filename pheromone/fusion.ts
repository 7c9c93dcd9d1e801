/** What do like tasks say about an edge, and how much does it count? Equations (2) to (5) of PhGPO. */

import type { Memory } from "./memory.ts";
import type { Form } from "./options.ts";
import type { Recall } from "./tasks.ts";
import type { TrailOptions } from "./trail.ts";

/** Sums over M_ij(x), (2): the memories of an edge whose task has cos(e_x, e) ≥ θ_sim. s is that cosine, q a quality. */
export interface Evidence {
  /** n_act */
  count: number;
  /** Σ s */
  similarity: number;
  /** Σ s·q */
  weighted: number;
  /** Σ q */
  quality: number;
  /** max s */
  nearest: number;
}

export function noEvidence(): Evidence {
  return { count: 0, similarity: 0, weighted: 0, quality: 0, nearest: 0 };
}

/**
 * (2), into `evidence`, which a row of hundreds of edges uses again and again. Inactive memories are added as zeros: whether
 * one is active cannot be foretold, and a branch that is guessed wrong half the time costs more than all the additions.
 */
export function gather({ tasks, qualities, size }: Memory, recall: Recall, evidence: Evidence): Evidence {
  const { similarity: similarities, active } = recall;
  let count = 0;
  let similarity = 0;
  let weighted = 0;
  let quality = 0;
  let nearest = 0;
  for (let i = 0; i < size; i++) {
    const task = tasks[i] as number;
    const q = qualities[i] as number;
    const s = similarities[task] as number;
    const isActive = active[task] as number;
    count += isActive;
    similarity += s;
    weighted += s * q;
    quality += isActive * q;
    if (s > nearest) nearest = s;
  }
  evidence.count = count;
  evidence.similarity = similarity;
  evidence.weighted = weighted;
  evidence.quality = quality;
  evidence.nearest = nearest;
  return evidence;
}

/**
 * (3): τ_dep = τ_min + (τ_max − τ_min)·q̂ with q̂ = Σ s q / Σ s; the code's: min(τ_max, τ0 + 0.8(τ_max − τ0)·q̂).
 * @param evidence with Σ s > 0
 */
export function dependentTau({ similarity, weighted }: Evidence, trail: TrailOptions, form: Form): number {
  const { initial, min, max } = trail;
  const quality = weighted / similarity;
  return form === "paper" ? min + (max - min) * quality : Math.min(max, initial + 0.8 * (max - initial) * quality);
}

/**
 * (4): c = min(1, n_act/n_min) · s_max · q̄, from 0 to 1; 0 without evidence. The code halves it for s_max < 0.35 and for
 * q̄ < 0.4, and takes 0.7 of it where there are fewer than n_min.
 */
export function confidenceOf({ count, quality, nearest }: Evidence, enough: number, form: Form): number {
  if (count === 0) return 0;
  const meanQuality = quality / count;
  const confidence = Math.min(1, count / enough) * nearest * meanQuality;
  if (form === "paper") return confidence;
  return confidence * (nearest < 0.35 ? 0.5 : 1) * (meanQuality < 0.4 ? 0.5 : 1) * (count < enough ? 0.7 : 1);
}

/** (5): the share of τ_dep in τ(x). w·c; the code's: 0 for c < 0.25, else w·min(1, 1.5 c). */
export function dependentShare(confidence: number, w: number, form: Form): number {
  if (form === "paper") return w * confidence;
  return confidence < 0.25 ? 0 : w * Math.min(1, 1.5 * confidence);
}

/** (5): τ(x) = (1 − share)·τ_agn + share·τ_dep, clipped to τ̄ ∈ [τ_min, τ_max] as (7) wants it. */
export function fuseTau(agnostic: number, dependent: number, share: number, { min, max }: TrailOptions): number {
  return Math.min(max, Math.max(min, (1 - share) * agnostic + share * dependent));
}
