/** Writes the documents that are derived from the sources; `--check` fails when a checked-in one is stale. */

import { readFileSync, writeFileSync } from "node:fs";
import { operations } from "./clients/cli/operations.ts";
import { openrpc } from "./protocol/openrpc.ts";
import { python } from "./protocol/python.ts";
import { readme } from "./protocol/readme.ts";

const documents = {
  "protocol/openrpc.json": `${JSON.stringify(openrpc(), null, 2)}\n`,
  "protocol/README.md": readme(),
  "clients/python/trailgym/wire.py": python(),
  "OPERATIONS.md": await operations(),
};

const check = process.argv.includes("--check");
const stale = Object.entries(documents).filter(([name, text]) => read(name) !== text);
for (const [name, text] of stale) {
  if (check) process.stderr.write(`${name} is stale: run npm run generate\n`);
  else writeFileSync(new URL(name, import.meta.url), text);
}
process.exitCode = check && stale.length > 0 ? 1 : 0;

function read(name: string): string | undefined {
  try {
    return readFileSync(new URL(name, import.meta.url), "utf8");
  } catch {
    return undefined;
  }
}
