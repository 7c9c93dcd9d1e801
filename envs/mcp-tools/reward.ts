/** What is a step worth, and what is an episode worth? The equations (13) to (17) of PhGPO's reward, as its code has them. */

import type { Match } from "./match.ts";
import type { Options } from "./options.ts";

/** The prefix of a tool's name up to the first separator; the whole name where there is none. */
export function categoryOf(tool: string, separators: string): string {
  for (let i = 0; i < tool.length; i++) if (separators.includes(tool.charAt(i))) return tool.slice(0, i);
  return tool;
}

/**
 * (15) r_intent: `correct` for tool(a_t) = tool(a*_t), `recovery` more if the step before was wrong; `category` for another
 * tool of its category; else `wrong`.
 * @param expected tool(a*_t); undefined after the reference's last step, where every call is wrong.
 */
export function intentReward(
  { intent }: Pick<Options, "intent">,
  tool: string,
  expected: string | undefined,
  wasWrong: boolean,
): number {
  if (tool === expected) return intent.correct + (wasWrong ? intent.recovery : 0);
  if (expected === undefined) return intent.wrong;
  const related = categoryOf(tool, intent.separators) === categoryOf(expected, intent.separators);
  return related ? intent.category : intent.wrong;
}

/** (16) r_exec. */
export function execReward({ exec }: Pick<Options, "exec">, failed: boolean): number {
  return failed ? exec.error : exec.ok;
}

/**
 * (17) r_outcome: the value of the highest level that the match reaches, times its factor if the reference itself failed;
 * plus `opening` if the first min(openingSteps, T) tools all match.
 * @param tools ξ. @param reference ξ*, not empty.
 */
export function outcomeReward(
  { outcome }: Pick<Options, "outcome">,
  match: Match,
  tools: readonly string[],
  reference: readonly string[],
  referenceFailed: boolean,
): number {
  const reached = outcome.levels
    .filter(({ from }) => match[outcome.match] >= from)
    .reduce<(typeof outcome.levels)[number] | undefined>((a, b) => (a && a.from >= b.from ? a : b), undefined);
  const value = reached === undefined ? 0 : reached.value * (referenceFailed ? reached.failedReference : 1);
  const opening = reference.slice(0, outcome.openingSteps).every((tool, t) => tool === tools[t]);
  return value + (opening ? outcome.opening : 0);
}
