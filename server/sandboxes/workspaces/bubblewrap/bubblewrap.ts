/**
 * Workspaces without a daemon: `bwrap` (bubblewrap) gives each its own namespaces, a read-only system, sized writable
 * folders in memory, no network and no capabilities. A sandbox outlives its server by one lease.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { access, mkdir, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { SandboxUnavailable } from "trailgym/env";
import { Agent } from "../agent.ts";
import {
  defaultLimits,
  type LiveWorkspace,
  type WorkspaceBackend,
  type WorkspaceLimits,
  type WorkspaceSpec,
} from "../backend.ts";
import { agentBinary } from "../build.ts";
import { makeCgroup, removeCgroup } from "./cgroup.ts";
import { seccompFilter } from "./seccomp.ts";

export interface BubblewrapOptions {
  /** Where the sandboxes' sockets are: short, a socket's path has room for 107 bytes. */
  folder: string;
  /** A root file system. Default: this machine's programs and libraries (`/usr`), and nothing else of it. */
  root?: string;
  /** How long a sandbox lives without a server. Default 60,000. */
  leaseMs?: number;
}

const startMs = 10_000;
const tmpBytes = 64 * 2 ** 20;
/** Descriptor on which bwrap reads the filter. */
const filterFd = 3;

export function bubblewrap({ folder, root, leaseMs = 60_000 }: BubblewrapOptions): WorkspaceBackend {
  const live = new Set<LiveWorkspace>();

  return {
    name: "bubblewrap",

    async create(spec = {}) {
      const limits = { ...defaultLimits, ...spec.limits };
      const id = `bw-${randomUUID().slice(0, 13)}`;
      const home = path.join(folder, id);
      await mkdir(path.join(home, "run"), { recursive: true, mode: 0o700 });
      try {
        return await adopt(id, await start(id, limits, spec));
      } catch (error) {
        await remove(id);
        throw error;
      }
    },

    attach: (id) => adopt(id, undefined),

    async sweep() {
      const names = await readdir(folder).catch(() => []);
      const dead = await Promise.all(
        names.map(async (name) => ((await isAlive(path.join(folder, name))) ? [] : [name])),
      );
      for (const name of dead.flat()) await remove(name);
      return dead.flat().length;
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([...live].map((workspace) => workspace[Symbol.asyncDispose]()));
    },
  };

  async function start(id: string, limits: WorkspaceLimits, spec: WorkspaceSpec): Promise<ChildProcess> {
    const home = path.join(folder, id);
    const doors = await makeCgroup(id, limits);
    const [binary, filter] = [await agentBinary(), path.join(home, "filter")];
    await writeFile(filter, seccompFilter());
    await using handle = await open(filter);
    await using log = await open(path.join(home, "log"), "w");
    // In its group before it is bwrap: nothing that it starts is ever outside.
    const join = doors.map((door) => `echo $$ > '${door}' && `).join("");
    const words = ["bwrap", ...sandbox(home, binary, limits, spec)];
    const child = spawn("/bin/sh", ["-c", `${join}exec "$@"`, "sh", ...words], {
      // Its own session: a terminal's Ctrl-C is for the server, which may want its sandboxes again.
      detached: true,
      stdio: ["ignore", "ignore", log.fd, handle.fd],
    });
    child.unref();
    await listening(home, child);
    return child;
  }

  function sandbox(home: string, binary: string, limits: WorkspaceLimits, { mounts = {} }: WorkspaceSpec): string[] {
    const system =
      root === undefined
        ? [
            ["--ro-bind", "/usr", "/usr"],
            ...["bin", "lib", "lib64", "sbin"].map((name) => ["--symlink", `usr/${name}`, `/${name}`]),
            ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"],
            ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"],
          ]
        : [["--ro-bind", root, "/"]];
    return [
      ...["--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--as-pid-1", "--clearenv"],
      ...["--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"],
      ...system.flat(),
      ...["--proc", "/proc", "--dev", "/dev", "--size", String(tmpBytes), "--tmpfs", "/dev/shm"],
      ...["--size", String(tmpBytes), "--tmpfs", "/tmp", "--size", String(limits.diskBytes), "--tmpfs", "/workspace"],
      ...Object.entries(mounts).flatMap(([place, source]) => ["--ro-bind", source, place]),
      ...["--bind", path.join(home, "run"), "/run/agent", "--ro-bind", binary, "/run/trailgym-agent"],
      // What bwrap builds the tree on is writable until here.
      ...["--remount-ro", "/", "--remount-ro", "/dev", "--chdir", "/workspace", "--seccomp", String(filterFd)],
      ...["/run/trailgym-agent", "/run/agent/s", "/workspace", String(leaseMs)],
    ];
  }

  async function adopt(id: string, child: ChildProcess | undefined): Promise<LiveWorkspace> {
    const ended = child === undefined ? new Promise<string>(() => undefined) : endOf(child);
    const agent = await Agent.attach({ id, socket: path.join(folder, id, "socket"), leaseMs, gone: ended });
    const workspace = Object.assign(agent, {
      release: () => {
        live.delete(workspace);
        agent[Symbol.dispose]();
      },
      async [Symbol.asyncDispose]() {
        live.delete(workspace);
        await agent.end();
        child?.ref();
        if (child !== undefined) await ended;
        await remove(id);
      },
    });
    live.add(workspace);
    return workspace;
  }

  async function remove(id: string): Promise<void> {
    await removeCgroup(id);
    await rm(path.join(folder, id), { recursive: true, force: true });
  }
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    const tell = () => resolve(`its process ended with ${child.signalCode ?? child.exitCode}`);
    if (child.exitCode !== null || child.signalCode !== null) tell();
    else child.once("exit", tell);
  });
}

/**
 * Waits until the agent listens, and takes its socket out of the sandbox's sight: it is moved, and the folder in which it
 * was made is removed, so that in the sandbox there is no path to it and no way to put another in its place.
 */
async function listening(home: string, child: ChildProcess): Promise<void> {
  const made = path.join(home, "run", "s");
  let failure: string | undefined;
  child.once("error", (error) => (failure = error.message));
  child.once("exit", (code) => (failure = `bwrap ended with ${code}`));
  for (const until = performance.now() + startMs; ; await new Promise((resolve) => setTimeout(resolve, 2))) {
    if (await exists(made)) break;
    if (failure === undefined && performance.now() < until) continue;
    child.kill("SIGKILL");
    const log = (await readFile(path.join(home, "log"), "utf8").catch(() => "")).trim();
    throw new SandboxUnavailable("workspace", explain(log === "" ? (failure ?? "it did not start in time") : log));
  }
  await rename(made, path.join(home, "socket"));
  await rmdir(path.join(home, "run"));
}

function explain(log: string): string {
  if (/not found/.test(log)) return `bubblewrap is not installed (apt-get install bubblewrap): ${log}`;
  if (/namespace|permission|not permitted/i.test(log))
    return `bubblewrap may not make namespaces here (sysctl kernel.unprivileged_userns_clone=1, or use Docker): ${log}`;
  return `bubblewrap did not start: ${log}`;
}

async function isAlive(home: string): Promise<boolean> {
  try {
    await stat(home);
    const { connect } = await import("node:net");
    const socket = connect(path.join(home, "socket"));
    await once(socket, "connect");
    socket.destroy();
    return true;
  } catch {
    return false;
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
