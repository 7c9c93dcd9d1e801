/** What does a command get from the process it runs in? Its streams and its end; the environment variables stay in `main.ts`. */

export interface Io {
  readonly stdin: NodeJS.ReadStream;
  /** What was asked for, and nothing else. */
  readonly stdout: NodeJS.WriteStream;
  /** Progress, hints, errors. */
  readonly stderr: NodeJS.WriteStream;
  /**
   * Aborted by the first SIGINT or SIGTERM; its reason is an {@link Interrupted}. Until it is first asked for, these signals
   * end the process as usual, even one that is caught in a loop.
   */
  readonly signal: AbortSignal;
  /** Said by a command that ran to its end and has bad news, such as findings. */
  exitCode: 0 | 1;
}

export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly signal: "SIGINT" | "SIGTERM";
  constructor(signal: "SIGINT" | "SIGTERM") {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

export function print(io: Io, text: string): void {
  io.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** For a person: never mixed into what a program reads. */
export function note(io: Io, text: string): void {
  io.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** @param indent 0: one line, for streams of objects. */
export function printJson(io: Io, value: unknown, indent = 2): void {
  print(io, JSON.stringify(value, undefined, indent));
}

/** The number of columns that a table may take. */
export function width(io: Io): number {
  return io.stdout.isTTY ? Math.max(60, io.stdout.columns) : 120;
}
