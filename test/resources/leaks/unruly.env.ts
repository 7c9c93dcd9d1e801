/** An environment of the command line's, on a thread of its own, that misbehaves when it is told to. */

import { defineEnv } from "trailgym/env";
import { z } from "zod";

export default defineEnv({
  id: "unruly-v1",
  summary: "Counts, and does as it is told.",
  options: z.object({}),
  state: z.object({ count: z.int() }),
  action: z.object({ do: z.enum(["count", "spin", "wait", "throw", "end"]) }),
  observation: z.object({ count: z.int() }),
  reset: () => ({ state: { count: 0 }, observation: { count: 0 } }),
  async step(_ctx, { count }, action) {
    if (action.do === "spin") for (;;);
    if (action.do === "wait") await new Promise(() => undefined);
    if (action.do === "throw") throw new Error("told to");
    return {
      state: { count: count + 1 },
      observation: { count: count + 1 },
      reward: 0,
      terminated: action.do === "end",
    };
  },
});
