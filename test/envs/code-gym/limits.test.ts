/** When a program meets a limit, is it the limit of the call that was running? */

import type { Interpreter, InterpreterCall, InterpreterOutcome } from "trailgym/env";
import { describe, expect, it } from "vitest";
import env from "../../../envs/code-gym/code-gym.env.ts";
import { context } from "../context.ts";
import { lampsTask } from "./dataset.ts";

/** Ends every call of `entry` with `outcome`, and says with which limits it was called. */
function ending(entry: string, outcome: InterpreterOutcome) {
  const calls: InterpreterCall[] = [];
  const interpreter = (): Interpreter => ({
    language: "javascript",
    call(call) {
      calls.push(call);
      if (call.entry === entry) return Promise.resolve(outcome);
      return Promise.resolve({ status: "ok", value: null, state: new Uint8Array(1), output: "" });
    },
  });
  const limits = () => calls.find((call) => call.entry === entry)?.limits;
  return { interpreter, limits };
}

const begun = { calls: 0, maxCalls: 256, ended: null, state: { program: new Uint8Array(1) } };

const outcomes = [
  { status: "timeout", unit: "ms", limit: "timeMs" },
  { status: "outOfMemory", unit: "MiB", limit: "memoryMb" },
  { status: "outputTooLarge", unit: "bytes", limit: "outputBytes" },
  { status: "stateTooLarge", unit: "bytes", limit: "stateBytes" },
] as const;

describe("a limit that a program meets is named as the call had it", () => {
  it.each(outcomes)("$status while it starts", async ({ status, unit, limit }) => {
    const { interpreter, limits } = ending("trailgym_reset", { status });
    const task = await lampsTask();
    const failed = env.reset(context({ task, interpreter }), { maxCalls: null });
    await expect(failed).rejects.toThrow(/^task "lamps\/0": its program .* limit of \d+ \w+ \(programs\/lamps\.js\)$/);
    await expect(failed).rejects.toThrow(`limit of ${limits()?.[limit]} ${unit}`);
  });

  it.each(outcomes)("$status while it solves its task", async ({ status, unit, limit }) => {
    const { interpreter, limits } = ending("trailgym_solve", { status });
    const task = await lampsTask();
    const failed = Promise.resolve(env.reference?.(context({ task, interpreter }), begun));
    await expect(failed).rejects.toThrow(/ limit of /);
    await expect(failed).rejects.toThrow(`limit of ${limits()?.[limit]} ${unit}`);
  });

  it("a solution has more time than a step", async () => {
    const solving = ending("trailgym_solve", { status: "timeout" });
    const task = await lampsTask();
    const failed = Promise.resolve(env.reference?.(context({ task, interpreter: solving.interpreter }), begun));
    await expect(failed).rejects.toThrow();
    expect(solving.limits()?.timeMs).toBeGreaterThan(3_000);
  });
});
