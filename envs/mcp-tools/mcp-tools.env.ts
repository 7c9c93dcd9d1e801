/** Long tool workflows: which tool next, with which arguments, until the request is done; against recordings and a simulator. */

import {
  defineEnv,
  parseCall,
  toolAction,
  type EnvContext,
  type Reference,
  type StepOutcome,
  type ToolAction,
  type ToolCall,
  type ToolObservation,
} from "trailgym/env";
import { z } from "zod";
import { checkTask } from "./check.ts";
import { type Match, matchOf } from "./match.ts";
import { options, type Options } from "./options.ts";
import { referencePlay } from "./reference.ts";
import { execReward, intentReward, outcomeReward } from "./reward.ts";
import { sameCall, simulate, type Simulated } from "./simulator/simulate.ts";
import { countsOf, firstState, historyOf, nextState, optionsIn, state, type State } from "./state.ts";
import { looksFailed, type Status } from "./status.ts";
import { ENV_ID, loadTasks, type McpTask } from "./task.ts";
import { badArguments, findTool, type Refusal, toolsShown, unknownTool, unreadable } from "./toolbox.ts";
import { patternOf, type RecordedStep, STOP, toolsOf } from "./trajectory.ts";

/** Characters of a tool's name, which a policy may have made up. */
const KEPT_NAME = 256;

type Context = EnvContext<McpTask>;
type Outcome = StepOutcome<State, ToolObservation>;

export default defineEnv<State, ToolAction, ToolObservation, Options, McpTask>({
  id: ENV_ID,
  summary: "Call tools one after another until a request is done; rewarded for following a reference workflow.",
  state,
  action: toolAction,
  observation: z.object({ content: z.unknown(), isError: z.boolean() }),
  options,
  needs: ["model"],
  tasks: loadTasks,

  reset({ task }: Context, chosen) {
    if ((task as McpTask | undefined) === undefined) throw new Error("no task: serve a dataset with --tasks DIR");
    return {
      state: firstState(chosen),
      observation: { content: prompt(task, chosen), isError: false },
      info: { referenceSteps: task.reference.length, ...oracle(task, chosen) },
      tools: toolsShown(task, chosen.toolset),
    };
  },

  async step(ctx, before, action) {
    if (before.ended !== null) return afterEnd(before);
    if (action === STOP) return stopped(ctx.task, before);
    const parsed = parseCall(action);
    if ("problem" in parsed) {
      return called(ctx, before, "", { ...unreadable(parsed.problem), isError: true, source: "none" });
    }
    const call = { ...parsed.call, arguments: withoutBigints(parsed.call.arguments) as ToolCall["arguments"] };
    if (call.tool === STOP) return stopped(ctx.task, before);
    return called(ctx, before, call.tool.slice(0, KEPT_NAME), await answer(ctx, before, call));
  },

  reference: ({ task }, start): Reference<ToolAction> => referencePlay(task, optionsIn(start)),
  checkTask: (ctx) => Promise.resolve(checkTask(ctx.task)),
});

function oracle(task: McpTask, chosen: Options): { reference?: readonly ToolAction[] } {
  return chosen.oracle ? { reference: referencePlay(task, chosen).actions } : {};
}

function prompt({ task }: McpTask, { horizon }: Options): string {
  return [
    task,
    "",
    'Work on this with the tools, one call per step: {"tool": "name", "arguments": {…}}.',
    `When it is done, answer ${STOP}. After ${horizon} calls it ends by itself.`,
  ].join("\n");
}

type Answer = Omit<Simulated, "isError"> & { isError: boolean; status: Status };

async function answer(ctx: Context, before: State, call: ToolCall): Promise<Answer> {
  const chosen = optionsIn(before);
  const expected = ctx.task.reference[before.tools.length];
  if (expected?.output !== undefined && replays(expected, call, chosen.replay)) return recorded(expected, chosen);
  const tool = findTool(ctx.task, chosen.toolset, call.tool);
  if (tool === undefined) return refused(unknownTool(call.tool.slice(0, KEPT_NAME)));
  const refusal = badArguments(tool, call.arguments);
  if (refusal !== undefined) return refused(refusal);
  const simulated = await simulate(ctx, chosen, { tool, arguments: call.arguments, history: historyOf(before) });
  return { ...simulated, status: simulated.isError ? "tool_error" : "ok" };
}

const refused = (refusal: Refusal): Answer => ({ ...refusal, isError: true, source: "none" });

/** The server took this call when it was recorded, whatever its schema says. */
function recorded({ output, isError }: RecordedStep, { exec }: Options): Answer {
  const failed = isError ?? looksFailed(output, exec.patterns);
  return { content: output, isError: failed, status: failed ? "tool_error" : "ok", source: "reference" };
}

function replays(expected: RecordedStep, call: ToolCall, by: Options["replay"]): boolean {
  if (by === "arguments") return sameCall(expected, call);
  return expected.tool === call.tool && (by === "tool" || patternOf(expected) === patternOf(call));
}

/** The transition of a call, however it was answered. @param tool as the policy wrote it; "" where it could not be read. */
function called(
  { task, model }: Context,
  before: State,
  tool: string,
  { content, isError, status, source, ...more }: Answer,
): Outcome {
  const chosen = optionsIn(before);
  const t = before.tools.length;
  const [last, expected] = [task.reference[t - 1]?.tool, task.reference[t]?.tool];
  const after = nextState(before, chosen, { tool, content, status, source }, model !== undefined);
  const failed = chosen.exec.judge === "text" ? looksFailed(content, chosen.exec.patterns) : status !== "ok";
  const intent = intentReward(chosen, tool, expected, t > 0 && before.tools[t - 1] !== last);
  const exec = execReward(chosen, failed);
  const end = after.ended === null ? undefined : ending(task, chosen, after);
  const outcome = chosen.outcome.onTruncation ? (end?.outcome ?? 0) : 0;
  return {
    state: after,
    observation: { content, isError },
    reward: chosen.gamma ** t * (intent + exec + outcome),
    truncated: after.ended === "truncated",
    info: {
      ...{ status, source, correct: tool === expected, intent, exec },
      ...more,
      ...(end && { outcome, ...end.info }),
    },
  };
}

/** STOP ends the episode and is not a part of ξ: the outcome counts for its last call, whose discount it has. */
function stopped(task: McpTask, before: State): Outcome {
  const chosen = optionsIn(before);
  const calls = before.tools.length;
  const correct = calls === task.reference.length;
  const { outcome, info } = ending(task, chosen, before);
  const intent = correct ? chosen.stop.correct : chosen.stop.wrong;
  return {
    state: { ...before, ended: "terminated" },
    observation: { content: "The episode has ended.", isError: false },
    reward: chosen.gamma ** calls * intent + chosen.gamma ** Math.max(0, calls - 1) * outcome,
    terminated: true,
    info: { source: "none", correct, intent, outcome, ...info },
  };
}

interface Ending {
  /** r_outcome, not discounted. */
  outcome: number;
  info: { match: Match; success: boolean; steps: number; referenceSteps: number } & ReturnType<typeof countsOf>;
}

function ending(task: McpTask, chosen: Options, { tools, statuses, sources }: State): Ending {
  const reference = toolsOf(task);
  const match = matchOf(tools, reference, chosen.horizon);
  return {
    outcome: outcomeReward(chosen, match, tools, reference, !task.success),
    info: {
      match,
      success: task.success && match.positional >= chosen.success,
      steps: tools.length,
      referenceSteps: reference.length,
      ...countsOf({ statuses, sources }),
    },
  };
}

/** The engine refuses a step after the end; whoever calls `step` without it finds that nothing can be won any more. */
function afterEnd(before: State): Outcome {
  return {
    state: before,
    observation: { content: "The episode has ended.", isError: true },
    terminated: before.ended === "terminated",
    truncated: before.ended === "truncated",
  };
}

/** Tools speak JSON, whose numbers are doubles; raw text of a model may hold longer ones. Shares what holds none. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBigints(item)]));
}
