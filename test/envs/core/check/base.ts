/** A sound little environment, to be broken in one place at a time. */

import type { AnyEnv, EnvContext } from "trailgym/env";
import { z } from "zod";

interface State {
  left: number;
}

/** Count down from a number that the seed draws; every action is right. */
export const sound: AnyEnv = {
  id: "sound-v1",
  summary: "Take one until nothing is left.",
  state: z.object({ left: z.int() }),
  action: z.object({ take: z.literal(1) }),
  observation: z.object({ left: z.int() }),
  options: z.object({ most: z.int().min(2).default(4) }),
  reset(ctx: EnvContext, { most }: { most: number }) {
    const left = ctx.rng.int(2, most);
    return { state: { left }, observation: { left } };
  },
  step: (_ctx: EnvContext, state: State) => take(state),
  reference: (_ctx: EnvContext, { left }: State) => Array.from({ length: left }, () => ({ take: 1 })),
};

export function take(state: State) {
  const left = state.left - 1;
  return { state: { left }, observation: { left }, reward: left === 0 ? 1 : 0, terminated: left === 0 };
}

/** The sound environment, with something of it replaced. */
export function broken(change: Partial<AnyEnv>): AnyEnv {
  return { ...sound, ...change };
}
