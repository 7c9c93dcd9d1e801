import type { Command } from "commander";
import type { Io } from "../terminal/io.ts";

export function benchCommand(parent: Command, io: Io): void {
  parent
    .command("bench")
    .summary("measure speed and memory on this machine")
    .description(
      "Measures speed and memory on this machine, prints a table and writes JSON. Its options: `bench --help`.",
    )
    .helpOption(false)
    .allowUnknownOption()
    .argument("[args...]")
    .action(async (args: string[]) => (await import("../bench/bench.ts")).bench(io, args));
}
