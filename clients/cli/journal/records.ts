/** Trajectories as they lie in files: one a line, each whole. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { protocolVersions, type Trajectory, trajectory } from "trailgym/protocol";
import { z } from "zod";
import { Failure } from "../terminal/failure.ts";

export interface Versions {
  trailgym: string;
  protocol: string;
}

/** As `trajectory/get` gives it, all pages together. */
export interface TrajectoryRecord extends Trajectory {
  /** What wrote it. */
  versions: Versions;
}

export function recordOf(found: Trajectory, trailgym: string): TrajectoryRecord {
  return { ...found, versions: { trailgym, protocol: protocolVersions[0] } };
}

/** What is needed to play one again; the records of `eval` have it too. */
export const replayable = z.looseObject({
  episode: z.union([z.string(), z.number()]).optional(),
  key: z.string().optional(),
  env: z.string(),
  definition: z.string().optional(),
  task: z.string().nullable(),
  seed: z.int().min(0),
  options: z.record(z.string(), z.unknown()).optional(),
  opening: trajectory.shape.opening.optional(),
  observation: z.unknown().optional(),
  transitions: z.array(
    z.looseObject({
      action: z.unknown(),
      observation: z.unknown(),
      reward: z.number(),
      terminated: z.boolean(),
      truncated: z.boolean(),
      stateDigest: z.string().optional(),
    }),
  ),
});
export type Replayable = z.infer<typeof replayable>;

/** @throws Failure that names the line which is no trajectory */
export async function* readRecords(file: string): AsyncGenerator<Replayable> {
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line++;
    if (text.trim() === "") continue;
    yield parse(text, `${file}:${line}`);
  }
}

function parse(text: string, place: string): Replayable {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new Failure(`${place}: not JSON`, { cause: error });
  }
  const parsed = replayable.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Failure(`${place}: not a trajectory (${issue?.path.join(".")}: ${issue?.message})`);
}
