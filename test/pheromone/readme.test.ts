/** Does the README's example print what it says? It is cut out and run. */

import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const text = await readFile(new URL("../../pheromone/README.md", import.meta.url), "utf8");

test("the example's numbers are what it prints", async () => {
  const [, code = "", printed] = /```ts\n\/\/ trail\.ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(text) ?? [];
  // Beside the sources, so that it finds the package by name as a dependent project would.
  const file = path.join(import.meta.dirname, `.readme-trail-${process.pid}.ts`);
  await writeFile(file, code);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    expect(stdout.trim().split("\n")).toHaveLength(10);
    expect(printed).toBe(stdout);
  } finally {
    await rm(file);
  }
});
