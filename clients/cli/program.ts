/** Which commands are there? Their options and help; what they do is loaded when one of them runs. */

import { Command } from "commander";
import type { ServerConfig } from "trailgym/server";
import { baselinesCommand } from "./commands/baselines.ts";
import { benchCommand } from "./commands/bench.ts";
import { checkEnvCommand } from "./commands/check-env.ts";
import { demoCommand } from "./commands/demo.ts";
import { evalCommand } from "./commands/eval.ts";
import { exportCommand } from "./commands/export.ts";
import { generateCommand } from "./commands/generate.ts";
import { graphCommand } from "./commands/graph.ts";
import { importCommand } from "./commands/import.ts";
import { journalCommand } from "./commands/journal.ts";
import { listCommand, tasksCommand } from "./commands/list.ts";
import { playCommand } from "./commands/play.ts";
import { replayCommand } from "./commands/replay.ts";
import { serveCommand } from "./commands/serve.ts";
import { setupCommand } from "./commands/setup.ts";
import type { Io } from "./terminal/io.ts";

/** @param unasked what a server does unasked, for the help of `serve`: loading it is not for every command. */
export function createProgram(io: Io, version: string, unasked?: ServerConfig): Command {
  const program = new Command("trailgym");
  program
    .description("Reinforcement-learning environments for tool-using agents, served over JSON-RPC on a WebSocket.")
    .version(version, "--version")
    .option("--verbose", "show where an error comes from", false)
    .helpCommand("help [command]", "show the help of a command")
    .showHelpAfterError("(--help shows what there is)")
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      getOutHelpWidth: () => (io.stdout.isTTY ? io.stdout.columns : 120),
      getErrHelpWidth: () => (io.stderr.isTTY ? io.stderr.columns : 120),
    })
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym demo
  $ trailgym serve --port 0 --json
  $ trailgym eval --env code-gym-v1 --agent reference --limit 10

Exit codes: 0 it worked, 1 it did not, 2 the command line is wrong.`,
    );
  for (const add of [
    demoCommand,
    serveCommand,
    listCommand,
    tasksCommand,
    playCommand,
    evalCommand,
    replayCommand,
    exportCommand,
    journalCommand,
    checkEnvCommand,
    importCommand,
    generateCommand,
    graphCommand,
    baselinesCommand,
    benchCommand,
    setupCommand,
  ]) {
    add(program, io, unasked);
  }
  return program;
}
