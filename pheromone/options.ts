/** What can be chosen about a table? Defaults are the paper's or its code's; a saved table carries its own. */

import { z } from "zod";
import { schedule } from "./schedule.ts";

const share = z.number().min(0).max(1);
const level = (alpha: number, rho: number) =>
  z
    .strictObject({
      alpha: z.number().min(0).default(alpha).describe("α: what a verified trajectory of quality 1 adds"),
      rho: share.default(rho).describe("ρ: the share that evaporates in a round"),
    })
    .prefault({});

const memory = z.strictObject({
  capacity: z.int().min(1).max(100_000).default(100).describe("tasks that an edge remembers"),
  similarity: share.default(0.25).describe("θ_sim: the cosine from which a remembered task speaks for this one"),
  enough: z
    .number()
    .positive()
    .default(2)
    .describe("n_min: active memories from which their number costs no confidence"),
  decay: z.number().positive().max(1).default(0.998).describe("factor on every remembered quality in a round"),
  forget: share.default(0.1).describe("memories below this quality are dropped"),
  argument: z.boolean().default(true).describe("false: invocations have no memory, as in the authors' code"),
});

const form = z.enum(["paper", "code"]).default("paper");

const fusion = z.strictObject({
  scale: form.describe("(3): min + (max−min)·q̂, or min(max, τ0 + 0.8·(max−τ0)·q̂)"),
  confidence: form.describe("(4), or that with the code's penalties for far, weak and few memories"),
  mixture: form.describe("(5): weight w·c, or none below c = 0.25 and w·min(1, 1.5·c) from there on"),
});

const gate = z.strictObject({
  score: z.enum(["match", "modelMatch"]).default("match").describe("q: (18), or (19), which oracle steps do not raise"),
  match: share.default(0.7).describe("(18) from which a trajectory is a success, where no environment said so"),
  modelMatch: share.default(0.3).describe("(19) that the policy's own steps must reach"),
  remember: z
    .strictObject({
      verified: share.default(0.5).describe("match from which a verified trajectory is remembered"),
      unverified: share.nullable().default(0.7).describe("the same without verification; null: never"),
      quality: share.default(0.3).describe("q from which anything is"),
    })
    .prefault({}),
});

export const pheromoneOptions = z
  .strictObject({
    initial: z.number().positive().default(1).describe("τ0: an edge before anything was deposited anywhere"),
    min: z.number().positive().default(0.5).describe("τ_min"),
    max: z.number().positive().default(20).describe("τ_max"),
    tool: level(0.5, 0.01).describe("edges from tool to tool, START included"),
    argument: level(0.3, 0.005).describe("edges from a tool to an invocation of it"),
    memory: memory.prefault({}),
    fusion: fusion.prefault({}),
    gate: gate.prefault({}),
    w: schedule
      .default({ kind: "linear", from: 0.2, to: 0.5, over: 1000, unit: "verifiedCount" })
      .describe("(5): how much the memory of like tasks may weigh; 0: not at all"),
    guideFirst: z.boolean().default(true).describe("false: no guidance at the first step, as in the authors' code"),
    roundSize: z
      .int()
      .min(1)
      .nullable()
      .default(1)
      .describe("offers that make a round; null: a round ends only when it is closed"),
  })
  .refine(({ initial, min, max }) => min <= initial && initial <= max, "must be min ≤ initial ≤ max");

/** With every default in place. */
export type PheromoneOptions = z.output<typeof pheromoneOptions>;
/** As a person writes them; everything may be left out. */
export type PheromoneConfig = z.input<typeof pheromoneOptions>;
export type Form = z.output<typeof form>;
