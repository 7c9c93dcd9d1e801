import type { Command } from "commander";
import type { Io } from "../terminal/io.ts";
import type { PlayOptions } from "../play/play.ts";
import { endpointOptions } from "../settings.ts";
import { integer, jsonObject } from "../terminal/values.ts";

export function playCommand(parent: Command, io: Io): void {
  const command = parent.command("play").summary("play an episode by hand");
  command
    .description(
      "Plays an episode in the terminal. An action is typed as JSON, as `tool key=value …` where actions are tool calls,\n" +
        "or as `key=value …`. `:help` shows what else there is: undo, snapshots, another episode.",
    )
    .argument("<env>", "an environment's id, as `trailgym list` shows it")
    .option("--task <id>", "this task; default: the seed chooses one")
    .option("--split <name>", "choose the task from this split")
    .option("--seed <n>", "default: one is drawn, and shown", integer(0))
    .option("--options <json>", "the environment's options", jsonObject)
    .option("--actions <file>", "play the actions of this file, one JSON value a line, and end");
  endpointOptions(command)
    .option("--json", "print every reply as one JSON line")
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym play countdown-v1 --seed 1
  $ trailgym play code-gym-v1 --task grid-walk-js/0
  $ trailgym play countdown-v1 --options '{"start": 4}' --actions moves.jsonl --json`,
    )
    .action(async (env: string, options: PlayOptions) => (await import("../play/play.ts")).play(io, env, options));
}
