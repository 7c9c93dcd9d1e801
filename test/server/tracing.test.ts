/** What an operator is told of calls: lines of the log and spans, joined to the client's trace, without what was said. */

import { context, ROOT_CONTEXT, type SpanContext, SpanStatusCode, trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createHash } from "node:crypto";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { openTelemetry } from "../../server/tracing.ts";
import { verifies } from "../e2e/verifies.ts";
import { trouble } from "../resources/envs.ts";
import { add, begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { named } from "../resources/wire.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${spanId}-01`;

/** A log whose lines are kept. */
function keptLog(level: string) {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  return { lines, log: pino({ level, base: null }, stream) };
}

afterEach(() => trace.disable());

verifies("log/ids", async () => {
  const { lines, log } = keptLog("debug");
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], log });
  const wire = await server.wire({ traceparent });
  const session = await begin(wire, "trouble-v1");
  const { episode } = (await wire.call("env/reset", { session })) as { episode: string };
  await step(wire, session, add());
  await wire.fails("env/step", { session, action: { do: "throw", message: "broken" } });
  await wire.call("env/close", { session });
  const ids = { session, env: "trouble-v1" };
  expect(lines).toContainEqual(expect.objectContaining({ ...ids, msg: "session opened", principal: "local" }));
  const committed = { ...ids, method: "env/step", episode, trace: traceId, msg: "committed" };
  expect(lines).toContainEqual(expect.objectContaining(committed));
  const failed = { ...ids, episode, trace: traceId, msg: "environment failed" };
  expect(lines).toContainEqual(expect.objectContaining(failed));
  expect(lines).toContainEqual(expect.objectContaining({ ...ids, msg: "not committed", error: "ENV_FAULT" }));
  expect(lines).toContainEqual(expect.objectContaining({ ...ids, msg: "session ended", reason: "closed" }));
});

verifies("log/redacted", async () => {
  const { lines, log } = keptLog("trace");
  const env = trouble();
  const secret = "secret-token-of-alice";
  const sha256 = createHash("sha256").update(secret).digest("hex");
  const config = { tokens: [{ sha256, principal: "alice", role: "trainer" as const }] };
  await using server = await serverResource({ envs: [env.env], log, config });
  const wire = await server.wire({ token: secret });
  const session = await begin(wire, "trouble-v1", {}, { options: { from: 424_242 } });
  await step(wire, session, { do: "add", n: 565_656 });
  await wire.fails("env/step", { session, action: { do: "add", n: "not-a-number-787878" } });
  await wire.fails("env/step", { session, action: { do: "hang" }, timeoutMs: 20 });
  await server.wire({ token: "wrong-secret-token" }).catch(() => undefined);
  await wire.request("no/such", { said: "909090" });
  wire.send("{ not json 313131");
  await wire.call("env/close", { session });
  const text = JSON.stringify(lines);
  expect(lines.length).toBeGreaterThan(4);
  // Token, its digest, option and observation, action, what was refused and what was no call.
  for (const said of [secret, sha256, "wrong-secret", "424242", "565656", "787878", "909090", "313131"]) {
    expect([said, text.includes(said)]).toEqual([said, false]);
  }
});

verifies("trace/spans", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], tracer: await openTelemetry("0") });
  const [traced, alone] = [await server.wire({ traceparent }), await server.wire()];
  const session = await begin(traced, "trouble-v1");
  await step(traced, session, add(), { seq: 1 });
  await traced.fails("env/step", { session, action: { do: "throw", message: "broken" } });
  await begin(alone, "trouble-v1");
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name, status }) => [name, status.code, status.message])).toEqual([
    ["env/reset", SpanStatusCode.UNSET, undefined],
    ["env/step", SpanStatusCode.UNSET, undefined],
    ["env/step", SpanStatusCode.ERROR, "ENV_FAULT"],
    ["env/reset", SpanStatusCode.UNSET, undefined],
  ]);
  const [, second, , last] = spans;
  expect(second?.spanContext().traceId).toBe(traceId);
  expect(second?.parentSpanContext).toMatchObject({ spanId, isRemote: true } satisfies Partial<SpanContext>);
  expect(second?.attributes).toEqual({ "trailgym.session": session, "trailgym.env": "trouble-v1", "trailgym.seq": 1 });
  expect(last?.spanContext().traceId).not.toBe(traceId);
  expect(context.active()).toBe(ROOT_CONTEXT);
});

test.each([
  "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
  "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
  "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  "4bf92f3577b34da6a3ce929d0e0e4736",
])("%s is no traceparent, and says so", async (text) => {
  await using server = await serverResource({ envs: [] });
  const wire = await server.wire({ initialize: false });
  const client = { name: "test", version: "0" };
  const params = { protocolVersions: ["1"], client, traceparent: text };
  const issues = [{ path: "traceparent", message: "a W3C traceparent of version 00" }];
  expect(await wire.fails("initialize", params)).toMatchObject(named("INVALID_PARAMS", { issues }));
});
