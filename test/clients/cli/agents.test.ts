import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { EnvEntry } from "trailgym/protocol";
import { describe, expect, test } from "vitest";
import { ProcessAgent } from "../../../clients/cli/eval/agents/process.ts";
import { answering, tempFolder, trailgym } from "./command.ts";

const env: EnvEntry = {
  id: "e-v1",
  summary: "",
  actionSchema: { type: "integer" },
  observationSchema: {},
  optionsSchema: {},
  maxEpisodeSteps: null,
  splits: [],
  families: [],
  needs: [],
};
const start = (key = "a#0") => ({ key, env, task: null, tools: [], observation: 5, envSeed: 11, agentSeed: 22 });

function agent(source: string, options: { timeoutMs?: number; showReward?: boolean } = {}): ProcessAgent {
  const command = [process.execPath, "--input-type=module", "-e", source];
  return new ProcessAgent({ command, timeoutMs: 10_000, showReward: false, ...options });
}

describe("an agent that is a process", () => {
  const noPython = spawnSync("python3", ["--version"]).status !== 0;
  test.skipIf(noPython)("may be the one of the README", async () => {
    await using folder = await tempFolder();
    const readme = await readFile(path.resolve(import.meta.dirname, "../../../README.md"), "utf8");
    const [, source = ""] = /```py\n# agent\.py\n([^]*?)```/.exec(readme) ?? [];
    await writeFile(folder.join("agent.py"), source);
    const args = ["eval", "--env", "code-gym-v1", "--limit", "2", "--max-steps", "20", "--json"];
    const { code, stdout } = await trailgym([...args, "--agent", "python3 agent.py"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ counted: 2, agentErrors: {}, steps: { mean: 20 } });
  });

  test("gets what the README says, and neither the environment's seed nor a reward", async () => {
    await using player = agent(answering("message"));
    expect(await player.reset(start())).toEqual({
      type: "reset",
      episode: "a#0",
      env: "e-v1",
      task: null,
      observation: 5,
      tools: [],
      actionSchema: { type: "integer" },
      seed: 22,
    });
    expect(await player.step({ observation: 4, index: 1, reward: 1 })).toEqual({
      type: "step",
      episode: "a#0",
      observation: 4,
      index: 1,
    });
    expect(await player.invalid({ message: "no", issues: [{ path: "" }] })).toMatchObject({
      type: "invalid",
      message: "no",
    });
  });

  test("sees rewards where that is asked for", async () => {
    await using player = agent(answering("message"), { showReward: true });
    await player.reset(start());
    expect(await player.step({ observation: 4, index: 1, reward: 0.5 })).toMatchObject({ reward: 0.5 });
  });

  test.each([
    ["console.error('my bug'); process.exit(3)", "AGENT_CRASHED", /exited with 3: my bug/],
    ["process.kill(process.pid, 'SIGKILL')", "AGENT_CRASHED", /SIGKILL/],
    ["console.log('loading the model…'); setInterval(() => {}, 1000)", "AGENT_PROTOCOL", /not JSON.*loading the model/],
    ["console.log('{}'); setInterval(() => {}, 1000)", "AGENT_PROTOCOL", /neither "action" nor "error"/],
    ['console.log(\'{"error": "too hard"}\')', "AGENT_GAVE_UP", /too hard/],
  ])("%s is %s", async (source, name, message) => {
    // It speaks when it is asked, as an agent does.
    await using player = agent(`process.stdin.once("data", () => { ${source} });`);
    await expect(player.reset(start())).rejects.toMatchObject({
      name,
      message: expect.stringMatching(message) as string,
    });
  });

  test("that does not answer is killed, and the next episode has a new one", async () => {
    const source = `import { createInterface } from "node:readline";
      createInterface({ input: process.stdin }).on("line", (line) => {
        const { episode, type } = JSON.parse(line);
        if (type === "reset" && episode !== "silent") console.log(JSON.stringify({ action: process.pid }));
      });`;
    await using player = agent(source, { timeoutMs: 700 });
    const first = await player.reset(start("a"));
    await expect(player.reset(start("silent"))).rejects.toMatchObject({ name: "AGENT_TIMEOUT" });
    const second = await player.reset(start("b"));
    expect(second).not.toBe(first);
    expect(() => process.kill(first as number, 0)).toThrow(/ESRCH/);
  });

  test("may play one episode and end", async () => {
    const source = `import { createInterface } from "node:readline";
      createInterface({ input: process.stdin }).on("line", (line) => {
        if (JSON.parse(line).type === "end") process.exit(0);
        console.log(JSON.stringify({ action: process.pid }));
      });`;
    await using player = agent(source);
    const pids = new Set<unknown>();
    for (const key of ["a", "b", "c"]) {
      pids.add(await player.reset(start(key)));
      player.end({ observation: 0, reward: 1, terminated: true, truncated: false });
      if (key === "b") await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(pids.size).toBe(3);
  });

  test("that speaks without being asked is found out", async () => {
    await using player = agent(`process.stdin.on("data", () => console.log('{"action":1}\\n{"action":2}'));`);
    await player.reset(start());
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(player.step({ observation: 4, index: 1, reward: 0 })).rejects.toMatchObject({
      name: "AGENT_PROTOCOL",
    });
  });

  test("leaves nothing behind: what a wrapper has started goes with it", async () => {
    await using folder = await tempFolder();
    const file = folder.join("pid");
    const command = ["sh", "-c", `sleep 1000 & echo $! > ${file}; read line; echo '{"action": 1}'; cat > /dev/null`];
    {
      await using player = new ProcessAgent({ command, timeoutMs: 10_000, showReward: false });
      expect(await player.reset(start())).toBe(1);
    }
    const pid = Number(await readFile(file, "utf8"));
    await expect
      .poll(async () => /^State:\s+[^Z]/m.test(await readFile(`/proc/${pid}/status`, "utf8").catch(() => "")))
      .toBe(false);
  });

  test("that does not exist is no agent at all", async () => {
    await using player = new ProcessAgent({ command: ["/no/such/agent"], timeoutMs: 1_000, showReward: false });
    await expect(player.reset(start())).rejects.toThrow(/does not start: there is no such program/);
  });
});
