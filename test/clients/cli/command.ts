/** The command line as a user runs it: a process of its own, which is gone when the test is. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { afterAll } from "vitest";

const root = path.resolve(import.meta.dirname, "../../..");
const main = path.join(root, "clients/cli/main.ts");

/** Not the data folder of who runs the tests. */
const dataHome = mkdtempSync(path.join(tmpdir(), "trailgym-data-"));
afterAll(() => rmSync(dataHome, { recursive: true, force: true }));

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  stdin?: string;
  cwd?: string;
  env?: Record<string, string>;
}

export interface Started extends AsyncDisposable {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly ended: Promise<Ran>;
  /** The first line of stdout. */
  readonly firstLine: Promise<string>;
}

export function start(args: readonly string[], { stdin, cwd = root, env = {} }: RunOptions = {}): Started {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TRAILGYM_")));
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...own, XDG_DATA_HOME: dataHome, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined);
  if (stdin !== undefined) child.stdin.end(stdin);
  let [stdout, stderr] = ["", ""];
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      const [line = "", ...more] = stdout.split("\n");
      if (more.length > 0) resolve(line);
    });
    child.on("close", () => reject(new Error(`it ended without a line: ${stderr}`)));
  });
  firstLine.catch(() => undefined);
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
  return {
    child,
    ended,
    firstLine,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export async function trailgym(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  await using started = start(args, { stdin: "", ...options });
  return await started.ended;
}

export interface Folder extends AsyncDisposable {
  readonly path: string;
  join(...parts: string[]): string;
}

export async function tempFolder(): Promise<Folder> {
  const folder = await mkdtemp(path.join(tmpdir(), "trailgym-cli-"));
  return {
    path: folder,
    join: (...parts) => path.join(folder, ...parts),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A command that runs this source as an agent. */
export function agent(source: string): string[] {
  return ["--agent", process.execPath, "--", "--input-type=module", "-e", source];
}

/** Answers every question with `action(message)`, an expression. */
export function answering(action: string): string {
  return `import { createInterface } from "node:readline";
    for await (const line of createInterface({ input: process.stdin })) {
      const message = JSON.parse(line);
      if (message.type !== "end") console.log(JSON.stringify({ action: ${action} }));
    }`;
}
