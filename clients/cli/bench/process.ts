/** Processes that a benchmark starts and watches from outside. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** A child that printed its first line, a JSON object; killed on dispose. */
export interface Child extends AsyncDisposable {
  process: ChildProcess;
  firstLine: Record<string, unknown>;
}

/** @param input "pipe" for a child that runs until its input ends, as it does when this process dies */
export async function startChild(
  command: string,
  args: readonly string[],
  input: "ignore" | "pipe" = "ignore",
): Promise<Child> {
  const child = spawn(command, args, { stdio: [input, "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout as Readable });
  const first = await Promise.race([once(lines, "line"), once(child, "exit").then(() => undefined)]);
  if (first === undefined) throw new Error(`${command} ${args.join(" ")} ended before it was ready`);
  return {
    process: child,
    firstLine: JSON.parse(first[0] as string) as Record<string, unknown>,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** The last line of what a command prints, as JSON. */
export async function runChild<T>(command: string, args: readonly string[], input = ""): Promise<T> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(input);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
  return JSON.parse(output.trim().split("\n").at(-1) as string) as T;
}

/** Seconds of processor time that a process has used; undefined where the system does not say (no /proc). */
export function cpuSeconds(pid: number): number | undefined {
  const stat = proc(pid, "stat");
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // Clock ticks are 1/100 s on every Linux that Node runs on.
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Resident bytes of a process. */
export function residentBytes(pid: number): number | undefined {
  const kib = /VmRSS:\s+(\d+) kB/.exec(proc(pid, "status") ?? "")?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** How many files and sockets a process may hold open. */
export function openFiles(pid: number): number | undefined {
  const limit = /Max open files\s+(\d+)/.exec(proc(pid, "limits") ?? "")?.[1];
  return limit === undefined ? undefined : Number(limit);
}

function proc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}
