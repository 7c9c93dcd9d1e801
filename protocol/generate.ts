/** Writes the documents that are derived from the tables; `--check` fails when a checked-in one is stale. */

import { readFileSync, writeFileSync } from "node:fs";
import { readme } from "./readme.ts";
import { openrpc } from "./openrpc.ts";
import { python } from "./python.ts";

const documents = {
  "openrpc.json": `${JSON.stringify(openrpc(), null, 2)}\n`,
  "README.md": readme(),
  "../clients/python/trailgym/wire.py": python(),
};

const check = process.argv.includes("--check");
const stale = Object.entries(documents).filter(([name, text]) => read(name) !== text);
for (const [name, text] of stale) {
  if (check) process.stderr.write(`protocol/${name} is stale: run npm run generate\n`);
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
