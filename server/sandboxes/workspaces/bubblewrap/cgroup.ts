/**
 * What limits the memory, processes and processors of a sandbox that no container engine looks after? A cgroup of its own,
 * where this user may make one: version 1 (a hierarchy for each controller) or version 2.
 */

import { access, constants, mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { WorkspaceLimits } from "../backend.ts";

const root = "/sys/fs/cgroup";

/**
 * Makes a group of this name.
 * @returns the files into which a process writes its id to be in it; none where cgroups are not there, or not this user's to
 * use
 */
export async function makeCgroup(name: string, limits: WorkspaceLimits): Promise<string[]> {
  const group = path.join("trailgym", name);
  const files = (await isV2()) ? v2(group, limits) : v1(group, limits);
  const folders = [...new Set(Object.keys(files).map((file) => path.dirname(file)))];
  try {
    for (const folder of folders) await mkdir(folder, { recursive: true });
    for (const [file, value] of Object.entries(files)) await writeOne(file, value);
    const doors = folders.map((folder) => path.join(folder, "cgroup.procs"));
    for (const door of doors) await access(door, constants.W_OK);
    return doors;
  } catch {
    await removeAll(folders);
    return [];
  }
}

/** Removes the group of this name, whoever made it; when there is none, nothing. */
export async function removeCgroup(name: string): Promise<void> {
  await removeAll([".", "memory", "pids", "cpu"].map((hierarchy) => path.join(root, hierarchy, "trailgym", name)));
}

async function isV2(): Promise<boolean> {
  const controllers = await readFile(path.join(root, "cgroup.controllers"), "utf8").catch(() => "");
  return /\bmemory\b/.test(controllers);
}

function v1(group: string, { memoryBytes, processes, cpus }: WorkspaceLimits): Record<string, string> {
  const of = (controller: string, file: string) => path.join(root, controller, group, file);
  return {
    [of("memory", "memory.limit_in_bytes")]: String(memoryBytes),
    // Absent where the kernel does not count swap.
    [of("memory", "memory.memsw.limit_in_bytes?")]: String(memoryBytes),
    [of("pids", "pids.max")]: String(processes),
    [of("cpu", "cpu.cfs_quota_us")]: String(Math.round(cpus * 100_000)),
  };
}

function v2(group: string, { memoryBytes, processes, cpus }: WorkspaceLimits): Record<string, string> {
  const of = (file: string) => path.join(root, group, file);
  return {
    [of("memory.max")]: String(memoryBytes),
    [of("memory.swap.max?")]: "0",
    [of("pids.max")]: String(processes),
    [of("cpu.max")]: `${Math.round(cpus * 100_000)} 100000`,
  };
}

/** A name that ends with `?` is of a file that need not be there. */
async function writeOne(file: string, value: string): Promise<void> {
  if (file.endsWith("?")) await writeFile(file.slice(0, -1), value).catch(() => undefined);
  else await writeFile(file, value);
}

/** A group can be removed once its last process has been waited for. */
async function removeAll(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    for (let attempt = 0; attempt < 50; attempt++) {
      const error = await rmdir(folder).then(
        () => undefined,
        (e: NodeJS.ErrnoException) => e.code,
      );
      if (error !== "EBUSY") break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
