/** An environment that misbehaves on demand, for the tests of the threads that contain it. */

import { defineEnv } from "trailgym/env";
import { NdArray } from "trailgym/protocol";
import { z } from "zod";

const moods = [
  "calm",
  "loop",
  "loopLater",
  "hoard",
  "exit",
  "throw",
  "wait",
  "draw",
  "report",
  "shout",
  "dieLater",
  "linger",
] as const;

export default defineEnv({
  id: "moods-v1",
  summary: "Does what its action says, good or bad.",
  state: z.object({ count: z.int(), pixels: z.instanceof(NdArray) }),
  action: z.enum(moods),
  observation: z.object({ count: z.int(), drawn: z.number() }),
  options: z.object({}),

  reset: () => ({
    state: { count: 0, pixels: new NdArray("float32", [2], new Float32Array([1, 2])) },
    observation: { count: 0, drawn: 0 },
  }),

  async step(ctx, { count, pixels }, mood) {
    const done = (drawn = 0) => ({
      state: { count: count + 1, pixels: new NdArray("float32", [2], new Float32Array(pixels.data as Float32Array)) },
      observation: { count: count + 1, drawn },
    });
    switch (mood) {
      case "calm":
        return done();
      case "loop":
        for (;;);
      case "loopLater":
        await Promise.resolve();
        for (;;);
      case "hoard": {
        const hoard: number[][] = [];
        for (;;) hoard.push(new Array<number>(1e5).fill(Math.PI));
      }
      case "exit":
        return process.exit(0);
      case "throw":
        throw new Error("a bad mood");
      case "wait":
        return new Promise((_, reject) => {
          ctx.signal.addEventListener("abort", () => reject(new Error("the signal")));
        });
      case "draw":
        return done(ctx.rng.float());
      case "shout":
        for (let i = 0; i < 100_000; i++) {
          ctx.log(`line ${i}`, { i });
          ctx.progress(i / 100_000);
        }
        return done();
      case "dieLater":
        // By then no call's synchronous code runs: whose doing it was cannot be told.
        await new Promise((resolve) => setTimeout(resolve, 50));
        setImmediate(() => process.exit(0));
        return new Promise(() => undefined);
      case "linger":
        await new Promise((resolve) => setTimeout(resolve, 300));
        return done();
      case "report":
        ctx.progress(0.5, "half");
        ctx.log("a line");
        return done();
    }
  },
});
