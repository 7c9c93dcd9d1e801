import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { scripted } from "./scripted.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Runs `body` as a module in a process of its own. @returns what it printed, its exit code, and how long it lived after `done`. */
async function run(body: string): Promise<{ code: number | null; output: string; lingeredMs: number }> {
  const source = `import { connect } from "trailgym/client";\n${body}\nconsole.log("done");`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], { cwd: root });
  let output = "";
  let doneAt = 0;
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
    if (output.includes("done")) doneAt ||= performance.now();
  });
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, output, lingeredMs: performance.now() - doneAt };
}

const options = (more = "") =>
  `{ heartbeatMs: 60_000, reconnect: { minDelayMs: 10_000, maxDelayMs: 60_000 }, ${more} }`;

test("a process ends by itself once its client is closed", async () => {
  await using server = await scripted();
  const { code, output, lingeredMs } = await run(`
    const client = await connect("${server.url}", ${options()});
    const session = await client.make("e-v1");
    await session.reset({ timeoutMs: 60_000, signal: AbortSignal.timeout(60_000) });
    await client.close();`);
  expect({ code, output }).toEqual({ code: 0, output: "done\n" });
  expect(lingeredMs).toBeLessThan(1000);
});

test("a client that is closed while it waits to reconnect leaves no timer and no unhandled rejection", async () => {
  const server = await scripted();
  server.on("env/step", (request) => {
    setTimeout(() => void server.shut(), 0);
    return new Promise(() => request.drop());
  });
  const { code, output, lingeredMs } = await run(`
    let lost;
    const waiting = new Promise((resolve) => (lost = resolve));
    const onStateChange = ({ state }) => state === "reconnecting" && lost();
    const client = await connect("${server.url}", ${options("onStateChange")});
    const session = await client.make("e-v1");
    await session.reset();
    const step = session.step(1, { timeoutMs: 60_000 }).catch((error) => console.log(error.code));
    const other = client.list().catch((error) => console.log(error.code));
    await waiting;
    await client.close();
    await step; await other;`);
  await server[Symbol.asyncDispose]();
  expect({ code, output }).toEqual({ code: 0, output: "CLOSED\nCLOSED\ndone\n" });
  expect(lingeredMs).toBeLessThan(1000);
});

test("a connect that fails or is aborted leaves nothing running", async () => {
  const server = await scripted();
  server.on("initialize", () => new Promise(() => undefined));
  const { code, output, lingeredMs } = await run(`
    await connect("${server.url}", { signal: AbortSignal.timeout(50) }).catch((error) => console.log(error.name));
    await connect("ws://127.0.0.1:1/rpc").catch((error) => console.log(error.code));`);
  await server[Symbol.asyncDispose]();
  expect({ code, output }).toEqual({ code: 0, output: "TimeoutError\nCONNECTION_LOST\ndone\n" });
  expect(lingeredMs).toBeLessThan(1000);
});
