/** Shows every action as its observation and in its info: what crosses the wire both ways. */

import { defineEnv } from "trailgym/env";
import { z } from "zod";

export default defineEnv({
  id: "echo-v1",
  summary: "Says what it is told.",
  state: z.object({}),
  action: z.any(),
  observation: z.any(),
  options: z.object({ first: z.unknown().optional() }),
  reset: (_ctx, { first }) => ({ state: {}, observation: first ?? null }),
  step: (_ctx, _state, action) => ({ state: {}, observation: action as unknown, info: { said: action as unknown } }),
});
