import { type Command, Option } from "commander";
import type { ServerConfig } from "trailgym/server";
import type { Io } from "../terminal/io.ts";
import { type ServeOptions, serverOptions } from "../settings.ts";

export function serveCommand(parent: Command, io: Io, unasked?: ServerConfig): void {
  const command = parent.command("serve").summary("serve environments over JSON-RPC on a WebSocket");
  command.description(
    "Serves environments over JSON-RPC on a WebSocket until SIGINT or SIGTERM; then running steps may end and it exits\n" +
      "with 0. A second signal exits at once.",
  );
  serverOptions(command, unasked)
    .option("--attest", "play each environment twice first, and serve nothing when one differs from itself")
    .addOption(
      new Option(
        "--open-telemetry",
        "tell the spans of calls to OpenTelemetry, which is set up as for any program: by NODE_OPTIONS=--import …",
      ).env("TRAILGYM_OPEN_TELEMETRY"),
    )
    .option("--json", 'print one line {"url","instance"} once connections are accepted')
    .addHelpText(
      "after",
      `
Examples:
  $ trailgym serve
  $ trailgym serve --port 0 --json
  $ trailgym serve --envs ./my-envs --tasks ./datasets/codegym
  $ TRAILGYM_TOKEN=$(openssl rand -hex 24) trailgym serve --host 0.0.0.0`,
    )
    .action(async (options: ServeOptions) => (await import("../serve.ts")).serve(io, options));
}
