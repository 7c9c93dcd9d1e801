/** What is the known-good play of a task, and what does it earn? */

import type { ToolAction } from "trailgym/env";
import { matchOf } from "./match.ts";
import type { Options } from "./options.ts";
import { execReward, intentReward, outcomeReward } from "./reward.ts";
import { looksFailed } from "./status.ts";
import type { McpTask } from "./task.ts";
import { STOP, toolsOf } from "./trajectory.ts";

/** ξ* and STOP; cut at the horizon, which needs no STOP. Independent of `step`, so that the two can be held against each other. */
export function referencePlay(
  task: McpTask,
  options: Options,
): { actions: readonly ToolAction[]; episodeReturn: number } {
  const { horizon, gamma, exec, outcome, stop } = options;
  const played = task.reference.slice(0, horizon);
  const stops = played.length < horizon;
  const actions: ToolAction[] = played.map(({ tool, arguments: args }) => ({ tool, arguments: args }));

  let episodeReturn = 0;
  for (const [t, { tool, output, isError }] of played.entries()) {
    // What was not recorded is simulated, and a simulation may fail; a template does not.
    const looks = output !== undefined && looksFailed(output, exec.patterns);
    const failed = exec.judge === "text" ? looks : (isError ?? looks);
    episodeReturn += gamma ** t * (intentReward(options, tool, tool, false) + execReward(options, failed));
  }
  const [tools, reference] = [played.map(({ tool }) => tool), toolsOf(task)];
  const match = matchOf(tools, reference, horizon);
  if (stops || outcome.onTruncation) {
    episodeReturn += gamma ** (played.length - 1) * outcomeReward(options, match, tools, reference, !task.success);
  }
  if (stops) episodeReturn += gamma ** played.length * stop.correct;
  return { actions: stops ? [...actions, STOP] : actions, episodeReturn };
}
