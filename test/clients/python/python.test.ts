/** The Python client keeps the contract and says the recorded sessions: its own tests, where its virtual environment is there. */

import { spawn } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";
import { pythonClient, virtualEnvironment } from "../../resources/python.ts";

const venv = virtualEnvironment();
const files = ["test_contract.py", "test_recordings.py", "test_rejections.py"];

test.skipIf(venv === undefined)(
  "the Python client keeps the client contract, the recorded sessions and the rejections",
  async () => {
    const tests = files.map((file) => path.join(import.meta.dirname, file));
    const child = spawn(path.join(venv as string, "bin/pytest"), ["-c", "pyproject.toml", ...tests], {
      cwd: pythonClient,
      env: { ...process.env, PYTHONPYCACHEPREFIX: path.join(venv as string, "pycache") },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect(code, output).toBe(0);
    expect(output).toMatch(/\d+ passed/);
  },
  300_000,
);
