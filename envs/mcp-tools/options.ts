/** What can be set for an episode? Every constant of the rewards is here; the defaults are the paper's or its code's. */

import { z } from "zod";
import { errorPatterns } from "./status.ts";

const points = z.number().min(-1000).max(1000);
const share = z.number().min(0).max(1);

/** (15): for choosing the reference's tool at this step. */
const intent = z.strictObject({
  correct: points.default(0.5),
  recovery: points.default(0.5).describe("more, where the step before was wrong"),
  category: points.default(0.15).describe("another tool of the same category"),
  wrong: points.default(-0.3),
  separators: z.string().default("-").describe("a category is the name up to the first of these characters"),
});

/** (16): for the call's output. */
const exec = z.strictObject({
  ok: points.default(0.5),
  error: points.default(-0.5),
  judge: z
    .enum(["declared", "text"])
    .default("declared")
    .describe("declared: isError and schemas first, text patterns where nobody said; text: the patterns alone"),
  patterns: z.array(z.string().min(1)).max(100).default(errorPatterns),
});

const level = z.strictObject({
  from: share,
  value: points,
  failedReference: z.number().min(0).max(1).default(1).describe("factor where the reference itself failed"),
});

/** (17): once, from the match of the whole episode. */
const outcome = z.strictObject({
  match: z.enum(["positional", "prefix", "strict", "lcsF1", "edit", "inclusion"]).default("positional"),
  levels: z
    .array(level)
    .max(20)
    .default([
      { from: 0.9, value: 15, failedReference: 0.7 },
      { from: 0.7, value: 10, failedReference: 0.8 },
      { from: 0.5, value: 6, failedReference: 0.8 },
      { from: 0.3, value: 3, failedReference: 1 },
      { from: 0.2, value: 1.5, failedReference: 1 },
    ])
    .describe("the highest one that is reached counts"),
  opening: points.default(2).describe("more, where the first `openingSteps` tools all match"),
  openingSteps: z.int().min(1).max(100).default(3),
  onTruncation: z.boolean().default(true).describe("false: an episode that is cut at the horizon has no outcome"),
});

/** STOP has no counterpart in the paper; the outcome is its reward. */
const stop = z.strictObject({
  correct: points.default(0).describe("exactly after the reference's last step"),
  wrong: points.default(0),
});

const simulator = z.strictObject({
  sources: z
    .array(z.enum(["model", "pool", "template"]))
    .default(["model", "pool", "template"])
    .describe("what may answer a call that is not the reference's, tried in the order model, pool, template"),
  onModelFailure: z.enum(["next", "fail"]).default("next").describe("fail: the step fails, and can be tried again"),
  temperature: z.number().min(0).max(2).default(0.7),
  maxTokens: z.int().min(1).max(4096).default(300),
  history: z.int().min(0).max(20).default(5).describe("calls that the model is shown"),
  outputChars: z.int().min(20).max(20_000).default(500).describe("a simulated output is cut after so many characters"),
});

export const options = z.strictObject({
  horizon: z.int().min(1).max(1000).default(20).describe("H: the call after which the episode is truncated"),
  toolset: z
    .enum(["task", "dataset"])
    .default("task")
    .describe("which tools there are: the task's own list, or all of its dataset"),
  replay: z
    .enum(["arguments", "keys", "tool"])
    .default("arguments")
    .describe("what a call must share with the reference's at this step to get the recorded output"),
  gamma: share.default(1).describe("the reward of step t counts γ^t; the authors' code has 0.99"),
  success: share.default(0.7).describe("the positional match from which on an episode counts as a success"),
  oracle: z.boolean().default(false).describe("put the reference's actions into the reset's info, for teacher forcing"),
  intent: intent.prefault({}),
  exec: exec.prefault({}),
  outcome: outcome.prefault({}),
  stop: stop.prefault({}),
  simulator: simulator.prefault({}),
});

export type Options = z.output<typeof options>;
