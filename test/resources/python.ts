/** The virtual environment of the Python client's tests. */

import { spawnSync } from "node:child_process";
import path from "node:path";

export const pythonClient = path.resolve(import.meta.dirname, "../../clients/python");

/** Undefined where `clients/python/venv.sh` has not made it, as `clients/python/test.sh` does. */
export function virtualEnvironment(): string | undefined {
  const { status, stdout } = spawnSync("bash", [path.join(pythonClient, "venv.sh"), "--find"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}
