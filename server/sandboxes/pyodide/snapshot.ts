/** Where is CPython's memory kept from one process to the next? In the person's cache folder; without it a start takes seconds. */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { beside } from "../paths.ts";

const SUFFIX = ".python-snapshot";
const DIGEST_BYTES = 32;
/** Of other versions, which nobody may come back to. */
const MAX_AGE_MS = 30 * 86_400_000;

/** Its name says what it was made of. */
export function snapshotFile(): string {
  const { version } = createRequire(import.meta.url)("pyodide/package.json") as { version: string };
  const made = createHash("sha256").update(version);
  for (const file of ["./host.ts", "./gates.ts"] as const) made.update(readFileSync(beside(import.meta.url, file)));
  made.update(readFileSync(new URL("./bridge.py", import.meta.url)));
  return join(cacheFolder(), made.digest("hex").slice(0, 32) + SUFFIX);
}

/** @returns undefined where there is none, or not the one that was written. */
export function readSnapshot(file: string): Uint8Array | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    return undefined;
  }
  const snapshot = bytes.subarray(DIGEST_BYTES);
  return digestOf(snapshot).equals(bytes.subarray(0, DIGEST_BYTES)) ? snapshot : undefined;
}

/** Whole or not at all, also when several do it at once. @throws Error where the folder cannot be written */
export function writeSnapshot(file: string, snapshot: Uint8Array): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const part = `${file}.${process.pid}`;
  try {
    writeFileSync(part, Buffer.concat([digestOf(snapshot), snapshot]), { mode: 0o600 });
    renameSync(part, file);
  } finally {
    rmSync(part, { force: true });
  }
  for (const name of readdirSync(folder)) {
    const isOther = name.includes(SUFFIX) && name !== basename(file);
    if (isOther && Date.now() - statSync(join(folder, name)).mtimeMs > MAX_AGE_MS) rmSync(join(folder, name));
  }
}

function digestOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function cacheFolder(): string {
  const { XDG_CACHE_HOME: base } = process.env;
  // The XDG specification: a relative path is to be ignored.
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), ".cache"), "trailgym");
}
