/** Demo: a program in a sandbox counts, or never returns. Not among the environments that are served. */

import { defineEnv } from "trailgym/env";
import { z } from "zod";

const program = "function call(state, spin) { while (spin); const count = (state ?? 0) + 1; return [count, count]; }";

export default defineEnv({
  id: "demo-loop-v1",
  summary: "Count to 3; a step may also be asked to loop for ever.",
  state: z.object({ program: z.custom<Uint8Array>((value) => value instanceof Uint8Array).nullable() }),
  action: z.object({ spin: z.boolean() }),
  observation: z.object({ count: z.int() }),
  options: z.object({}),
  needs: ["interpreter:javascript"],

  reset: () => ({ state: { program: null }, observation: { count: 0 } }),

  async step(ctx, state, { spin }) {
    const call = { program: [program], entry: "call", args: [spin], limits: { timeMs: 60_000 } };
    const outcome = await ctx
      .interpreter("javascript")
      .call(state.program ? { ...call, state: state.program } : call, ctx.signal);
    ctx.signal.throwIfAborted();
    if (outcome.status !== "ok") throw new Error(`the program ended with ${outcome.status}`);
    const count = z.int().parse(outcome.value);
    return {
      state: { program: outcome.state },
      observation: { count },
      reward: count === 3 ? 1 : 0,
      terminated: count === 3,
    };
  },
});
