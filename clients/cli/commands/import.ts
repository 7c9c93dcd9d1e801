import type { Command } from "commander";
import type { ImportOptions } from "../import.ts";
import type { Io } from "../terminal/io.ts";
import { trajectoryImports } from "./import-trajectories.ts";
import { integer } from "../terminal/values.ts";

export function importCommand(parent: Command, io: Io): void {
  const command = parent.command("import").summary("turn released data into a dataset folder");
  command.description("Turns released data into a dataset folder that `serve --tasks DIR` loads.");
  command
    .command("codegym")
    .summary("CodeGym's training instances")
    .description(
      "Reads CodeGym's training instances (.jsonl or .parquet, with or without the programs in them), tables of programs\n" +
        "and programs as {code_id}__{EnvName}.py. Bad rows are listed and the good ones imported.\n" +
        "Exit code 0 when any task was imported, 1 when none was; with --strict also when a row was bad.",
    )
    .argument("<file...>", "training instances: .jsonl or .parquet")
    .requiredOption("--out <dir>", "the dataset folder to make; must not exist, or be empty")
    .option("--sources <file...>", "where the programs are, if not in the instances: .parquet, .jsonl, .py or folders")
    .option("--limit <n>", "at most so many tasks, the first ones", integer(1))
    .option("--split <name>", "the split that the tasks belong to", "train")
    .option("--name <name>", "the dataset's name; default the folder's")
    .option("--strict", "fail when any row is bad", false)
    .option("--json", "print {out, tasks, programs, problems}")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym import codegym train.jsonl --out datasets/codegym
  $ trailgym import codegym tasks.parquet --sources envs.parquet --out datasets/codegym --limit 1000
  $ trailgym serve --tasks datasets/codegym`,
    )
    .action(async (files: string[], options: ImportOptions) =>
      (await import("../import.ts")).importCodeGymFiles(io, files, options),
    );
  trajectoryImports(command, io);
}
