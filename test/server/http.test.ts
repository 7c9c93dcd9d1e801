import { expect, test } from "vitest";
import { openrpc } from "trailgym/protocol";
import { verifies } from "../e2e/verifies.ts";
import { countdown } from "../resources/envs.ts";
import { begin } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";

verifies("openrpc/served", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const overHttp = await (await fetch(`${server.http}/openrpc.json`)).json();
  const wire = await server.wire();
  expect(await wire.call("rpc.discover", {})).toEqual(overHttp);
  expect(overHttp).toEqual(JSON.parse(JSON.stringify(openrpc())));
});

test("health, readiness and metrics are plain text", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  await wire.request("no/such", {});
  await wire.request("env/step", { session, action: { amount: 9 } });
  for (const path of ["/healthz", "/readyz"]) {
    const response = await fetch(server.http + path);
    expect([response.status, await response.text()]).toEqual([200, "ok\n"]);
  }
  const metrics = await (await fetch(`${server.http}/metrics?x=1`)).text();
  expect(metrics).toMatch(/^trailgym_sessions 1$/m);
  expect(metrics).toMatch(/^trailgym_sockets 1$/m);
  expect(metrics).toMatch(/^trailgym_messages_total 5$/m);
  expect(metrics).toMatch(/^trailgym_call_seconds_count\{env="countdown-v1"\} 1$/m);
  expect(metrics).toMatch(/^trailgym_uncommitted_total\{env="countdown-v1",cause="INVALID_ACTION"\} 1$/m);
  expect(metrics).toMatch(/^trailgym_errors_total\{name="METHOD_NOT_FOUND"\} 1$/m);
});

test("what is not there is 404 with the paths that are, and only GET and HEAD are answered", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const missing = await fetch(`${server.http}/rpcc`);
  expect([missing.status, await missing.text()]).toEqual([404, expect.stringContaining("/openrpc.json")]);
  expect((await fetch(`${server.http}/rpc`)).status).toBe(426);
  expect((await fetch(`${server.http}/healthz`, { method: "POST", body: "x" })).status).toBe(405);
  const head = await fetch(`${server.http}/healthz`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});
