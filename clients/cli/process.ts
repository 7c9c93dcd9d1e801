/** The process: arguments and signals in, exit code out. Nothing else of the command line knows that it is one. */

import { CommanderError } from "commander";
import { describeFailure } from "./terminal/failure.ts";
import { Interrupted, type Io } from "./terminal/io.ts";
import { packageVersion } from "./package.ts";
import { createProgram } from "./program.ts";

/** After its command has ended a process has nothing left to do; what keeps it alive then is somebody's mistake. */
const LINGER_MS = 3_000;
/** Those of package.json that run this file. Somebody else's script, or a test, stands where it wants to stand. */
const scripts = new Set(["trailgym", "demo", "start", "bench"]);

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // `trailgym … | head`: nobody reads any more, and that is not an error.
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}

// npm runs this package's scripts in its folder; a path means what it means where the person stands.
if (scripts.has(process.env.npm_lifecycle_event ?? "") && process.env.INIT_CWD !== undefined) {
  process.chdir(process.env.INIT_CWD);
}

const { stdin, stdout, stderr } = process;
let stop: AbortSignal | undefined;
const io: Io = {
  stdin,
  stdout,
  stderr,
  get signal() {
    return (stop ??= interrupted());
  },
  exitCode: 0,
};
process.exitCode = await run(process.argv.slice(2));
setTimeout(() => process.exit(), LINGER_MS).unref();

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      // The second one: whoever sends it does not want to wait.
      if (controller.signal.aborted) process.exit(signal === "SIGINT" ? 130 : 143);
      controller.abort(new Interrupted(signal));
    });
  }
  return controller.signal;
}

async function run(args: string[]): Promise<number> {
  const unasked = args.includes("serve") ? (await import("trailgym/server")).defaults : undefined;
  const program = createProgram(io, await packageVersion(), unasked);
  try {
    if (args.length === 0) {
      program.outputHelp({ error: true });
      return 2;
    }
    await program.parseAsync(args, { from: "user" });
    return io.exitCode;
  } catch (error) {
    // Commander has said what it has to say; help and --version come this way too.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { line, exitCode } = describeFailure(error, program.opts<{ verbose: boolean }>().verbose);
    stderr.write(`trailgym: ${line}\n`);
    return exitCode;
  }
}
