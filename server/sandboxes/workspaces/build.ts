/** Where is the in-sandbox agent's binary? Built once from its sources for this machine, then kept under their digest. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SandboxUnavailable } from "trailgym/env";

const sources = fileURLToPath(new URL("./agent/", import.meta.url));

/** `$XDG_CACHE_HOME/trailgym`, or the same under the home folder. */
export function cacheFolder(): string {
  return path.join(process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "trailgym");
}

let built: Promise<string> | undefined;

/** @returns the path of a static executable. @throws SandboxUnavailable that says what to install. */
export function agentBinary(): Promise<string> {
  return (built ??= build().catch((error: unknown) => {
    built = undefined;
    throw error;
  }));
}

async function build(): Promise<string> {
  const names = (await readdir(sources)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(path.join(sources, name))));
  const digest = createHash("sha256");
  names.forEach((name, i) => digest.update(`${name}\0`).update(texts[i] as Buffer));
  const folder = path.join(cacheFolder(), "agent");
  const binary = path.join(folder, `agent-${process.arch}-${digest.digest("hex").slice(0, 16)}`);
  if (await exists(binary)) return binary;
  await mkdir(folder, { recursive: true });
  const made = `${binary}.${process.pid}`;
  const units = names.filter((name) => name.endsWith(".c")).map((name) => path.join(sources, name));
  try {
    await promisify(execFile)("cc", ["-std=c11", "-O2", "-Wall", "-static", "-s", "-o", made, ...units]);
    // Whoever builds at the same time makes the same.
    await rename(made, binary);
    return binary;
  } catch (error) {
    await rm(made, { force: true });
    throw new SandboxUnavailable(
      "workspace",
      `the in-sandbox agent needs a C compiler with a static C library (apt-get install gcc libc6-dev): ${reason(error)}`,
    );
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function reason(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr === undefined || stderr === "" ? message : stderr).slice(0, 1000);
}
