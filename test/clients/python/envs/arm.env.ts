/** A little of everything that a space can describe, drawn from the seed. */

import { defineEnv } from "trailgym/env";
import { z } from "zod";

const observation = z.object({
  position: z.array(z.number()).length(3),
  grid: z.array(z.array(z.int()).length(2)).length(2),
  mood: z.enum(["calm", "tense"]),
  grip: z.boolean(),
  pair: z.tuple([z.int().min(0).max(9), z.string()]),
  seen: z.array(z.string()),
  note: z.union([z.int(), z.null()]),
});

export default defineEnv({
  id: "arm-v1",
  summary: "Moves towards nothing in particular.",
  state: z.object({ moves: z.int() }),
  action: z.object({ move: z.array(z.number().min(-1).max(1)).length(3), mode: z.enum(["push", "pull"]) }),
  observation,
  options: z.object({}),
  maxEpisodeSteps: 5,
  reset: (ctx) => ({ state: { moves: 0 }, observation: seenAt(ctx.rng, [0, 0, 0]) }),
  step: (ctx, { moves }, { move, mode }) => ({
    state: { moves: moves + 1 },
    observation: seenAt(ctx.rng, move),
    reward: mode === "push" ? 1 : -0.5,
    info: { moves: moves + 1 },
  }),
});

function seenAt(rng: { int(low: number, high: number): number }, position: number[]) {
  const calm = rng.int(0, 1) === 0;
  return {
    position,
    grid: [
      [rng.int(0, 9), 1],
      [2, 3],
    ],
    mood: calm ? ("calm" as const) : ("tense" as const),
    grip: calm,
    pair: [rng.int(0, 9), "é"] as [number, string],
    seen: calm ? ["a wall"] : [],
    note: calm ? null : 5,
  };
}
