/** Is a CodeGym task sound? Its own solution must win as recorded, and nothing else may win or leak the answer. */

import {
  parseCall,
  type EnvContext,
  type EnvDefinition,
  type ToolAction,
  type ToolObservation,
  type ToolState,
} from "trailgym/env";
import { leaks } from "./leak.ts";
import { shownName } from "./names.ts";
import { ProgramError } from "./program-error.ts";
import type { CodeGymTask } from "./task.ts";

type State = ToolState<unknown>;
type Env = Pick<
  EnvDefinition<State, ToolAction, ToolObservation, { maxCalls: number | null }, CodeGymTask>,
  "reset" | "step" | "reference"
>;

/** Observe and Done included: published programs have 4 to 10 so counted. */
const MIN_TOOLS = 4;

/** @returns what is wrong, as sentences; empty for a sound task. @throws only what the environment's infrastructure throws. */
export async function checkTask(env: Env, ctx: EnvContext<CodeGymTask>): Promise<readonly string[]> {
  try {
    return await checkSound(env, ctx);
  } catch (error) {
    // Of a program that does not run, nothing more can be said.
    if (error instanceof ProgramError) return [error.sentence];
    throw error;
  }
}

async function checkSound(env: Env, ctx: EnvContext<CodeGymTask>): Promise<readonly string[]> {
  const problems: string[] = [];
  const { state: start, tools = [] } = await env.reset(ctx, { maxCalls: null });
  if (tools.length < MIN_TOOLS) {
    problems.push(`it has ${tools.length} tools, Observe and Done included, fewer than ${MIN_TOOLS}`);
  }

  const { actions, episodeReturn } = referenceOf(await env.reference?.(ctx, start));
  const { referenceCalls } = ctx.task;
  if (episodeReturn !== 1) problems.push(`its own solution returns ${episodeReturn}, not 1`);
  if (referenceCalls !== undefined && actions.length !== referenceCalls) {
    problems.push(`its own solution takes ${actions.length} calls, ${referenceCalls} are recorded`);
  }

  const played = await play(env, ctx, start, actions);
  if (played.episodeReturn !== episodeReturn || !played.terminated) {
    const end = played.terminated ? "" : ", and the episode has not ended";
    problems.push(`replayed, its own solution returns ${played.episodeReturn}${end}`);
  }

  const final = actions.at(-1);
  const parsed = final === undefined ? { problem: "none" } : parseCall(final);
  if ("problem" in parsed) return [...problems, "its own solution does not end with an answer"];
  const { tool, arguments: args } = parsed.call;
  const [parameter = "answer"] = Object.keys(args);
  const done = (answer: unknown) => ({ tool, arguments: { ...args, [parameter]: answer } });
  return [
    ...problems,
    ...(await checkAnswers(env, ctx, played, final as ToolAction, wrongAnswers(args[parameter]).map(done))),
    ...(await checkShown(env, ctx, start, args[parameter])),
  ];
}

/** Does the agent read the answer before it has done anything? Not asked of the question, which may name special answers. */
async function checkShown(env: Env, ctx: EnvContext<CodeGymTask>, start: State, answer: unknown): Promise<string[]> {
  const observe = { tool: shownName(ctx.task.names ?? {}, "Observe"), arguments: {} };
  const { content, isError } = (await env.step(ctx, start, observe)).observation;
  return !isError && leaks(ctx.task, content, answer) ? ["the first Observe shows the reference answer"] : [];
}

/** From the state before the last call of the solution, where every tool has been tried. */
async function checkAnswers(
  env: Env,
  ctx: EnvContext<CodeGymTask>,
  { beforeLast, last }: Played,
  right: ToolAction,
  wrong: readonly ToolAction[],
): Promise<string[]> {
  for (const action of wrong) {
    const first = await env.step(ctx, beforeLast, action);
    if (first.terminated !== true || (first.reward ?? 0) !== 0) continue;
    const problems: string[] = [];
    const second = await env.step(ctx, first.state, right);
    if ((second.reward ?? 0) !== 0) problems.push("a second answer changes the reward");
    // Whoever submits must learn nothing from the reply: it is the same text, right or wrong.
    if (first.observation.content !== last?.content)
      problems.push("the reply to an answer tells more than that it came");
    return problems;
  }
  return ["no wrong answer could be found that ends the episode with reward 0"];
}

interface Played {
  episodeReturn: number;
  terminated: boolean;
  beforeLast: State;
  last: ToolObservation | undefined;
}

async function play(
  env: Env,
  ctx: EnvContext<CodeGymTask>,
  start: State,
  actions: readonly ToolAction[],
): Promise<Played> {
  let [state, beforeLast, episodeReturn, terminated]: [State, State, number, boolean] = [start, start, 0, false];
  let last: ToolObservation | undefined;
  for (const action of actions) {
    const outcome = await env.step(ctx, state, action);
    [beforeLast, state, last] = [state, outcome.state, outcome.observation];
    episodeReturn += outcome.reward ?? 0;
    terminated = outcome.terminated ?? false;
    if (terminated || outcome.truncated) break;
  }
  return { episodeReturn, terminated, beforeLast, last };
}

type ReferenceOf = Awaited<ReturnType<NonNullable<Env["reference"]>>>;

function referenceOf(reference: ReferenceOf | undefined): { actions: readonly ToolAction[]; episodeReturn: number } {
  if (reference === undefined) return { actions: [], episodeReturn: 0 };
  return "actions" in reference ? reference : { actions: reference, episodeReturn: 1 };
}

/** Of the same type first, so that a schema of Done lets some of them pass. */
function wrongAnswers(answer: unknown): unknown[] {
  const others = ["no such answer", -987_654_321, [], {}, null];
  if (typeof answer === "number") return [answer + 1, answer - 1, 7919, ...others];
  if (typeof answer === "bigint") return [answer + 1n, ...others];
  if (typeof answer === "boolean") return [!answer, ...others];
  if (typeof answer === "string") return [`${answer}0`, `0${answer}`, "", ...flipped(answer), ...others];
  if (Array.isArray(answer))
    return [[], answer.slice(1), [...(answer as unknown[]), ...(answer as unknown[])], ...others];
  return [{}, ...others];
}

/** Answers from a fixed pair, where a schema allows no other text. */
function flipped(answer: string): string[] {
  const pairs = ["yes no", "YES NO", "Yes No", "true false", "True False", "TRUE FALSE", "0 1"];
  const pair = pairs.map((words) => words.split(" ")).find((words) => words.includes(answer));
  return pair?.filter((word) => word !== answer) ?? [];
}
