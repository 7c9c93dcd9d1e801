import { once } from "node:events";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { subprotocol } from "trailgym/protocol";
import { memoryJournal } from "trailgym/server";
import { verifies } from "../e2e/verifies.ts";
import { countdown, trouble } from "../resources/envs.ts";
import { until } from "../resources/events.ts";
import { begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { drained, handshake, tcp } from "../resources/tcp.ts";
import { named, Wire } from "../resources/wire.ts";

describe("the door", () => {
  verifies("door/origin", async () => {
    await using server = await serverResource({ envs: [countdown], config: { origins: ["https://lab.example"] } });
    for (const origin of ["http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.nip.io"]) {
      await expect(Wire.open(server.url, { origin })).rejects.toThrow("403");
    }
    for (const origin of ["https://lab.example", "http://localhost:3000", "http://127.0.0.1", "http://[::1]:80"]) {
      await using wire = await Wire.open(server.url, { origin });
      expect(await wire.call("env/list", {})).toHaveProperty("envs");
    }
  });

  verifies("door/loopback-guard", async () => {
    for (const host of ["0.0.0.0", "::", "192.0.2.1", ""]) {
      await expect(serverResource({ envs: [], config: { host } })).rejects.toThrow("configure tokens");
    }
    const sha256 = createHash("sha256").update("t").digest("hex");
    const tokens = [{ sha256, principal: "p", role: "trainer" as const }];
    await using guarded = await serverResource({ envs: [], config: { host: "0.0.0.0", tokens } });
    await using insecure = await serverResource({ envs: [], config: { host: "0.0.0.0", insecure: true } });
    expect([guarded.server.url, insecure.server.url]).toEqual([
      expect.stringMatching(/^ws:/),
      expect.stringMatching(/^ws:/),
    ]);
  });

  test("the sub-protocol is chosen where it is offered and not asked for where it is not", async () => {
    await using server = await serverResource({ envs: [countdown] });
    const protocolOf = async (subprotocols: string[]) => (await server.wire({ subprotocols })).socket.protocol;
    expect(await protocolOf([subprotocol])).toBe("trailgym.1");
    expect(await protocolOf(["trailgym.9", subprotocol])).toBe("trailgym.1");
    expect(await protocolOf([])).toBe("");
  });

  test("another path is 404", async () => {
    await using server = await serverResource({ envs: [countdown] });
    await expect(Wire.open(server.url.replace("/rpc", "/"))).rejects.toThrow("404");
    await using wire = await Wire.open(`${server.url}?token=x`);
    expect(await wire.call("env/list", {})).toHaveProperty("envs");
  });

  test("a peer that is refused and resets its connection takes nobody down", async () => {
    await using server = await serverResource({ envs: [countdown] });
    for (let i = 0; i < 50; i++) {
      const peer = await tcp(server.port);
      peer.write(handshake("/nowhere") + "x".repeat(1000));
      if (i % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
      peer.resetAndDestroy();
    }
    const wire = await server.wire();
    expect(await wire.call("env/list", {})).toHaveProperty("envs");
  });

  test("an address that is taken is an error", async () => {
    const taken = createTcpServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    await expect(serverResource({ envs: [], config: { port } })).rejects.toThrow("EADDRINUSE");
    taken.close();
  });
});

describe("shutdown", () => {
  verifies("shutdown/drains", async () => {
    const env = trouble();
    await using server = await serverResource({ envs: [env.env], config: { graceMs: 5000 } });
    const wire = await server.wire();
    const session = await begin(wire, "trouble-v1");
    const running = step(wire, session, { do: "wait" });
    await env.entered();
    const closing = server.server.close();
    expect(await wire.fails("env/make", { env: "trouble-v1" })).toMatchObject({
      ...named("SHUTTING_DOWN", { retryAfterMs: expect.any(Number) as number }),
      retryable: true,
    });
    expect(await wire.fails("env/step", { session, action: { do: "end" } })).toMatchObject(named("SHUTTING_DOWN"));
    expect(await wire.call("env/observe", { session })).toMatchObject({ index: 0 });
    env.release();
    expect(await running).toMatchObject({ index: 1 });
    expect(await wire.closed).toMatchObject({ code: 1001 });
    await closing;
    await server.server.close();
    expect(server.server.sockets).toBe(0);
    await expect(Wire.open(server.url)).rejects.toThrow("ECONNREFUSED");
  });

  test("after the grace a running call is CANCELLED by name before its socket closes", async () => {
    const env = trouble();
    await using server = await serverResource({ envs: [env.env], config: { graceMs: 10 } });
    const wire = await server.wire();
    const session = await begin(wire, "trouble-v1");
    const running = wire.fails("env/step", { session, action: { do: "hang" } });
    await env.entered();
    await server.server.close();
    expect(await running).toMatchObject(named("CANCELLED"));
    expect(await wire.closed).toMatchObject({ code: 1001 });
  });

  test.each([
    ["says nothing", ""],
    ["stopped in the middle of its request", "GET /healthz HTTP/1.1\r\nHost: x\r\n"],
    ["was refused and keeps its end open", handshake("/nowhere")],
    ["is a WebSocket that answers no close frame", handshake()],
  ])("does not wait for a peer that %s", async (_what, text) => {
    await using server = await serverResource({ envs: [countdown] });
    await using peer = await tcp(server.port);
    const said = drained(peer);
    if (text !== "") peer.write(text);
    if (text.includes("Upgrade")) await once(peer, "data");
    const wire = await server.wire();
    await wire.call("env/list", {});
    await server.server.close();
    await said;
  });

  verifies("shutdown/bounded", async () => {
    const never = { ...memoryJournal(), [Symbol.asyncDispose]: () => new Promise<void>(() => undefined) };
    const config = { graceMs: 10, disposeMs: 100 };
    const server = await serverResource({ envs: [countdown], journal: never, config });
    await (await server.wire()).call("env/list", {});
    const started = performance.now();
    await server.server.close();
    expect(performance.now() - started).toBeLessThan(3000);
  });

  verifies("shutdown/nothing-left", async () => {
    const script = new URL("../resources/exit.ts", import.meta.url).pathname;
    const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (data: Buffer) => (out += data.toString()));
    child.stderr.on("data", (data: Buffer) => (err += data.toString()));
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    clearTimeout(timer);
    expect({ code, signal, out, err }).toEqual({ code: 0, signal: null, out: "closed []\n", err: "" });
  });
});

test("each start has another instance id, which initialize and the server tell alike", async () => {
  await using one = await serverResource({ envs: [countdown] });
  await using two = await serverResource({ envs: [countdown] });
  const wire = await one.wire({ initialize: false });
  expect((await wire.initialize()).server.instance).toBe(one.server.instance);
  expect(one.server.instance).not.toBe(two.server.instance);
  await wire.drop();
  await until(() => one.server.sockets === 0);
});
