/** Do the README's examples work as they stand? They are cut out of it and run. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Requirement } from "./e2e/requirement.ts";
import { requirements } from "./e2e/requirements.ts";
import { pythonClient, virtualEnvironment } from "./resources/python.ts";

const root = path.resolve(import.meta.dirname, "..");
const main = path.join(root, "clients/cli/main.ts");
let folder: string;

/** Blocks whose first line is a comment with a file's name, as they stand. */
async function examples(): Promise<Map<string, string>> {
  const text = await readFile(path.join(root, "README.md"), "utf8");
  const blocks = text.matchAll(/```(?:ts|js|jsonl?|py)\n(?:\/\/|#) (\S+)\n([\s\S]*?)```/g);
  return new Map([...blocks].map(([, name, body]) => [name as string, body as string]));
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "trailgym-readme-"));
  await mkdir(path.join(folder, "crates/programs"), { recursive: true });
  for (const [name, body] of await examples()) {
    const inDataset = name.startsWith("programs/") || name === "dataset.json" || name === "tasks.jsonl";
    await writeFile(path.join(folder, inDataset ? "crates" : ".", name), body);
  }
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function run(file: string, args: string[], env: Record<string, string> = {}) {
  return runWith(process.execPath, [file, ...args], env);
}

async function runWith(command: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env } });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

test("every example was found", async () => {
  const names = [...(await examples()).keys()].toSorted();
  expect(names).toEqual([
    // Run by agents.test.ts.
    "agent.py",
    "connect.py",
    "connect.ts",
    "dataset.json",
    "guess.env.ts",
    "locker.env.ts",
    "programs/heaviest_crate.js",
    "tasks.jsonl",
  ]);
});

test("every promise of the comparison is one of the manifest's, and is held by the file beside it", async () => {
  const text = await readFile(path.join(root, "README.md"), "utf8");
  const rows = [...text.matchAll(/^\|.*\| (.+?) +\| \[([a-z-]+\/[a-z-]+)\]\((\S+)\) +\|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  const all: Record<string, Requirement> = requirements;
  for (const [, promise, id = "", file = ""] of rows) {
    expect(all[id]?.promise).toBe(promise);
    const named = all[id]?.tests?.some(([each]) => `test/${each}` === file) ?? false;
    expect(named || (await readFile(path.join(root, file), "utf8")).includes(`"${id}"`), id).toBe(true);
  }
});

test.each(["guess", "locker"])("%s.env.ts keeps its contract, from a folder outside of any project", async (name) => {
  const { code, output } = await run(main, ["check-env", `${name}.env.ts`]);
  expect(output).toMatch(new RegExp(`${name}-v1 .*: ok`));
  expect(code).toBe(0);
});

test("the CodeGym program keeps its contract and its recorded number of calls", async () => {
  const { code, output } = await run(main, ["check-env", "--tasks", "crates"]);
  expect(output).toMatch(/code-gym-v1 with crates: ok/);
  expect(code).toBe(0);
}, 60_000);

interface Served extends AsyncDisposable {
  url: string;
}

async function serve(): Promise<Served> {
  const server = spawn(process.execPath, [main, "serve", "--port", "0", "--memory", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  return {
    url: (JSON.parse(line.toString()) as { url: string }).url,
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      await once(server, "exit");
    },
  };
}

test("the TypeScript client's example runs against a server", async () => {
  await using server = await serve();
  // Beside the sources, so that it finds the package by name as a dependent project would.
  const file = path.join(root, "test", `.readme-connect-${process.pid}.ts`);
  await writeFile(file, await readFile(path.join(folder, "connect.ts"), "utf8"));
  try {
    const { code, output } = await run(file, [], { TRAILGYM_URL: server.url });
    expect(output).toMatch(/Observe/);
    expect(output.trim().split("\n").at(-1)).toBe("64");
    expect(code).toBe(0);
  } finally {
    await rm(file);
  }
}, 60_000);

const venv = virtualEnvironment();

test.skipIf(venv === undefined)(
  "the Python client's example runs against a server",
  async () => {
    await using server = await serve();
    const env = { TRAILGYM_URL: server.url, PYTHONPATH: pythonClient, PYTHONDONTWRITEBYTECODE: "1" };
    const { code, output } = await runWith(path.join(venv as string, "bin/python"), ["connect.py"], env);
    expect(output).toBe("{'remaining': 2} 0.0 False\n");
    expect(code).toBe(0);
  },
  60_000,
);

test("each command that it names exists", async () => {
  const text = await readFile(path.join(root, "README.md"), "utf8");
  const named = [...text.matchAll(/^\| `([a-z-]+)[ `,]/gm)].map(([, name]) => name as string);
  const { output } = await run(main, ["--help"]);
  const commands = named.filter((name) => !name.endsWith("-v1"));
  expect(commands.length).toBeGreaterThan(5);
  for (const name of commands) expect(output).toContain(`\n  ${name}`);
});
