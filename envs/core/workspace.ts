/** Files and processes in a sandbox, as a server lends them to environments. Environments see these interfaces and nothing beneath. */

export interface ExecRequest {
  /** Program and arguments; the program is looked up in the `PATH` of `env`. No shell unless it names one. */
  argv: readonly string[];
  /** Absolute, or relative to the workspace. Default: the workspace. */
  cwd?: string;
  /** The whole environment of the command; nothing of the server's is added. */
  env?: Readonly<Record<string, string>>;
  stdin?: Uint8Array;
  /** Wall time after which everything that the command started is killed. */
  timeoutMs?: number;
  /** Time without a byte of output after which it is killed. */
  quietMs?: number;
  /** Bytes kept of each stream: the first half of them and the last. Default 1 MiB. */
  outputBytes?: number;
  /** Standard error goes into `stdout`, in the order in which both were written. */
  merge?: boolean;
}

/** How a command ended. None of these throws: what a command does is data. */
export type ExecEnd =
  | { kind: "exit"; code: number }
  | { kind: "signal"; signal: number }
  /** `timeoutMs` passed; `quiet`: `quietMs` did; `killed`: the call's signal was aborted. */
  | { kind: "timeout" | "quiet" | "killed" };

export interface Output {
  bytes: Uint8Array;
  /** Bytes that were dropped from the middle, at `bytes.length / 2` where any were. */
  dropped: number;
}

export interface ExecResult {
  end: ExecEnd;
  stdout: Output;
  stderr: Output;
  /** Wall time. */
  ms: number;
}

export interface FileEntry {
  name: string;
  type: "file" | "folder" | "link" | "other";
  /** Permission bits. */
  mode: number;
  bytes: number;
}

/** The sandbox could not do what was asked of it, for a reason that lies in the request: no such file, no such program. */
export class WorkspaceError extends Error {
  override readonly name = "WorkspaceError";
}

/**
 * One sandbox: no network, a private file system, nothing of the host in sight. One call at a time. Whatever a command left
 * running when it ended is killed: the next command finds files, and no processes.
 *
 * Every call rejects with SandboxLost when the sandbox is gone and with WorkspaceError when what it names does not work.
 */
export interface Workspace {
  /** Outlives the server: what a restarted one finds it by. */
  readonly id: string;
  /** @param signal aborting kills the command; its end is then `killed` and what it printed is there. */
  exec(
    request: ExecRequest,
    signal?: AbortSignal,
    onOutput?: (stream: 1 | 2, bytes: Uint8Array) => void,
  ): Promise<ExecResult>;
  /** @param path absolute, or relative to the workspace. @param maxBytes default 16 MiB; a larger file is a WorkspaceError. */
  read(path: string, maxBytes?: number): Promise<{ bytes: Uint8Array; mode: number }>;
  /** Makes the folders above it. @param mode default 0o644 */
  write(path: string, bytes: Uint8Array, mode?: number): Promise<void>;
  list(path?: string): Promise<FileEntry[]>;
  /**
   * A tar archive of the workspace's files, folders and links. Equal workspaces with equal times give equal archives.
   * @param maxBytes default 256 MiB
   */
  archive(maxBytes?: number): Promise<{ tar: Uint8Array; leftOut: number }>;
  /** Replaces everything in the workspace. An entry that leads out of it is a WorkspaceError. */
  restore(tar: Uint8Array): Promise<void>;
}
