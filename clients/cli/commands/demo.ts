import type { Command } from "commander";
import type { DemoOptions } from "../demo/demo.ts";
import type { Io } from "../terminal/io.ts";

export function demoCommand(parent: Command, io: Io): void {
  parent
    .command("demo")
    .summary("see what it does, in a few seconds")
    .description(
      "Starts a server on a free port, connects to it over a WebSocket, and plays: every family of tasks with its reference,\n" +
        "an agent that errs, one episode forked half-way, and a step that is killed at its deadline.",
    )
    .option("--json", "print the rows of the table as JSON")
    .addHelpText("after", "\nExample:\n  $ trailgym demo")
    .action(async (options: DemoOptions) => (await import("../demo/demo.ts")).demo(io, options));
}
