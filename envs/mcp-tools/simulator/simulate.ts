/** Who answers a call that is not the reference's: the model's cache, the model, what others recorded, or a template? */

import { type EnvContext, ModelUnavailable, sameJson } from "trailgym/env";
import type { Options } from "../options.ts";
import { looksFailed, textOf } from "../status.ts";
import type { McpTask } from "../task.ts";
import type { RecordedStep, ToolEntry } from "../trajectory.ts";
import { promptOf, readReply } from "./prompt.ts";
import type { Source } from "./source.ts";
import { templateOutput } from "./template.ts";

export interface Simulated {
  content: unknown;
  isError: boolean;
  source: Source;
  /** The model believes that the request is done. Nothing follows from it. */
  complete?: boolean;
  /** What the pool's output was recorded for: the very same call, its argument names, or just its tool. */
  pooledBy?: "call" | "pattern" | "tool";
  /** Why the model did not answer, where it was asked. */
  modelFailure?: string;
}

export interface Situation {
  tool: ToolEntry;
  arguments: Record<string, unknown>;
  /** The calls so far, the newest last. */
  history: readonly { tool: string; output: string }[];
}

/** @throws ModelUnavailable, where the options want that. A function of the situation alone, but for what the model says. */
export async function simulate(
  ctx: EnvContext<McpTask>,
  settings: Pick<Options, "simulator" | "exec">,
  situation: Situation,
): Promise<Simulated> {
  const { sources } = settings.simulator;
  const asked = sources.includes("model") ? await askModel(ctx, settings, situation) : undefined;
  if (asked !== undefined && "content" in asked) return asked;
  return { ...offline(ctx.task, settings, situation), ...asked };
}

async function askModel(
  ctx: EnvContext<McpTask>,
  { simulator, exec }: Pick<Options, "simulator" | "exec">,
  { history, ...call }: Situation,
): Promise<Simulated | { modelFailure: string } | undefined> {
  if (ctx.model === undefined) return undefined;
  const messages = promptOf({ ...call, task: ctx.task.task, history });
  const { temperature, maxTokens, onModelFailure, outputChars } = simulator;
  try {
    const { text, cached } = await ctx.model.complete({ messages, temperature, maxTokens }, ctx.signal);
    const { output, complete } = readReply(text, outputChars);
    // A model that says nothing has not played the tool.
    if (output === "") return { modelFailure: "empty" };
    return {
      content: output,
      isError: looksFailed(output, exec.patterns),
      source: cached ? "cache" : "model",
      complete,
    };
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (!(error instanceof ModelUnavailable) || onModelFailure === "fail") throw error;
    ctx.log("the model did not answer", { failure: error.failure, reason: error.message });
    return { modelFailure: error.failure };
  }
}

/** A function of task and call: who asks the same again is told the same again. */
function offline(
  task: McpTask,
  { simulator }: Pick<Options, "simulator">,
  { tool, arguments: args }: Situation,
): Simulated {
  const call = { tool: tool.name, arguments: args };
  const key = JSON.stringify([task.id, tool.name, sorted(args)]);
  const pooled = simulator.sources.includes("pool") ? fromPool(task, call, key) : undefined;
  if (pooled !== undefined) return pooled;
  if (!simulator.sources.includes("template")) {
    return { content: `${tool.name} is not available.`, isError: true, source: "none" };
  }
  const output = textOf(templateOutput(tool, args, key));
  return { content: output.slice(0, simulator.outputChars), isError: false, source: "template" };
}

function fromPool(task: McpTask, call: Pick<RecordedStep, "tool" | "arguments">, key: string): Simulated | undefined {
  const same = task.reference.find((step) => step.output !== undefined && sameCall(step, call));
  // Out of its turn, but the very same call: nothing is a better guess.
  if (same !== undefined) {
    const { output, isError = looksFailed(output) } = same;
    return { content: output, isError, source: "pool", pooledBy: "call" };
  }
  const pooled = task.world.pooled(task.id, call, key);
  return pooled && { content: pooled.output, isError: false, source: "pool", pooledBy: pooled.by };
}

/** Equal as JSON; the order of arguments does not count. */
export function sameCall(
  a: Pick<RecordedStep, "tool" | "arguments">,
  b: Pick<RecordedStep, "tool" | "arguments">,
): boolean {
  return a.tool === b.tool && sameJson(a.arguments, b.arguments);
}

const sorted = (args: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1));
