import type { Command } from "commander";
import type { ReplayOptions } from "../journal/replay.ts";
import { endpointOptions } from "../settings.ts";
import type { Io } from "../terminal/io.ts";
import { integer } from "../terminal/values.ts";

export function replayCommand(parent: Command, io: Io): void {
  const command = parent.command("replay").summary("play recorded trajectories again and tell where they differ");
  command
    .description(
      "Plays each trajectory of a file again, with its task, seed, options and actions, and names the first step whose\n" +
        "state, reward or observation is not the recorded one. Takes what `export` wrote as JSON lines, and the\n" +
        "trajectories.jsonl of `eval` where that had no --options.\n" +
        "Exit code 0 when all came out the same, 1 when one did not.",
    )
    .argument("<file>", "trajectories as JSON lines")
    .option("--limit <n>", "at most so many, the first ones", integer(1));
  endpointOptions(command)
    .option("--json", "print {replayed, differ, skipped}")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym replay played.jsonl
  $ trailgym replay played.jsonl --envs ./my-envs
  $ trailgym replay played.jsonl --server ws://gym:7474`,
    )
    .action(async (file: string, options: ReplayOptions) =>
      (await import("../journal/replay.ts")).replay(io, file, options),
    );
}
