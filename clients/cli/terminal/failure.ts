/** What went wrong, in one line that says what to do next, and with which exit code? */

import { Interrupted } from "./io.ts";

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What the command was to do did not work, and the message says all there is to say: exit code 1. */
export class Failure extends Error {
  override readonly name = "Failure";
}

export interface Described {
  line: string;
  /** 0 worked, 1 the thing failed, 2 wrong usage, 130 and 143 interrupted. */
  exitCode: number;
}

/** @param verbose appends the stack. */
export function describeFailure(error: unknown, verbose: boolean): Described {
  if (error instanceof Interrupted) return { line: "stopped", exitCode: error.signal === "SIGINT" ? 130 : 143 };
  const exitCode = error instanceof UsageError ? 2 : 1;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const hint = hintOf(error);
  const line = `${message.trimEnd()}${hint === undefined ? "" : `; ${hint}`}`;
  return { line: verbose && stack !== undefined ? `${line}\n${stack}` : line, exitCode };
}

/** By name and code, so that nothing heavy has to be loaded to say that something failed. */
function hintOf(error: unknown): string | undefined {
  const { name, code, message = "" } = (error ?? {}) as { name?: unknown; code?: unknown; message?: string };
  switch (name) {
    case "UNKNOWN_ENV":
      return "`trailgym list` shows them, --envs PATH adds more";
    case "UNAUTHENTICATED":
      return "pass it with --token or TRAILGYM_TOKEN";
    case "FORBIDDEN":
      return "use a token with the role trainer";
    case "ConnectionLost":
      return "is the server running? `trailgym serve` starts one";
    case "CAPACITY":
    case "QUOTA":
      return "try again later, or raise --max-sessions of the server";
  }
  switch (code) {
    case "EADDRINUSE":
      return "choose another with --port, or --port 0 for any free one";
    case "EACCES":
      return message.includes("listen") ? "ports below 1024 need rights: choose another with --port" : undefined;
    case "EADDRNOTAVAIL":
      return "this machine has no such address: choose another with --host";
    default:
      return undefined;
  }
}
