/** Countdown: take 1 to 3 in turn until exactly nothing is left. The smallest whole environment. */

import { defineEnv } from "trailgym/env";
import { z } from "zod";

export default defineEnv({
  id: "countdown-v1",
  summary: "Take 1 to 3 until exactly 0 is left.",
  state: z.object({ remaining: z.int() }),
  action: z.object({ amount: z.int().min(1).max(3) }),
  observation: z.object({ remaining: z.int() }),
  options: z.object({ start: z.int().min(1).max(1000).default(5) }),
  maxEpisodeSteps: 1000,

  reset: (_ctx, { start }) => ({ state: { remaining: start }, observation: { remaining: start } }),

  step(_ctx, { remaining }, { amount }) {
    const left = remaining - amount;
    return {
      state: { remaining: left },
      observation: { remaining: left },
      reward: left === 0 ? 1 : 0,
      terminated: left <= 0,
    };
  },

  reference(_ctx, { remaining }) {
    const threes = Math.floor(remaining / 3);
    const amounts = [...Array<number>(threes).fill(3), ...(remaining % 3 > 0 ? [remaining % 3] : [])];
    return amounts.map((amount) => ({ amount }));
  },
});
