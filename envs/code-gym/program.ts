/** How does a program run? One function for each entry of the bridges, over whichever interpreter the program needs. */

import type { EnvContext, InterpreterOutcome, Language, ToolboxEntry } from "trailgym/env";
import { z } from "zod";
import { javascriptBridge } from "./bridge.js.ts";
import { gymnasiumStub, pythonBridge } from "./bridge.py.ts";
import { fromJavaScript, fromPython, javascriptTools, pythonTools } from "./describe.ts";
import { lineOf, plainMessage, ProgramError } from "./program-error.ts";
import type { CodeGymTask } from "./task.ts";

/** Of one call. Loading the program is part of its time. */
export const limits = { timeMs: 3_000, memoryMb: 128, outputBytes: 1_048_576, stateBytes: 8_388_608 };
/** The program's own solution makes up to 256 steps in one call. */
const solveLimits = { ...limits, timeMs: 20_000 };

const modules = { gymnasium: gymnasiumStub };
const bridges: Readonly<Record<Language, string>> = { javascript: javascriptBridge, python: pythonBridge };

type Context = EnvContext<CodeGymTask>;

const end = { finished: z.boolean(), correct: z.boolean() };
const reply = z.object({ text: z.string(), ...end });
const solution = z.object({ calls: z.array(z.string()), ...end });

/** @throws ProgramError when the program cannot be started on this task. */
export async function start(ctx: Context): Promise<Uint8Array> {
  const { language, className = null, payload = null, literal = null } = ctx.task;
  const args = language === "python" ? [className, payload, literal] : [payload];
  return started(ctx, await run(ctx, "trailgym_reset", undefined, [seed(ctx), ...args]), limits).state;
}

/** The tools of the program that `state` belongs to. @throws ProgramError when it does not say them as it should. */
export async function describe(ctx: Context, state: Uint8Array): Promise<ToolboxEntry[]> {
  const { value } = started(ctx, await run(ctx, "trailgym_describe", state, []), limits);
  try {
    return ctx.task.language === "python"
      ? fromPython(pythonTools.parse(value))
      : fromJavaScript(javascriptTools.parse(value));
  } catch (error) {
    throw new ProgramError(ctx.task, `has tools that cannot be read: ${reason(error)}`);
  }
}

export type Stepped =
  | { state: Uint8Array; text: string; finished: boolean; correct: boolean }
  | { failed: Exclude<InterpreterOutcome, { status: "ok" }> };

/** A tool call. What the program does wrong is part of the result; the state is then as it was. */
export async function step(
  ctx: Context,
  state: Uint8Array,
  tool: string,
  args: Record<string, unknown>,
): Promise<Stepped> {
  const passed = ctx.task.language === "python" ? [stepText(tool, args)] : [tool, withoutBigints(args)];
  const outcome = await run(ctx, "trailgym_step", state, [seed(ctx), ...passed]);
  if (outcome.status !== "ok") return { failed: outcome };
  return { state: outcome.state, ...reply.parse(outcome.value) };
}

/** The program's own solution, up to its first Done: JSON texts of `{name, parameters}`. @throws ProgramError when it fails. */
export async function solve(ctx: Context, state: Uint8Array): Promise<z.output<typeof solution>> {
  const outcome = await run(ctx, "trailgym_solve", state, [seed(ctx)], solveLimits);
  return solution.parse(started(ctx, outcome, solveLimits).value);
}

async function run(
  ctx: Context,
  entry: string,
  state: Uint8Array | undefined,
  args: readonly unknown[],
  callLimits = limits,
): Promise<InterpreterOutcome> {
  const { language, program } = ctx.task;
  const call = {
    program: [await program.source(), bridges[language]],
    ...(language === "python" ? { modules } : {}),
    entry,
    ...(state ? { state } : {}),
    args,
    limits: callLimits,
  };
  const outcome = await ctx.interpreter(language).call(call, ctx.signal);
  // Cancelled or past the step's deadline: that says nothing about the program, and nobody waits for an observation.
  if (outcome.status === "timeout") ctx.signal.throwIfAborted();
  return outcome;
}

function started(ctx: Context, outcome: InterpreterOutcome, callLimits: typeof limits) {
  if (outcome.status === "ok") return outcome;
  if (outcome.status !== "raised") throw new ProgramError(ctx.task, failure(outcome, callLimits));
  const { error } = outcome;
  ctx.log("program raised", { task: ctx.task.id, trace: error.trace });
  const what = failure({ ...outcome, error: { ...error, message: plainMessage(error) } });
  throw new ProgramError(ctx.task, what, lineOf(ctx.task.language, error));
}

function reason(error: unknown): string {
  if (!(error instanceof z.ZodError)) return (error as Error).message;
  return error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

/** What happened to a program, as the end of a sentence. @param of the call that it happened in. */
export function failure(outcome: Exclude<InterpreterOutcome, { status: "ok" }>, of = limits): string {
  switch (outcome.status) {
    case "raised":
      return `raised ${outcome.error.type}: ${outcome.error.message}`;
    case "timeout":
      return `ran longer than its time limit of ${of.timeMs} ms`;
    case "outOfMemory":
      return `needed more than its memory limit of ${of.memoryMb} MiB`;
    case "outputTooLarge":
      return `returned or printed more than its output limit of ${of.outputBytes} bytes`;
    case "stateTooLarge":
      return `grew beyond its state limit of ${of.stateBytes} bytes`;
    case "unencodable":
      return `has a state or result that cannot be kept: ${outcome.message}`;
    case "crashed":
      return `crashed: ${outcome.message}`;
  }
}

const seed = (ctx: Context) => ctx.rng.int(0, 2 ** 31 - 1);

/** The action in the released format. Integers beyond 2^53 (bigints here) are written as they are: Python reads them exactly. */
function stepText(name: string, parameters: Record<string, unknown>): string {
  return JSON.stringify({ name, parameters }, (_key, value: unknown) =>
    typeof value === "bigint" ? rawJson.rawJSON(value.toString()) : value,
  );
}

// TypeScript's library does not know JSON.rawJSON yet; Node has had it since 22.
const rawJson = JSON as unknown as { rawJSON(text: string): unknown };

/** JavaScript programs compute with numbers. Shares what holds no bigint. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBigints(item)]));
}
