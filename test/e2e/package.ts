/**
 * Does the published package work in a project of its own, in plain JavaScript? Builds, packs, installs from the registry and
 * plays. Takes minutes and a network, so it is no part of `npm test`: `npm run test:package`.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

const root = path.resolve(import.meta.dirname, "../..");
let project: string;

/** This Node before the machine's own, which may be too old for what is installed. */
const env = { ...process.env, PATH: [path.dirname(process.execPath), process.env.PATH].join(path.delimiter) };

function start(command: string, args: readonly string[], cwd = project): ChildProcess {
  return spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
}

async function run(command: string, args: readonly string[], cwd = project): Promise<{ code: number; stdout: string }> {
  const child = start(command, args, cwd);
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`);
  return { code, stdout };
}

const installed = (...parts: string[]) => path.join(project, "node_modules", "trailgym", ...parts);
const trailgym = (...args: string[]) => run(path.join(project, "node_modules", ".bin", "trailgym"), args);
const write = (name: string, text: string) => writeFile(path.join(project, name), text);

before(async () => {
  project = await mkdtemp(path.join(tmpdir(), "trailgym-package-"));
  await run(process.execPath, ["build.ts"], root);
  const packed = await run("npm", ["pack", "./dist", "--json", "--pack-destination", project], root);
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
  await write("package.json", JSON.stringify({ name: "fresh", private: true, type: "module" }));
  await run("npm", ["install", `./${filename}`, "--no-audit", "--no-fund"]);
});
after(() => rm(project, { recursive: true, force: true }));

void test("it holds JavaScript, declarations and data, and nothing that Node would have to strip", async () => {
  const files = (await readdir(installed(), { recursive: true })).filter((name) => !name.includes("node_modules"));
  assert.ok(files.length > 200);
  assert.deepEqual(
    files.filter((name) => /\.ts$/.test(name) && !/\.d\.ts$/.test(name)),
    [],
  );
  assert.deepEqual(
    files.filter((name) => /^(test|fixtures\/(sessions|rejections|numbers))\b/.test(name)),
    [],
  );
  for (const name of files.filter((name) => name.endsWith(".js"))) {
    const source = await readFile(installed(name), "utf8");
    assert.doesNotMatch(source, /(from |import\()"\.[^"]*\.ts"/, name);
  }
});

void test("`trailgym serve` prints where it serves, a client in JavaScript plays there, and nothing is left of it", async () => {
  await write(
    "client.js",
    `import { connect, WireError } from "trailgym/client";
    await using client = await connect(process.argv[2]);
    const played = {};
    for (const task of ["grid-walk-js/0", "safe-code-py/0"]) {
      await using session = await client.make("code-gym-v1");
      const { tools } = await session.reset({ task, seed: 1 });
      const step = await session.step({ tool: "Observe", arguments: {} });
      played[task] = [tools.length > 4, step.observation.isError, step.reward];
    }
    await using vector = await client.vector("countdown-v1", 8);
    await vector.reset({ seed: 1 });
    const { rewards } = await vector.step(Array(8).fill({ amount: 3 }));
    const refused = await vector.sessions[0].step({ amount: 9 }).catch((error) => error instanceof WireError && error.name);
    console.log(JSON.stringify({ played, rewards: [...rewards], refused, version: client.welcome.server.version }));`,
  );
  const server = start(path.join(project, "node_modules", ".bin", "trailgym"), ["serve", "--port", "0", "--json"]);
  try {
    const [line] = (await once(server.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const { url, instance } = JSON.parse(line.toString()) as { url: string; instance: string };
    const { stdout } = await run(process.execPath, ["client.js", url]);
    const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
    assert.deepEqual(JSON.parse(stdout), {
      played: { "grid-walk-js/0": [true, false, 0], "safe-code-py/0": [true, false, 0] },
      rewards: Array(8).fill(0),
      refused: "INVALID_ACTION",
      version,
    });
    server.kill("SIGTERM");
    const [code] = (await once(server, "close")) as [number];
    assert.equal(code, 0);
    const left = process.platform === "linux" ? (await run("ps", ["-eo", "args"])).stdout : "";
    assert.ok(!left.includes(instance));
  } finally {
    server.kill("SIGKILL");
  }
});

void test("`trailgym demo` plays everything, and all of it is as it should be", async () => {
  const rows = JSON.parse((await trailgym("demo", "--json")).stdout) as { env: string; ok: boolean }[];
  assert.ok(rows.length > 25);
  assert.deepEqual(
    rows.filter(({ ok }) => !ok),
    [],
  );
});

void test("an environment of the project is checked and served, in JavaScript and in TypeScript", async () => {
  const source = `import { defineEnv } from "trailgym/env";
    import { z } from "zod";
    export default defineEnv({
      id: "ID", summary: "One step.", maxEpisodeSteps: 5,
      state: z.object({ n: z.int() }), action: z.object({ by: z.int().min(1).max(2) }), observation: z.object({ n: z.int() }),
      options: z.object({}),
      reset: () => ({ state: { n: 0 }, observation: { n: 0 } }),
      step: (_ctx, state, { by }) => ({ state: { n: state.n + by }, observation: { n: by }, reward: 1, terminated: true }),
      reference: () => [{ by: 2 }],
    });`;
  await write("one.env.js", source.replace("ID", "one-v1"));
  await write("two.env.ts", source.replace("ID", "two-v1").replace("[{ by: 2 }]", "[{ by: 2 as number }]"));
  const { stdout } = await trailgym("check-env", "one.env.js", "two.env.ts", "code-gym-v1");
  assert.match(stdout, /one-v1 .*: ok[^]*two-v1 .*: ok[^]*code-gym-v1: ok/);
  const evaluated = await trailgym("eval", "--envs", "one.env.js", "--env", "one-v1", "--agent", "reference", "--json");
  assert.equal((JSON.parse(evaluated.stdout) as { solved: { rate: number } }).solved.rate, 1);
});

void test("the benchmark and the import find what they need", async () => {
  const { stdout } = await trailgym("bench", "--only", "steps", "--out", "bench.json");
  assert.match(stdout, /JavaScript program .* ms[^]*Python program .* ms/);
  await mkdir(path.join(project, "sources"));
  await write("train.jsonl", "{}\n");
  const failed = await trailgym("import", "codegym", "train.jsonl", "--out", "none").catch((error: Error) => error);
  assert.match((failed as Error).message, /train\.jsonl:1: [^]*no task was imported/);
});

void test("its declarations are right for a strict project", async () => {
  await write(
    "typed.ts",
    `import { connect, type StepResult } from "trailgym/client";
    import { defineEnv } from "trailgym/env";
    import { methods, type ParamsOf } from "trailgym/protocol";
    import { createServer } from "trailgym/server";
    const client = await connect("ws://127.0.0.1:1");
    const step: StepResult<{ n: number }> = await (await client.make<{ n: number }, { by: number }>("x-v1")).step({ by: 1 });
    const n: number = step.observation.n + step.reward;
    const params: ParamsOf<"env/step"> = { session: "s", action: n };
    // @ts-expect-error -- an action has a number
    await (await client.make<{ n: number }, { by: number }>("x-v1")).step({ by: "1" });
    export { createServer, defineEnv, methods, params };`,
  );
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,esnext,dom"];
  const types = ["--typeRoots", path.join(root, "node_modules/@types"), "--types", "node"];
  await run(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), ...options, ...types, "typed.ts"]);
});
