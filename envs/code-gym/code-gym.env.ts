/** CodeGym: a coding problem, solved not by writing code but by calling the tools of a program, one call per step. */

import { defineToolEnv, parseCall, toolbox, type EnvContext, type Toolbox, type ToolResult } from "trailgym/env";
import { z } from "zod";
import { checkTask } from "./check.ts";
import { aliases, shownName } from "./names.ts";
import { describe, failure, solve, start, step, type Stepped } from "./program.ts";
import { DEFAULT_MAX_CALLS, ENV_ID, loadTasks, type CodeGymTask } from "./task.ts";

type Context = EnvContext<CodeGymTask>;

/** The program's own value, opaque here. A tool call is a trial on a copy of it; only one that ends well overwrites it. */
interface ProgramState {
  program: Uint8Array;
}

const env = defineToolEnv<ProgramState, { maxCalls: number | null }, CodeGymTask>({
  id: ENV_ID,
  summary: "Solve a coding problem by calling tools, one per step; reward 1 for a right first answer.",
  state: z.object({ program: z.instanceof(Uint8Array) }),
  options: z.object({
    maxCalls: z.int().min(1).max(4096).nullable().default(null).describe("null: the task's own budget"),
  }),
  needs: ["interpreter:javascript", "interpreter:python"],
  tasks: loadTasks,
  maxCalls: budget,

  async reset(ctx, options) {
    if ((ctx.task as CodeGymTask | undefined) === undefined)
      throw new Error("no task: serve a dataset with --tasks DIR");
    return { state: { program: await start(ctx) }, content: prompt(ctx, options) };
  },

  toolbox: (ctx, { program }) => toolsOf(ctx, program),

  async call(ctx, { program }, { tool, arguments: args }) {
    return seen(ctx.task, tool, await step(ctx, program, tool, args));
  },

  async reference(ctx, { program }) {
    const { calls, correct } = await solve(ctx, program);
    return { actions: calls.map((call) => shownCall(ctx.task, call)), episodeReturn: correct ? 1 : 0 };
  },

  checkTask: (ctx): Promise<readonly string[]> => checkTask(env, ctx),
});

export default env;

function budget(ctx: Context, { maxCalls }: { maxCalls: number | null }): number {
  return maxCalls ?? ctx.task.maxCalls ?? DEFAULT_MAX_CALLS;
}

function prompt(ctx: Context, options: { maxCalls: number | null }): string {
  const done = shownName(ctx.task.names ?? {}, "Done");
  return [
    ctx.task.question,
    "",
    'Work on this with the tools alone, one call per step. A call is one JSON object: {"tool": "name", "arguments": {…}}.',
    `Give the answer with ${done}. Only the first ${done} counts, and it ends the episode.`,
    `There are at most ${budget(ctx, options)} calls, ${done} included.`,
  ].join("\n");
}

/** A task's tools never change, so whoever asks first describes them for every episode. */
const boxes = new WeakMap<CodeGymTask, Toolbox>();

async function toolsOf(ctx: Context, state: Uint8Array): Promise<Toolbox> {
  const { task } = ctx;
  const cached = boxes.get(task);
  if (cached) return cached;
  const entries = await describe(ctx, state);
  const names = task.names ?? {};
  const shown = entries.map(({ spec, ...rest }) => {
    return { ...rest, tool: spec.name, spec: { ...spec, name: shownName(names, spec.name) } };
  });
  const box = toolbox(
    shown,
    aliases(
      entries.map(({ spec }) => spec.name),
      names,
    ),
  );
  boxes.set(task, box);
  return box;
}

/**
 * What the agent sees. Programs of the released format put the reference answer into Done's reply, and may put it into
 * the message of an exception inside Done; nothing that a program says about an answer is passed on.
 */
function seen(task: CodeGymTask, tool: string, result: Stepped): ToolResult<ProgramState> {
  const name = shownName(task.names ?? {}, tool);
  if ("failed" in result) {
    const { failed } = result;
    const why =
      tool === "Done" && failed.status === "raised" ? "the answer could not be judged" : `the tool ${failure(failed)}`;
    return { content: `${name} failed: ${why}. Nothing has changed.`, isError: true, info: { failure: failed.status } };
  }
  const state = { program: result.state };
  if (result.finished) return { content: RECEIVED, state, reward: result.correct ? 1 : 0, terminated: true };
  if (tool === "Done") return { content: `${name} failed: the answer could not be judged.`, state, isError: true };
  return { content: result.text, state, isError: result.text.startsWith("Error") };
}

const RECEIVED = "The answer was received. The episode has ended.";

function shownCall(task: CodeGymTask, text: string) {
  const parsed = parseCall(text);
  if ("problem" in parsed) return text;
  return { ...parsed.call, tool: shownName(task.names ?? {}, parsed.call.tool) };
}
