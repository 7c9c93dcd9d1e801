/** What makes workspaces: Docker, bubblewrap, or (unsafe, when asked for) plain processes. */

import type { Workspace } from "trailgym/env";

export interface WorkspaceLimits {
  /** Bytes of the workspace's files. */
  diskBytes: number;
  memoryBytes: number;
  /** Processes and threads at once. */
  processes: number;
  /** Processors; 1.5 is one and a half. */
  cpus: number;
}

export const defaultLimits: WorkspaceLimits = {
  diskBytes: 512 * 2 ** 20,
  memoryBytes: 1024 * 2 ** 20,
  processes: 256,
  cpus: 1,
};

export interface WorkspaceSpec {
  limits?: Partial<WorkspaceLimits>;
  /** Files and folders of the host that the sandbox sees, read-only: place in the sandbox → place on the host. */
  mounts?: Readonly<Record<string, string>>;
  /** No file of the workspace can be executed. */
  noexec?: boolean;
}

/** A workspace and the power to end it. */
export interface LiveWorkspace extends Workspace, AsyncDisposable {
  /** See `Agent.begin`. */
  begin(turn: number): void;
  /** Lets go of it without ending it: whoever attaches within its lease has it. */
  release(): void;
}

export interface WorkspaceBackend extends AsyncDisposable {
  readonly name: string;
  /** @throws SandboxUnavailable that says what to install */
  create(spec?: WorkspaceSpec): Promise<LiveWorkspace>;
  /** One that an earlier server made. @throws SandboxLost */
  attach(id: string): Promise<LiveWorkspace>;
  /** Ends what dead servers left and nobody has attached to. @returns how many */
  sweep(): Promise<number>;
}
