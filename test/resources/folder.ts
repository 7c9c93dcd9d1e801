/** Folders that are gone when their test file is done. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Call it at the top of a test file. @returns a function that names a folder which is not there yet, another one each time */
export function folders(name: string): () => string {
  const root = mkdtempSync(join(tmpdir(), `trailgym-${name}-`));
  let count = 0;
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  return () => join(root, String(count++));
}
