/** Serves until it is told to stop. */

import { compose } from "./compose/compose.ts";
import { type Io, note, print, printJson } from "./terminal/io.ts";
import { type ServeOptions, serverConfig } from "./settings.ts";

export async function serve(io: Io, options: ServeOptions): Promise<void> {
  // Before anybody is told that it serves: whoever reads that may send a signal at once.
  const { signal } = io;
  const config = await serverConfig(options);
  if (options.attest === true) await (await import("./attest.ts")).attest(io, options);
  await using composed = await compose(options, config, {
    processes: options.interpreters,
    openTelemetry: options.openTelemetry,
  });
  const { server, envs } = composed;
  const { url, instance } = server;
  if (options.json === true) printJson(io, { url, instance }, 0);
  else {
    print(io, `serving ${envs.join(", ")} at ${url} (Ctrl-C stops)`);
    note(io, config.data === undefined ? "nothing is kept" : `sessions and episodes are kept in ${config.data}`);
  }
  await stopped(signal);
  if (options.json !== true) note(io, "stopping: no new work, running steps may end");
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
