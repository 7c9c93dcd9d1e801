/** How is another program run, so that its failure says what it said and Ctrl-C ends it too? */

import { spawn } from "node:child_process";

export type Run = (command: string, args: readonly string[], options?: RunOptions) => Promise<string>;

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly command: string;
  /** True: there is no such program. */
  readonly missing: boolean;
  constructor(command: string, reason: string, missing = false) {
    super(`${command}: ${reason}`);
    this.command = command;
    this.missing = missing;
  }
}

/** @returns what it wrote to stdout. @throws CommandFailed with the end of its stderr. */
export const run: Run = (command, args, { cwd, env, signal } = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      ...(signal === undefined ? {} : { signal }),
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err = (err + text).slice(-4000)));
    let failure: Error | undefined;
    child.on("error", (error: NodeJS.ErrnoException) => {
      failure = signal?.aborted
        ? (signal.reason as Error)
        : new CommandFailed(command, error.code === "ENOENT" ? "not found" : error.message, error.code === "ENOENT");
      // Without a process there is no "close" to wait for.
      if (child.pid === undefined) reject(failure);
    });
    child.on("close", (code, killed) => {
      if (failure) reject(failure);
      else if (code === 0) resolve(out);
      else {
        const said = (err.trim() || out.trim()).split("\n").slice(-25).join("\n");
        reject(new CommandFailed(command, `ended with ${code ?? killed}\n${said}`.trimEnd()));
      }
    });
  });
