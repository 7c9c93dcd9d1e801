import type { Command } from "commander";
import type { Io } from "../terminal/io.ts";
import { type EndpointOptions, endpointOptions } from "../settings.ts";
import type { TasksOptions } from "../tasks.ts";
import { integer } from "../terminal/values.ts";

export function listCommand(parent: Command, io: Io): void {
  const command = parent.command("list").summary("show the environments").description("Shows the environments.");
  endpointOptions(command)
    .option("--json", "print the entries of env/list, schemas included, and the number of tasks")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym list
  $ trailgym list --envs ./my.env.ts --json
  $ trailgym list --server ws://127.0.0.1:7474`,
    )
    .action(async (options: EndpointOptions & { json?: boolean }) => (await import("../list.ts")).list(io, options));
}

export function tasksCommand(parent: Command, io: Io): void {
  const command = parent.command("tasks").summary("show the tasks of an environment");
  command
    .description("Shows the tasks of an environment: what an agent may see of them, never an answer.")
    .argument("<env>", "an environment's id, as `trailgym list` shows it")
    .option("--split <name>", "only this split")
    .option("--limit <n>", "at most so many; 0 for all", integer(0), 20);
  endpointOptions(command)
    .option("--json", "print {env, total, tasks}")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym tasks code-gym-v1
  $ trailgym tasks code-gym-v1 --split train --limit 0 --json`,
    )
    .action(async (env: string, options: TasksOptions) => (await import("../tasks.ts")).tasks(io, env, options));
}
