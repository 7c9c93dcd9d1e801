/** Promises that no single part of the server keeps alone. */

import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect } from "vitest";
import { defineEnv } from "trailgym/env";
import { encode, NdArray, openrpc } from "trailgym/protocol";
import { z } from "zod";
import { countdown, echo, trouble } from "../resources/envs.ts";
import { manualClock, until } from "../resources/events.ts";
import { add, begin, step, visible } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { verifies } from "./verifies.ts";

verifies("replies/correlated", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1", {}, { options: { from: 10 } });
  const other = await begin(wire, "trouble-v1", {}, { options: { from: 50 } });
  // The client stops waiting for this one, as after a timeout of its own, and goes on without telling anybody.
  const abandoned = wire.request("env/step", { session, seq: 1, action: { do: "wait" } });
  await env.entered();
  const inOrder: unknown[] = [];
  for (let i = 1; i <= 3; i++) inOrder.push((await step(wire, other, add())).observation);
  env.release();
  expect(await step(wire, other, add())).toMatchObject({ observation: { count: 54 } });
  expect(inOrder).toEqual([{ count: 51 }, { count: 52 }, { count: 53 }]);
  expect((await abandoned).result).toMatchObject({ observation: { count: 11 } });
  // What it gave up on was executed once; asking again says so.
  expect(await step(wire, session, { do: "wait" }, { seq: 1 })).toMatchObject({ observation: { count: 11 } });
  expect(env.runs).toBe(5);
});

verifies("infra/never-a-reward", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxMessageBytes: 5000 } });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1", { autoreset: "sameStep" });
  await step(wire, session, add(7));
  const before = await visible(wire, session);
  expect(before).toMatchObject({ episodeReturn: 7, status: "running" });
  const failing = [
    { do: "throw" },
    { do: "hang" },
    { do: "wait" },
    { do: "spin", ms: 40 },
    { do: "return", outcome: { reward: 1, terminated: true } },
    { do: "reward", reward: { $type: "float", value: "NaN" } },
    { do: "mutate" },
    { do: "scribble" },
    { do: "swell", length: 6000 },
    { do: "no such thing" },
  ];
  const names = new Set<string>();
  for (const action of failing) {
    // The others end by themselves, however busy the machine is.
    const timeoutMs = /^(hang|wait|spin)$/.test(action.do) ? 20 : 20_000;
    const { result, error } = await wire.request("env/step", { session, action, timeoutMs });
    expect(result).toBeUndefined();
    names.add(error?.data?.name ?? "");
    expect(error?.code).toBeGreaterThan(1000);
    expect(await visible(wire, session)).toEqual(before);
  }
  expect([...names].toSorted()).toEqual(["DEADLINE", "ENV_FAULT", "INVALID_ACTION", "MESSAGE_TOO_LARGE"]);
  env.release();
  await until(() => env.held === 0);
  expect(await visible(wire, session)).toEqual(before);
});

const bigint = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const bytes = fc.uint8Array({ maxLength: 20 });
const array = fc.array(fc.double(), { maxLength: 6 }).map((items) => {
  return new NdArray("float64", [items.length], Float64Array.from(items));
});
const key = fc.oneof(fc.string(), fc.constantFrom("$type", "constructor", "value", "", "toString"));
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.double(), fc.constantFrom(NaN, -0, Infinity, null, true), fc.string({ unit: "binary" }), bigint),
    fc.oneof(bytes, array),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4 }),
  ),
})).value;

verifies("value/lossless", async () => {
  await using server = await serverResource({ envs: [echo] });
  const wire = await server.wire();
  const session = await begin(wire, "echo-v1");
  await fc.assert(
    fc.asyncProperty(anyValue, async (any) => {
      const sent = encode(any);
      const { observation, info } = await step(wire, session, { value: sent });
      expect([observation, info]).toEqual([{ value: sent }, { value: sent }]);
      expect((await visible(wire, session)).observation).toEqual({ value: sent });
    }),
    { numRuns: 300 },
  );
});

verifies("observation/not-aliased", async () => {
  const shared = new NdArray("uint8", [2], Uint8Array.of(0, 0));
  const note = { at: 0 };
  const reuse = defineEnv({
    id: "reuse-v1",
    summary: "Hands out one buffer, and writes to it again.",
    state: z.object({ at: z.int() }),
    action: z.object({}),
    observation: z.object({ frame: z.instanceof(NdArray) }),
    options: z.object({}),
    reset: () => {
      shared.data.fill(0 as never);
      return { state: { at: 0 }, observation: { frame: shared } };
    },
    step: (_ctx, { at }) => {
      shared.data.fill((at + 1) as never);
      const end = at === 1;
      return { state: { at: at + 1 }, observation: { frame: shared }, info: { ...note, at: at + 1 }, terminated: end };
    },
  });
  await using server = await serverResource({ envs: [reuse] });
  const wire = await server.wire();
  const frame = (n: number) => ({
    frame: { $type: "ndarray", dtype: "uint8", shape: [2], base64: Buffer.of(n, n).toString("base64") },
  });
  const one = await begin(wire, "reuse-v1", { autoreset: "sameStep" });
  const two = await begin(wire, "reuse-v1");
  await step(wire, one, {}, { seq: 1 });
  await step(wire, two, {});
  expect(await step(wire, one, {}, { seq: 2 })).toMatchObject({ finalObservation: frame(2), observation: frame(0) });
  expect((await visible(wire, two)).observation).toEqual(frame(1));
  expect(await step(wire, one, {}, { seq: 1 })).toMatchObject({ observation: frame(1), info: { at: 1 } });
});

verifies("capacity/slots-freed", async () => {
  const clock = manualClock();
  const config = { maxSessions: 1, heartbeatMs: 150 };
  await using server = await serverResource({ envs: [countdown], config, now: clock.now });
  // It takes every frame and answers no ping, as a machine that hangs behind a live network.
  const dead = await server.wire({ autoPong: false });
  await begin(dead, "countdown-v1", { leaseMs: 1000 });
  const wire = await server.wire();
  expect((await wire.fails("env/make", { env: "countdown-v1", wait: false })).name).toBe("CAPACITY");
  const waiting = wire.call("env/make", { env: "countdown-v1" });
  await until(() => server.server.sockets === 1);
  clock.advance(1500);
  expect(await waiting).toHaveProperty("session");
  expect(server.server.sessions).toBe(1);
});

const root = new URL("../../", import.meta.url).pathname;

verifies("server/names-no-env", () => {
  const sources = globSync(["server/**/*.ts", "protocol/*.ts", "protocol/methods/*.ts"], { cwd: root });
  expect(sources.length).toBeGreaterThan(30);
  for (const file of sources) {
    const source = readFileSync(root + file, "utf8");
    expect([file, source.match(/countdown|code-gym|program-gym|mcp-tools|mcp-servers/i)]).toEqual([file, null]);
  }
});

verifies("openrpc/served", () => {
  const checkedIn = JSON.parse(readFileSync(`${root}protocol/openrpc.json`, "utf8")) as unknown;
  expect(checkedIn).toEqual(JSON.parse(JSON.stringify(openrpc())));
});
