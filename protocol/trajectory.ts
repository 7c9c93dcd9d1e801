/** What is kept of an episode: its opening and its transitions, as the server committed them. */

import { z } from "zod";
import { index, record, status, stateDigest, tool, value } from "./shapes.ts";

/** One committed step. Values are tagged as in `values.ts`. */
export const transition = z.looseObject({
  index: index.min(1).describe("the first transition of an episode has index 1"),
  action: value,
  observation: value.describe("after the action; of the ended episode, also where autoreset began the next one"),
  reward: z.number().describe("of this transition; always finite"),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: record,
  stateDigest: stateDigest.optional().describe("after the action; absent where the session left digests out"),
  extras: record.optional().describe("what the client said beside the action, such as log-probs; as it was sent"),
});
export type Transition = z.infer<typeof transition>;

export const origin = z.looseObject({ episode: z.string(), index });

export const trajectory = z.looseObject({
  episode: z.string(),
  session: z.string().describe("the session that played it"),
  env: z.string(),
  definition: z.string().optional().describe("digest of the environment's public definition when the episode began"),
  task: z.string().nullable().describe("null where the environment has no tasks"),
  seed: z.int().min(0),
  split: z.string().optional().describe("absent where the client named the task"),
  options: record.describe("as the client gave them, those of `env/make` included"),
  tools: z.array(tool).optional(),
  parent: origin
    .optional()
    .describe("a fork's or restored episode's source; transitions up to this index are the source's own"),
  previous: z.string().optional().describe("the episode that the same session played before"),
  opening: z
    .looseObject({ index, observation: value, info: record, stateDigest: stateDigest.optional() })
    .describe("the value before the first transition; its index is 0 unless what came before is no longer kept"),
  status: status.exclude(["new"]),
  ended: z.boolean().describe("whether nothing can follow; with the status `running` it was given up"),
  steps: index.describe("index of the last transition"),
  episodeReturn: z.number(),
  stateDigest: stateDigest.optional().describe("of the last value; absent where the session left digests out"),
  openedAt: z.number().describe("ms since 1970"),
  endedAt: z.number().optional(),
  transitions: z.array(transition).describe("in order, without a gap; a page of them where there is a `nextCursor`"),
});
export type Trajectory = z.infer<typeof trajectory>;
