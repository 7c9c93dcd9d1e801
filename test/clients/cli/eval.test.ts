import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { EpisodeRecord } from "../../../clients/cli/eval/record.ts";
import type { Summary } from "../../../clients/cli/eval/summary.ts";
import { until } from "../../resources/events.ts";
import { closedPort } from "../../resources/port.ts";
import { agent, answering, start, tempFolder, trailgym } from "./command.ts";

const countdown = ["eval", "--env", "countdown-v1"];

async function records(file: string): Promise<EpisodeRecord[]> {
  const text = await readFile(file, "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as EpisodeRecord]));
}

async function summaryOf(file: string): Promise<Summary> {
  return JSON.parse(await readFile(file, "utf8")) as Summary;
}

/** An environment that fails as a server's side fails; what it has done already stands in files of `folder`. */
function unsteady(folder: string, failure: string): string {
  return `
    import { existsSync, writeFileSync } from "node:fs";
    import { defineEnv, SandboxLost, taskList } from "trailgym/env";
    import { z } from "zod";
    export default defineEnv({
      id: "unsteady-v1",
      summary: "Fails.",
      state: z.object({}), action: z.object({ go: z.boolean() }), observation: z.object({}), options: z.object({}),
      tasks: () => taskList({ train: ["good", "bad", "fine"].map((id) => ({ id })) }),
      reset: () => ({ state: {}, observation: {} }),
      step(ctx) {
        const once = (name: string) => {
          const file = ${JSON.stringify(folder)} + "/" + name;
          return !existsSync(file) && (writeFileSync(file, ""), true);
        };
        if (ctx.task.id === "bad") { ${failure} }
        return { state: {}, observation: {}, reward: 1, terminated: true };
      },
      reference: () => [{ go: true }],
    });`;
}

describe("trailgym eval", () => {
  test("plays the reference, writes every transition, and reports the numbers", async () => {
    await using folder = await tempFolder();
    const ids = folder.join("ids.txt");
    await writeFile(ids, 'grid-walk-js/0\n{"id": "rail-yard-js/0"}\n');
    const args = ["eval", "--env", "code-gym-v1", "--agent", "reference", "--tasks-file", ids];
    const { code, stdout } = await trailgym([...args, "--out", folder.join("run")]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/2 of 2 episodes count[^]*solved Wilson/);
    const played = await records(folder.join("run", "trajectories.jsonl"));
    expect(played.map(({ task }) => task).sort()).toEqual(["grid-walk-js/0", "rail-yard-js/0"]);
    for (const { return: value, steps, transitions, error, terminated } of played) {
      expect({ value, error, terminated, steps }).toEqual({
        value: 1,
        error: null,
        terminated: true,
        steps: transitions.length,
      });
      expect(transitions.at(-1)).toMatchObject({ reward: 1, terminated: true, truncated: false });
    }
    const summary = await summaryOf(folder.join("run", "summary.json"));
    expect(summary).toMatchObject({ complete: true, counted: 2, return: { mean: 1 }, solved: { count: 2 } });
    expect(Object.keys(summary.families)).toHaveLength(2);
  });

  test("plays the same for the same seed, byte for byte, whatever runs side by side", async () => {
    await using folder = await tempFolder();
    const run = async (name: string, args: readonly string[]) => {
      const out = ["--out", folder.join(name)];
      expect((await trailgym([...countdown, "--agent", "random", "--episodes", "40", ...args, ...out])).code).toBe(0);
      return (await readFile(folder.join(name, "trajectories.jsonl"), "utf8")).trimEnd().split("\n").sort();
    };
    const one = await run("one", ["--seed", "5", "--concurrency", "1"]);
    expect(await run("two", ["--seed", "5", "--concurrency", "8"])).toEqual(one);
    expect(await run("three", ["--seed", "6"])).not.toEqual(one);
    expect(new Set(one.map((line) => (JSON.parse(line) as EpisodeRecord).return))).toEqual(new Set([0, 1]));
  });

  test("goes on after it was killed: nothing is played twice, nothing is lost, other settings are refused", async () => {
    await using folder = await tempFolder();
    const out = folder.join("run");
    // Notes every episode that it begins, and thinks for a while.
    const source = `import { appendFileSync } from "node:fs";
      import { createInterface } from "node:readline";
      for await (const line of createInterface({ input: process.stdin })) {
        const { type, episode } = JSON.parse(line);
        if (type === "reset") appendFileSync(${JSON.stringify(folder.join("begun"))}, episode + "\\n");
        await new Promise((resolve) => setTimeout(resolve, 15));
        if (type !== "end") console.log('{"action": {"amount": 1}}');
      }`;
    const args = [...countdown, "--episodes", "24", "--concurrency", "2", "--out", out];
    {
      await using killed = start([...args, ...agent(source)]);
      await expect
        .poll(
          () =>
            records(folder.join("run", "trajectories.jsonl")).then(
              (all) => all.length,
              () => 0,
            ),
          { timeout: 15_000, interval: 20 },
        )
        .toBeGreaterThanOrEqual(4);
      killed.child.kill("SIGKILL");
      await killed.ended;
    }
    const before = (await readFile(folder.join("run", "trajectories.jsonl"), "utf8")).split("\n").slice(0, -1);
    expect(before.length).toBeLessThan(24);

    const refused = await trailgym([...args, "--seed", "1", ...agent(source)]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/other settings \(seed\)/) as string });

    const { code, stderr } = await trailgym([...args, ...agent(source)]);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`${before.length} of 24`) as string,
    });
    const after = await records(folder.join("run", "trajectories.jsonl"));
    expect(after.map(({ key }) => key).sort()).toEqual(Array.from({ length: 24 }, (_, i) => `#${i}`).sort());
    const finished = before.map((line) => (JSON.parse(line) as EpisodeRecord).key);
    const begun = (await readFile(folder.join("begun"), "utf8")).trimEnd().split("\n");
    for (const key of finished) expect(begun.filter((one) => one === key)).toHaveLength(1);
    expect(existsSync(folder.join("run", "lock"))).toBe(false);
  }, 120_000);

  test("counts a broken environment apart, never as 0, and plays what is missing when it is run again", async () => {
    await using folder = await tempFolder();
    const file = folder.join("unsteady.env.ts");
    await writeFile(
      file,
      unsteady(
        folder.path,
        'if (!existsSync("REPAIRED")) throw new Error("out of order");'.replace("REPAIRED", folder.join("repaired")),
      ),
    );
    const out = ["--out", folder.join("run")];
    const args = [
      "eval",
      "--env",
      "unsteady-v1",
      "--envs",
      file,
      "--agent",
      "reference",
      "--log-level",
      "silent",
      ...out,
    ];
    const broken = await trailgym([...args, "--json"]);
    const summary = JSON.parse(broken.stdout) as Summary;
    expect(summary).toMatchObject({ complete: false, counted: 2, return: { mean: 1 }, solved: { count: 2, rate: 1 } });
    expect(summary.infrastructure).toEqual({ missing: 1, errors: { ENV_FAULT: 1 }, attempts: 1 });
    expect(broken.code).toBe(1);
    expect((await records(folder.join("run", "trajectories.jsonl"))).map(({ task }) => task).sort()).toEqual([
      "fine",
      "good",
    ]);

    await writeFile(folder.join("repaired"), "");
    const repaired = await trailgym(args);
    expect(repaired).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("2 of 3 episodes were played before") as string,
    });
    expect(await summaryOf(folder.join("run", "summary.json"))).toMatchObject({
      complete: true,
      counted: 3,
      return: { mean: 1 },
    });
  });

  test("plays an episode anew when its sandbox was lost", async () => {
    await using folder = await tempFolder();
    const file = folder.join("unsteady.env.ts");
    await writeFile(file, unsteady(folder.path, 'if (once("a") || once("b")) throw new SandboxLost("gone");'));
    const args = ["eval", "--env", "unsteady-v1", "--envs", file, "--agent", "random", "--json"];
    const summary = JSON.parse((await trailgym(args)).stdout) as Summary;
    expect(summary).toMatchObject({ complete: true, counted: 3, return: { mean: 1 } });
    expect(summary.infrastructure).toEqual({ missing: 0, errors: {}, attempts: 2 });
  });

  test("names an agent's failures, counts them, and starts it again", async () => {
    const source = `import { createInterface } from "node:readline";
      for await (const line of createInterface({ input: process.stdin })) {
        const { type, episode, observation } = JSON.parse(line);
        if (type === "end") continue;
        if (episode === "#1") process.exit(7);
        if (episode === "#2") console.log("thinking");
        else if (episode === "#3") console.log('{"action": {"amount": 99}}');
        else if (type === "step" || episode === "#0") console.log(JSON.stringify({ action: { amount: Math.min(3, observation.remaining) } }));
        else console.log('{"action": {"amount": "one"}}');
      }`;
    // The one of #4 errs once, is told, and errs again ten times.
    const args = [...countdown, "--episodes", "5", "--concurrency", "1", "--json", ...agent(source)];
    const { code, stdout } = await trailgym(args);
    const summary = JSON.parse(stdout) as Summary;
    expect(code).toBe(0);
    expect(summary.agentErrors).toEqual({ AGENT_INVALID_ACTION: 2, AGENT_CRASHED: 1, AGENT_PROTOCOL: 1 });
    expect(summary).toMatchObject({ complete: true, counted: 5, return: { mean: 0.2 }, solved: { count: 1 } });
    expect(summary.infrastructure.missing).toBe(0);
  });

  test("ends with what it has when the agent's command is no program", async () => {
    const { code, stderr, stdout } = await trailgym([...countdown, "--agent", "/no/such/agent"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/trailgym: the agent "\/no\/such\/agent" does not start: there is no such program\n$/);
  });

  test("says what an agent's failure was, and fails when no episode had an action", async () => {
    await using folder = await tempFolder();
    const ran = await trailgym([...countdown, "--episodes", "3", "--agent", "node nope.js"], { cwd: folder.path });
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/3 of 3 episodes count[^]*AGENT_CRASHED 3\n {2}AGENT_CRASHED, such as: .*/);
    expect(ran.stderr).toMatch(/no episode got as far as its first action/);
  });

  test("says at once, and why, that there is no server, and writes nothing", async () => {
    await using folder = await tempFolder();
    const none = await closedPort();
    const began = performance.now();
    const args = ["--agent", "random", "--server", `127.0.0.1:${none}`, "--out", folder.join("out")];
    const { code, stdout, stderr } = await trailgym([...countdown, ...args]);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const url = `ws://127.0.0.1:${none}/rpc`;
    expect(stderr).toBe(
      `trailgym: cannot connect to ${url}: connect ECONNREFUSED 127.0.0.1:${none}; is the server running? ` +
        "`trailgym serve` starts one\n",
    );
    expect(existsSync(folder.join("out"))).toBe(false);
  });

  test("says that it has lost its server while it tries to reach it, and plays on when it is back", async () => {
    await using folder = await tempFolder();
    await using first = start(["serve", "--port", "0", "--json"]);
    const { url } = JSON.parse(await first.firstLine) as { url: string };
    const begun = folder.join("begun");
    const pause = "await new Promise((resolve) => setTimeout(resolve, 300))";
    const slow = `import { writeFileSync } from "node:fs";
      ${answering(`(writeFileSync(${JSON.stringify(begun)}, ""), ${pause}, { amount: 1 })`)}`;
    const options = ["--server", url, "--options", '{"start": 12}', "--retries", "20", "--json", ...agent(slow)];
    await using playing = start([...countdown, ...options], { stdin: "" });
    let said = "";
    const heard = new Promise<void>((resolve) =>
      playing.child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()).includes("lost") && resolve()),
    );
    await until(() => existsSync(begun));
    await first[Symbol.asyncDispose]();
    await heard;
    await using second = start(["serve", "--port", new URL(url).port, "--json"]);
    await second.firstLine;
    const { code, stdout, stderr } = await playing.ended;
    expect(stderr).toMatch(
      /lost the server at ws:.* \(1006\); trying to reach it again\n[^]*reached the server at ws:.* again/,
    );
    expect(stderr).toMatch(/1 of 1 · 1 solved\n$/);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ counted: 1, steps: { mean: 12 }, return: { mean: 1 } });
  }, 60_000);

  test("plays on a server elsewhere, and cuts episodes at --max-steps", async () => {
    await using server = start(["serve", "--port", "0", "--json"]);
    const { url } = JSON.parse(await server.firstLine) as { url: string };
    const source = answering("{ amount: 1 }");
    const options = ["--server", url, "--options", '{"start": 50}', "--max-steps", "7", "--json"];
    const { stdout } = await trailgym([...countdown, ...options, ...agent(source)]);
    expect(JSON.parse(stdout)).toMatchObject({ counted: 1, truncated: 1, steps: { mean: 7 }, return: { mean: 0 } });
  });
});
