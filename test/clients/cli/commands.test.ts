import { writeFile } from "node:fs/promises";
import { defaults } from "trailgym/server";
import { describe, expect, test } from "vitest";
import { serverUrl } from "../../../clients/cli/compose/endpoint.ts";
import type { Io } from "../../../clients/cli/terminal/io.ts";
import { createProgram } from "../../../clients/cli/program.ts";
import { tempFolder, trailgym } from "./command.ts";

/** What the help says, without a process. */
async function help(args: readonly string[]): Promise<string> {
  let text = "";
  const stream = { isTTY: false, write: (chunk: string) => ((text += chunk), true) };
  const io = { stdout: stream, stderr: stream, exitCode: 0 } as unknown as Io;
  await createProgram(io, "1.2.3", defaults)
    .parseAsync([...args, "--help"], { from: "user" })
    .catch(() => undefined);
  return text;
}

describe("help", () => {
  test.each([
    [["demo"], []],
    [
      ["serve"],
      ["--port", "--host", "--token", "--insecure", "--max-sessions", "--log-level", "--envs", "--tasks", "--json"],
    ],
    [["list"], ["--server", "--json"]],
    [["tasks"], ["--split", "--server", "--json"]],
    [["play"], ["--task", "--seed", "--actions", "--server", "--json"]],
    [
      ["eval"],
      [
        "--env",
        "--agent",
        "--split",
        "--tasks-file",
        "--limit",
        "--concurrency",
        "--episodes",
        "--out",
        "--timeout-ms",
        "--max-steps",
        "--force",
        "--json",
      ],
    ],
    [["check-env"], ["--tasks", "--json"]],
    [
      ["import", "codegym"],
      ["--out", "--sources", "--limit", "--strict", "--json"],
    ],
  ])("of %j names its options and shows an example", async (command, options) => {
    const text = await help(command);
    expect(text).toContain(`Usage: trailgym ${command.join(" ")}`);
    for (const option of options) expect(text).toContain(option);
    expect(text).toMatch(new RegExp(`\\n {2}\\$ .*trailgym ${command.join(" ")}`));
  });

  test("names every command, and the variables of the environment", async () => {
    const text = await help([]);
    for (const name of ["demo", "serve", "list", "tasks", "play", "eval", "check-env", "import", "bench"]) {
      expect(text).toMatch(new RegExp(`^ {2}${name} `, "m"));
    }
    expect(await help(["serve"])).toMatch(/TRAILGYM_HOST[^]*TRAILGYM_PORT[^]*TRAILGYM_TOKEN/);
  });
});

describe("the help of serve", () => {
  test("says what the server does unasked", async () => {
    const text = (await help(["serve"])).replace(/\s+/g, " ");
    for (const knob of [
      "host",
      "port",
      "maxSessions",
      "maxMessageBytes",
      "stepTimeoutMs",
      "leaseMs",
      "graceMs",
    ] as const) {
      const flag = knob.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      expect(text).toMatch(new RegExp(`--${flag} [^()]*\\(default ${defaults[knob]}\\)`));
    }
    const { stdout } = await trailgym(["serve", "--help"]);
    expect(stdout).toContain(`(default ${defaults.maxSessions})`);
  });
});

describe("exit codes", () => {
  test.each([
    [["--help"], 0, "stdout", /Usage: trailgym/],
    [["--version"], 0, "stdout", /^\d+\.\d+\.\d+\n$/],
    [[], 2, "stderr", /Usage: trailgym/],
    [["serv"], 2, "stderr", /Did you mean serve\?/],
    [["serve", "--port", "many"], 2, "stderr", /whole number/],
    [["eval", "--env", "countdown-v1"], 2, "stderr", /--agent/],
    [["eval", "--env", "countdwn-v1", "--agent", "random"], 1, "stderr", /did you mean "countdown-v1"\?/],
    [["eval", "--env", "countdown-v1", "--agent", "random", "--limit", "3"], 2, "stderr", /no tasks.*--episodes/],
    [
      ["eval", "--env", "countdown-v1", "--agent", "reference", "--server", "ws://127.0.0.1:1"],
      2,
      "stderr",
      /never cross the wire/,
    ],
    [["list", "--server", "ws://127.0.0.1:1"], 1, "stderr", /^trailgym: .*trailgym serve.*\n$/],
    [["list", "--server", "notaurl"], 2, "stderr", /not a server URL: notaurl; try ws:/],
    [["list", "--server", "127.0.0.1:1", "--envs", "x.env.ts"], 2, "stderr", /--envs cannot be given/],
    [["tasks", "x-v1", "--server", "127.0.0.1:1", "--tasks", "x"], 2, "stderr", /--tasks cannot be given/],
    [["play", "x-v1", "--server", "127.0.0.1:1", "--envs", "x", "--tasks", "x"], 2, "stderr", /--envs and --tasks/],
    [["list", "--tasks", "/nowhere"], 1, "stderr", /^trailgym: \/nowhere: no such folder\n$/],
    [["play", "countdown-v1", "--actions", "/nowhere"], 2, "stderr", /--actions \/nowhere/],
  ] as const)("%j ends with %i", async (args, code, stream, said) => {
    const ran = await trailgym(args);
    expect(ran[stream]).toMatch(said);
    expect(ran.code).toBe(code);
    if (code !== 0) expect(ran.stdout).toBe("");
    expect(ran.stderr).not.toMatch(/\n {4}at /);
  });

  test("--verbose shows where an error comes from", async () => {
    const ran = await trailgym(["--verbose", "list", "--tasks", "/nowhere"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(/\n {4}at .*datasets\.ts/);
  });
});

describe("the URL of a server", () => {
  test.each([
    ["ws://gym:7474", "ws://gym:7474/rpc"],
    ["ws://gym:7474/other", "ws://gym:7474/other"],
    ["http://gym:7474/", "ws://gym:7474/rpc"],
    ["https://gym", "wss://gym/rpc"],
    ["localhost:7474", "ws://localhost:7474/rpc"],
    ["[::1]:7474/x", "ws://[::1]:7474/x"],
  ])("%s is %s", (text, url) => expect(serverUrl(text)).toBe(url));

  test.each(["gym", "ftp://gym", "ws://", ""])("%j is none", (text) => {
    expect(() => serverUrl(text)).toThrow(/not a server URL/);
  });
});

describe("trailgym list and tasks", () => {
  test("print JSON that a program can read", async () => {
    const list = await trailgym(["list", "--json"]);
    const entries = JSON.parse(list.stdout) as { id: string; tasks: number; actionSchema: unknown }[];
    expect(entries.map(({ id }) => id)).toEqual(expect.arrayContaining(["code-gym-v1", "countdown-v1"]));
    expect(entries.find(({ id }) => id === "code-gym-v1")?.tasks).toBeGreaterThan(100);
    const tasks = await trailgym(["tasks", "code-gym-v1", "--limit", "2", "--json"]);
    const listed = JSON.parse(tasks.stdout) as { total: number; tasks: { id: string }[] };
    expect(listed.tasks).toHaveLength(2);
    expect(listed.total).toBe(entries.find(({ id }) => id === "code-gym-v1")?.tasks);
    expect(tasks.stdout).not.toContain("payload");
  });
});

describe("trailgym play", () => {
  test("takes actions as they are typed, and takes them back", async () => {
    const stdin = 'amount=2\n:undo\n{"amount":3}\n:snapshot here\namount=1\n:restore here\namount=9\namount=2\n:quit\n';
    const { code, stdout, stderr } = await trailgym(["play", "countdown-v1", "--seed", "1"], { stdin });
    expect(code).toBe(0);
    expect(stdout).toMatch(/\{"remaining":5\}[^]*\{"remaining":3\}[^]*back after 0 steps:\n\{"remaining":5\}/);
    expect(stdout).toMatch(/back after 1 steps:\n\{"remaining":2\}\n\{"remaining":0\}\nreward 1\n/);
    expect(stdout).toMatch(/terminated after 2 steps, with a return of 1/);
    expect(stderr).toMatch(/not an action of countdown-v1/);
  });

  test("plays the actions of a file, and fails when one does not fit", async () => {
    await using folder = await tempFolder();
    const file = folder.join("moves.jsonl");
    await writeFile(file, '{"amount": 3}\n\n{"amount": 2}\n');
    const args = ["play", "countdown-v1", "--actions", file, "--json"];
    const played = await trailgym(args);
    const lines = played.stdout.trimEnd().split("\n");
    const replies = lines.map((line) => JSON.parse(line) as { step?: { reward: number; terminated: boolean } });
    expect(replies.map(({ step }) => step?.reward)).toEqual([undefined, 0, 1]);
    expect(played.code).toBe(0);
    await writeFile(file, '{"amount": 7}\n');
    expect(await trailgym(args)).toMatchObject({ code: 1, stderr: expect.stringMatching(/not an action/) as string });
  });
});
