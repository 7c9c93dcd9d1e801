import type { Command } from "commander";
import type { CheckEnvOptions } from "../check-env/check-env.ts";
import type { Io } from "../terminal/io.ts";
import { sourceOptions } from "../settings.ts";
import { integer } from "../terminal/values.ts";

export function checkEnvCommand(parent: Command, io: Io): void {
  const command = parent.command("check-env").summary("check that an environment keeps its contract");
  command
    .description(
      "Plays environments and reports what breaks the contract: schemas, mutated inputs, rewards, replays of a seed,\n" +
        "references. With --tasks it plays every task of these datasets. Exit code 1 when there are errors.",
    )
    .argument("[env...]", "files (my.env.ts), folders, or ids as `trailgym list` shows them")
    .option(
      "--per-split <n>",
      "tasks to play of each split; default 3, and every task of a dataset in --tasks",
      integer(1),
    )
    .option("--seeds <n>", "seeds to play; default 3, and 1 for a dataset in --tasks", integer(1))
    .option("--step-timeout-ms <ms>", "a call that loops for longer is ended, and an error", integer(1), 30_000);
  sourceOptions(command, { tasksFlag: "--tasks <dir...>" })
    .option("--json", "print the reports as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym check-env my.env.ts
  $ trailgym check-env countdown-v1 code-gym-v1
  $ trailgym check-env --tasks ./datasets/mine`,
    )
    .action(async (envs: string[], options: CheckEnvOptions) =>
      (await import("../check-env/check-env.ts")).checkEnvs(io, envs, options),
    );
}
