/** Does a trajectory deserve a deposit, and how large? Equations (18) to (20) of PhGPO. */

import type { PheromoneOptions } from "./options.ts";

/** What was played, and what is known about it. */
export interface Play {
  /** tool(a_1), tool(a_2), …; without STOP, which is no part of ξ. */
  tools: readonly string[];
  /** tool(a*_1), …; absent where the environment has none. */
  reference?: readonly string[];
  /** Which of `tools` the reference chose and not the policy; default: none. */
  oracle?: ArrayLike<boolean | number>;
  /** The environment's own verdict on the episode's end. It is stronger than a match; absent: the match decides. */
  verified?: boolean;
  /** Whether the recorded reference itself solved the task; default true. Counts only where the match decides. */
  referenceSucceeded?: boolean;
  /** q in place of the match, from 0 to 1. */
  quality?: number;
}

export interface Verdict {
  /** q, the deposit's α·q: from 0 to 1. */
  quality: number;
  /** The trail gets it. */
  deposit: boolean;
  /** The edges' memories get it. */
  remember: boolean;
  /** Why there is no deposit. */
  refusal?: "UNVERIFIED" | "ORACLE_ONLY" | "MODEL_WEAK";
  match?: number;
  modelMatch?: number;
}

/** (18): Σ_t 1[tool(a_t) = tool(a*_t)] / |ξ*|. @param reference not empty */
export function matchOf(tools: readonly string[], reference: readonly string[]): number {
  return reference.filter((tool, t) => tools[t] === tool).length / reference.length;
}

/** (19): the same over the steps that the policy chose, by their number; undefined where it chose none. */
export function modelMatchOf({ tools, reference = [], oracle }: Play): number | undefined {
  const own = tools.map((_, t) => t).filter((t) => !oracle?.[t]);
  if (own.length === 0) return undefined;
  return own.filter((t) => tools[t] === reference[t]).length / own.length;
}

/** (20). @throws RangeError for a quality outside of 0 to 1, and for an empty reference */
export function judge(play: Play, { gate }: Pick<PheromoneOptions, "gate">): Verdict {
  const { tools, reference, quality } = play;
  if (quality !== undefined && !(quality >= 0 && quality <= 1)) {
    throw new RangeError(`a quality is from 0 to 1, not ${quality}`);
  }
  if (reference === undefined) return judgeWithoutReference(play, gate);
  if (reference.length === 0) throw new RangeError("an empty reference has no match; leave it out");

  const match = matchOf(tools, reference);
  const modelMatch = modelMatchOf(play);
  const q = quality ?? (gate.score === "match" ? match : (modelMatch ?? 0));
  const verified = play.verified ?? (match >= gate.match && play.referenceSucceeded !== false);
  const refusal = refusalOf(verified, modelMatch, gate);
  const needed = verified ? gate.remember.verified : gate.remember.unverified;
  return {
    quality: q,
    deposit: refusal === undefined,
    remember: needed !== null && match >= needed && q >= gate.remember.quality,
    match,
    ...(modelMatch === undefined ? {} : { modelMatch }),
    ...(refusal === undefined ? {} : { refusal }),
  };
}

function refusalOf(verified: boolean, modelMatch: number | undefined, gate: PheromoneOptions["gate"]) {
  if (!verified) return "UNVERIFIED";
  if (modelMatch === undefined) return "ORACLE_ONLY";
  return modelMatch < gate.modelMatch ? "MODEL_WEAK" : undefined;
}

/** Only the environment's word is left, and it decides both. */
function judgeWithoutReference({ verified = false, quality = 1 }: Play, gate: PheromoneOptions["gate"]): Verdict {
  if (!verified) return { quality, deposit: false, remember: false, refusal: "UNVERIFIED" };
  return { quality, deposit: true, remember: quality >= gate.remember.quality };
}
