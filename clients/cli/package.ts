/** Which version is this, and where do its own environments and datasets lie? */

import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const manifest = findPackageJSON(import.meta.url) as string;

/** Compiled next to the command line, wherever that is. */
export const builtInEnvs = fileURLToPath(new URL("../../envs/", import.meta.url));
/** What a person types: nothing is installed by a checkout. */
export const commandName = import.meta.url.endsWith(".ts") ? "npm run -s trailgym --" : "trailgym";
/** Data lies at the package's root, compiled or not. */
export const builtInTasks = join(dirname(manifest), "fixtures");

export async function packageVersion(): Promise<string> {
  return (JSON.parse(await readFile(manifest, "utf8")) as { version: string }).version;
}
