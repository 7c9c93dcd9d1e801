import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { connect } from "trailgym/client";
import { defaults } from "trailgym/server";
import { describe, expect, test } from "vitest";
import { start, tempFolder, trailgym } from "./command.ts";

/** Command lines of running processes that hold `text`. */
async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(text));
}

async function cpuMs(pid: number | undefined): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // Fields 14 and 15 in ticks of 10 ms; the second, in brackets, may hold blanks.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields && 10 * (Number(fields[11]) + Number(fields[12]));
}

async function serving(args: readonly string[] = [], env: Record<string, string> = {}) {
  const started = start(["serve", "--port", "0", "--json", ...args], { env });
  const line = await started.firstLine;
  return { ...started, ...(JSON.parse(line) as { url: string; instance: string }) };
}

describe("trailgym serve", () => {
  test("answers within 1.5 s of its start", async () => {
    const began = performance.now();
    await using server = await serving();
    await using client = await connect(server.url);
    const wallMs = performance.now() - began;
    expect(client.welcome.server).toMatchObject({ instance: server.instance, version: "0.1.0" });
    // What it used, where the system tells: what the machine does beside it is not its start.
    expect((await cpuMs(server.child.pid)) ?? wallMs).toBeLessThan(1_500);
  });

  test("prints one line of JSON, starts interpreters when they are needed, and leaves none of them behind", async () => {
    await using server = await serving();
    expect(await processesWith(server.instance)).toEqual([]);
    {
      await using client = await connect(server.url);
      await using session = await client.make("code-gym-v1");
      const { tools } = await session.reset({ task: "grid-walk-js/0", seed: 1 });
      expect(tools?.map(({ name }) => name)).toContain("Done");
    }
    if (process.platform === "linux") expect(await processesWith(server.instance)).not.toEqual([]);
    server.child.kill("SIGTERM");
    const { code, stdout, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(await processesWith(server.instance)).toEqual([]);
  });

  test("ends in order on a signal that comes as soon as it has said where it serves", async () => {
    await using server = await serving();
    server.child.kill("SIGINT");
    expect((await server.ended).code).toBe(0);
  });

  test("drains on the first signal and exits at once on the second", async () => {
    await using server = await serving(["--grace-ms", "60000"]);
    await using client = await connect(server.url, { reconnect: false });
    await using session = await client.make("code-gym-v1");
    // Starting Python takes seconds.
    const running = session.reset({ task: "safe-code-py/0", seed: 1 }).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 100));
    server.child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.child.exitCode).toBeNull();
    server.child.kill("SIGINT");
    expect((await server.ended).code).toBe(130);
    await running;
  });

  test("asks for the token of the environment variable, and is open to others only with one", async () => {
    await using server = await serving([], { TRAILGYM_TOKEN: "secret" });
    await expect(connect(server.url)).rejects.toThrow(/token/);
    await using client = await connect(server.url, { token: "secret" });
    expect(client.welcome.role).toBe("trainer");
    const asked = await trailgym(["list", "--server", server.url]);
    expect(asked).toMatchObject({ code: 1, stdout: "" });
    expect(asked.stderr).toMatch(/TRAILGYM_TOKEN/);
    const open = await trailgym(["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect(open.code).toBe(1);
    expect(open.stderr).toMatch(/^trailgym: .*--insecure.*\n$/);
  });

  test("does what it was told, by flag or by variable, and what the server does unasked otherwise", async () => {
    await using server = await serving(["--max-batch", "7"], { TRAILGYM_LEASE_MS: "5000" });
    await using client = await connect(server.url);
    const { maxMessageBytes, maxSessions, stepTimeoutMs } = defaults;
    const limits = { maxMessageBytes, maxSessions, stepTimeoutMs, maxBatch: 7, leaseMs: 5_000 };
    expect(client.welcome.limits).toMatchObject(limits);
  });

  test("serves with --attest what is the same when it is played again, and nothing beside an environment that is not", async () => {
    await using folder = await tempFolder();
    const source = (reward: string) => `
      import { defineEnv } from "trailgym/env";
      import { z } from "zod";
      let runs = 0;
      export default defineEnv({
        id: "lot-v1", summary: "Draws a lot.", maxEpisodeSteps: 3,
        state: z.object({}), action: z.object({}), observation: z.null(), options: z.object({}),
        reset: () => ({ state: {}, observation: null }),
        step: (ctx) => ({ state: {}, observation: null, reward: ${reward} }),
      });`;
    const file = folder.join("lot.env.ts");
    const args = ["--attest", "--no-builtin-tasks", "--envs", file];
    await writeFile(file, source("runs++"));
    const refused = await trailgym(["serve", "--port", "0", "--json", ...args]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^trailgym: not served: lot-v1 .*differs from itself.*check-env/m);
    await writeFile(file, source("ctx.rng.int(0, 9)"));
    await using server = await serving(args);
    await using client = await connect(server.url);
    expect((await client.list()).map(({ id }) => id)).toContain("lot-v1");
  });

  test("speaks wss and https with a certificate, and only those", async () => {
    await using folder = await tempFolder();
    const [cert, key] = [folder.join("cert.pem"), folder.join("key.pem")];
    const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=trailgym";
    const files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert];
    await promisify(execFile)("openssl", [...request.split(" "), ...files]);
    await using server = await serving(["--tls-cert", cert, "--tls-key", key]);
    expect(server.url).toMatch(/^wss:/);
    const listed = await trailgym(["list", "--server", server.url], { env: { NODE_EXTRA_CA_CERTS: cert } });
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toContain("countdown-v1");
    expect(await trailgym(["list", "--server", server.url])).toMatchObject({ code: 1, stdout: "" });
    await expect(connect(server.url.replace("wss:", "ws:"), { reconnect: false })).rejects.toThrow();
  });

  test("says what is wrong with a certificate before it serves", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.join("no.pem"), "no certificate");
    const refused = async (...args: string[]) => {
      const { code, stderr } = await trailgym(["serve", "--port", "0", ...args]);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused("--tls-cert", "cert.pem")).toMatch(/--tls-cert and --tls-key go together/);
    expect(await refused("--tls-cert", "not/there", "--tls-key", "k")).toMatch(/--tls-cert not\/there: .*no such file/);
    const file = folder.join("no.pem");
    expect(await refused("--tls-cert", file, "--tls-key", file)).toMatch(/no certificate and its key/);
  });

  test("takes a file of tokens, each with its role and what it discloses to an agent", async () => {
    await using folder = await tempFolder();
    const file = folder.join("tokens.json");
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    const token = (name: string, role: string, more = {}) => ({
      sha256: sha256(name),
      principal: "ann",
      role,
      ...more,
    });
    await writeFile(file, JSON.stringify([token("t", "trainer"), token("a", "agent", { discloses: ["reward"] })]));
    await using server = await serving(["--tokens", file]);
    await using trainer = await connect(server.url, { token: "t", role: "trainer" });
    const session = await trainer.make("countdown-v1", { options: { start: 1 } });
    await session.reset();
    await using agent = await connect(server.url, { token: "a", role: "agent" });
    const step = await (await agent.attach<unknown, { amount: number }>(session.id)).step({ amount: 1 });
    expect(step.reward).toBe(1);
    expect(step).not.toHaveProperty("info");

    await writeFile(file, JSON.stringify([token("a", "agent", { discloses: ["answer"] })]));
    const wrong = await trailgym(["serve", "--port", "0", "--tokens", file]);
    expect(wrong).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/--tokens .*discloses/) as string,
    });
  });

  test("says which port is taken, and what to do, in one line", async () => {
    await using server = await serving();
    const { code, stderr } = await trailgym(["serve", "--port", new URL(server.url).port]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^trailgym: .*in use.*--port.*\n$/);
  });
});
