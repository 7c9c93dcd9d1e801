import { type Command, InvalidArgumentError, Option } from "commander";
import type { BaselinesOptions } from "../baselines/baselines.ts";
import type { Io } from "../terminal/io.ts";
import { decimal, integer } from "../terminal/values.ts";

export function baselinesCommand(parent: Command, io: Io): void {
  parent
    .command("baselines")
    .summary("find out what a set of tool tasks gives away for nothing")
    .description(
      "Splits trajectories into training and test and scores three players that learn no policy: one copies the training\n" +
        "task with the most similar request, one follows the likeliest next tool, one calls the tools most like the request.\n" +
        "A policy that does not beat them has learnt nothing; a copy that solves the test says that the split leaks.",
    )
    .argument("<file...>", "trajectories (.jsonl) or dataset folders")
    .addOption(
      new Option("--split <by>", "what is never torn apart; given: the split that the tasks bring")
        .choices(["chain", "query", "task", "given"])
        .default("chain"),
    )
    .option("--seed <n>", "of the shuffle; the same as Python's random.Random(n).shuffle", integer(0), 42)
    .option("--test <share>", "share for testing", share, 0.2)
    .option("--horizon <n>", "steps after which a player is stopped", integer(1), 20)
    .option("--json", "print all scores")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym baselines trajectories.jsonl
  $ trailgym baselines trajectories.jsonl --split query --seed 7
  $ trailgym baselines datasets/mine --split given --json`,
    )
    .action(async (files: string[], options: BaselinesOptions) =>
      (await import("../baselines/baselines.ts")).baselines(io, files, options),
    );
}

export function share(text: string): number {
  const value = decimal(text);
  if (value > 0 && value < 1) return value;
  throw new InvalidArgumentError("give a number between 0 and 1.");
}
