/** What is an agent not told? The fields of results that only those who train or watch it get. */

/** Kinds of knowledge that a token of the role agent can be given. */
export const disclosures = ["reward", "info"] as const;
export type Disclosure = (typeof disclosures)[number];

/**
 * Field → what must be disclosed for an agent to get it. `info` and `seed` may hold the answer or lead to it, and so may
 * `stateDigest`: whoever guesses a state can check the guess against its digest.
 */
export const withheld: { readonly [field: string]: Disclosure } = {
  reward: "reward",
  episodeReturn: "reward",
  info: "info",
  finalInfo: "info",
  stateDigest: "info",
  seed: "info",
};

/** Fields that hold a result, or a part of one, of their own. */
export const nestedResults: readonly string[] = ["lastReply", "nextEpisode"];
