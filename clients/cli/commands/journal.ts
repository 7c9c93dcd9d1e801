import type { Command } from "commander";
import { folderOptions, type FolderOptions } from "../journal/options.ts";
import type { CheckOptions, CompactOptions } from "../journal/operate.ts";
import type { Io } from "../terminal/io.ts";
import { decimal } from "../terminal/values.ts";

export function journalCommand(parent: Command, io: Io): void {
  const command = parent.command("journal").summary("look after what a server keeps");
  command.description("Looks after the data folder in which `serve` keeps sessions and episodes.");

  const check = command.command("check").summary("whether everything is what it was committed as");
  check.description(
    "Reads all of it and names what is damaged or missing; also while a server uses it.\n" +
      "Exit code 0 when it is sound, 1 when it is not.",
  );
  folderOptions(check)
    .option("--json", "print {folder, openSessions, endedSessions, episodes, commits, snapshots, bytes, problems}")
    .addHelpText("after", examples(["trailgym journal check", "trailgym journal check --data ./data --json"]))
    .action(async (options: CheckOptions) => (await import("../journal/operate.ts")).check(io, options));

  const compact = command.command("compact").summary("let go of old episodes and give the room back to the disk");
  compact.description(
    "Removes ended episodes that are older than --keep-days and writes the file anew without the room they took.\n" +
      "A server lets go of old episodes by itself, and uses their room again. Not while a server uses it.",
  );
  folderOptions(compact)
    .option("--keep-days <n>", "keep episodes that ended in the last n days", decimal, 7)
    .addHelpText("after", examples(["trailgym journal compact --keep-days 1"]))
    .action(async (options: CompactOptions) => (await import("../journal/operate.ts")).compact(io, options));

  const copy = command.command("export").summary("a whole copy of it, as it is now");
  copy.description(
    "Writes a copy that is whole, also while a server uses it. To go on from a copy, let it be `journal.sqlite` in a\n" +
      "data folder of its own. For trajectories, see `trailgym export`.",
  );
  folderOptions(copy)
    .argument("<file>", "where the copy goes; must not exist")
    .addHelpText("after", examples(["trailgym journal export backup.sqlite"]))
    .action(async (file: string, options: FolderOptions) =>
      (await import("../journal/operate.ts")).exportCopy(io, file, options),
    );
}

function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}
