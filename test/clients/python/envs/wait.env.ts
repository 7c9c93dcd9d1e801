/** Each step takes as long as its action says, and tells of its progress. */

import { setTimeout as sleep } from "node:timers/promises";
import { defineEnv } from "trailgym/env";
import { z } from "zod";

export default defineEnv({
  id: "wait-v1",
  summary: "Waits.",
  state: z.object({ waited: z.int() }),
  action: z.object({ ms: z.int().min(0) }),
  observation: z.object({ waited: z.int() }),
  options: z.object({}),
  reset: () => ({ state: { waited: 0 }, observation: { waited: 0 } }),
  async step(ctx, { waited }, { ms }) {
    ctx.progress(0.5, "waiting");
    await sleep(ms, undefined, { signal: ctx.signal });
    return { state: { waited: waited + ms }, observation: { waited: waited + ms } };
  },
});
