import { type Command, Option } from "commander";
import { folderOptions } from "../journal/options.ts";
import type { ExportOptions } from "../journal/export.ts";
import type { Io } from "../terminal/io.ts";

export function exportCommand(parent: Command, io: Io): void {
  const command = parent.command("export").summary("write what was played to a file of trajectories");
  command
    .description(
      "Writes the episodes that a server keeps: task, seed, options, actions, observations, rewards, digests of the states,\n" +
        "and what clients said with their actions, such as log-probs. Also while the server runs.\n" +
        "JSON lines have one trajectory a line, Parquet one row for each value (row 0 of an episode is its opening).",
    )
    .argument("<file>", ".parquet for Parquet, anything else for JSON lines");
  folderOptions(command)
    .addOption(new Option("--format <name>", "instead of what the file's name says").choices(["jsonl", "parquet"]))
    .option("--env <id>", "only this environment's")
    .option("--principal <name>", "only this principal's")
    .option("--running", "also episodes that have not ended yet", false)
    .option("--force", "write over the file", false)
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym export played.jsonl
  $ trailgym export played.parquet --env code-gym-v1 --data ./data`,
    )
    .action(async (file: string, options: ExportOptions) =>
      (await import("../journal/export.ts")).exportTrajectories(io, file, options),
    );
}
