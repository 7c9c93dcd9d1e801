import type { Command } from "commander";
import type { EvalOptions } from "../eval/eval.ts";
import type { Io } from "../terminal/io.ts";
import { endpointOptions } from "../settings.ts";
import { decimal, integer, jsonObject } from "../terminal/values.ts";

export function evalCommand(parent: Command, io: Io): void {
  const command = parent.command("eval").summary("play an agent through tasks and report numbers");
  command
    .description(
      "Plays an agent through the tasks of an environment and reports mean return, solved rate and steps, with 95 %\n" +
        "confidence intervals. What fails on the server's side is counted apart, never as a return of 0.\n" +
        "Exit code 0 when every episode counts, 1 when some are missing: the same command then plays only those.",
    )
    .argument("[command...]", "after `--`: more words of the agent's command")
    .requiredOption("--env <id>", "an environment's id, as `trailgym list` shows it")
    .requiredOption("--agent <reference|random|command...>", "who plays; a command speaks JSON lines, see below")
    .option("--split <name>", "tasks of this split; default: the environment's first")
    .option("--tasks-file <file>", "these tasks: one id a line, or JSON lines with an `id`")
    .option("--limit <n>", "at most so many tasks, the first ones", integer(1))
    .option("--episodes <k>", "episodes of each task", integer(1), 1)
    .option("--seed <n>", "of everything that chance decides; the same seed plays the same", integer(0), 0)
    .option("--concurrency <n>", "episodes at once, each with its own agent process", integer(1, 1024), 4)
    .option("--options <json>", "the environment's options", jsonObject)
    .option("--max-steps <n>", "cut an episode after so many steps", integer(1), 1000)
    .option("--timeout-ms <ms>", "how long an agent may think about one action", integer(1), 120_000)
    .option("--step-timeout-ms <ms>", "deadline of each reset and step; default the server's", integer(1))
    .option("--retries <n>", "new attempts after a lost sandbox, a full server and the like", integer(0, 100), 2)
    .option("--show-reward", "let the agent see its rewards", false)
    .option("--solved-at <return>", "an episode is solved from this return on", decimal, 1)
    .option("--out <dir>", "write trajectories.jsonl and summary.json here, and go on from what is there")
    .option("--force", "start over in a folder of other settings; what was there is moved aside", false);
  endpointOptions(command)
    .option("--json", "print the summary as JSON")
    .addHelpText(
      "after",
      `
Agents:
  reference   the environment's own solution; only without --server, because answers never cross the wire
  random      random values of the action schema, or random calls of the task's tools
  command     any program; it reads one JSON object a line on stdin and answers with one a line on stdout
                {"type":"reset","episode","env","task","observation","tools","actionSchema","seed"}
                {"type":"step","episode","observation","index"}        with --show-reward also "reward"
                {"type":"invalid","episode","message","issues"}        the last action does not fit: give another
                {"type":"end","episode","observation","terminated","truncated"}   no answer expected
              Its answer is {"action": …}, or {"error": "why"} to give the episode up. Logs go to stderr.
              One process plays many episodes, one at a time; stdin ends when there are no more.
              Its own failures have names: AGENT_CRASHED, AGENT_TIMEOUT, AGENT_PROTOCOL, AGENT_INVALID_ACTION,
              AGENT_GAVE_UP. They count, with the return that was reached.

Examples:
  $ trailgym eval --env code-gym-v1 --agent reference --limit 10
  $ trailgym eval --env countdown-v1 --agent random --episodes 100 --json
  $ trailgym eval --env code-gym-v1 --agent python3 agent.py --out runs/mine -- --model small
  $ trailgym eval --env code-gym-v1 --agent "node agent.js" --server ws://gym:7474 --concurrency 16`,
    )
    .action(async (words: string[], options: EvalOptions) =>
      (await import("../eval/eval.ts")).evaluate(io, { ...options, agent: [...options.agent, ...words] }),
    );
}
