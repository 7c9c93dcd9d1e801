import { type Command, Option } from "commander";
import type { GenerateCommandOptions } from "../generate/generate.ts";
import type { Io } from "../terminal/io.ts";
import { share } from "./baselines.ts";
import { integer } from "../terminal/values.ts";

export function generateCommand(parent: Command, io: Io): void {
  const command = parent.command("generate").summary("make a dataset folder of generated tasks");
  command.description("Makes a dataset folder of generated tasks that `serve --tasks DIR` loads.");
  walkOptions(
    command.command("mcp-tools").summary("workflows of tool calls: walks over a tool graph, asked for in words"),
  )
    .description(
      "Walks over a graph of tools, calls each with arguments that are usual or that earlier outputs have said (outputs are\n" +
        "simulated), and asks for the whole in words: three difficulties, many wordings, other tools beside those needed.\n" +
        "Training and test share no sequence of tools. The same seed makes the same dataset.",
    )
    .requiredOption("--out <dir>", "the dataset folder to make; must not exist, or be empty")
    .option("--toolbook <file>", "tools with phrases, values, outputs and weights; see envs/mcp-tools/README.md")
    .option("--graph <file...>", "instead: a graph as JSON, or the trajectories and dataset folders to take it from")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym generate mcp-tools --toolbook fixtures/mcp-tools/toolbook.json --out datasets/harbour --tasks 800
  $ trailgym generate mcp-tools --graph trajectories.jsonl --out datasets/more --tasks 200 --max-steps 12`,
    )
    .action(async (options: GenerateCommandOptions) => (await import("../generate/generate.ts")).generate(io, options));
}

/** Also of a graph that is imported. */
export function walkOptions(command: Command): Command {
  return command
    .option("--tasks <n>", "how many", integer(1), 800)
    .option("--seed <n>", "of everything that chance decides", integer(0), 42)
    .option("--min-steps <n>", "calls of the shortest workflows", integer(1), 3)
    .option("--max-steps <n>", "calls of the longest", integer(1, 200), 20)
    .option("--per-chain <n>", "tasks of one sequence of tools, with other words and arguments", integer(1), 1)
    .option("--test <share>", "share of the sequences whose tasks are for testing", share, 0.25)
    .option("--distractors <n>", "tools shown beside those that a workflow needs", integer(0), 8)
    .addOption(
      new Option("--difficulty <level...>", "of the tasks, in turn")
        .choices(["easy", "medium", "hard"])
        .default(["easy", "medium", "hard"]),
    )
    .option("--name <name>", "the dataset's name; default the folder's")
    .option("--json", "print {out, tasks, train, test, tools}");
}
