import { once } from "node:events";
import { expect, test } from "vitest";
import { verifies } from "../e2e/verifies.ts";
import { countdown, trouble } from "../resources/envs.ts";
import { until } from "../resources/events.ts";
import { begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { handshake, tcp } from "../resources/tcp.ts";
import type { Wire } from "../resources/wire.ts";
import { WireClosed } from "../resources/wire.ts";

/** Resolves when the server has pinged this socket so many times: that many heartbeats have passed. */
async function heartbeats(wire: Wire, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await once(wire.socket, "ping");
}

verifies("heartbeat/drops-the-dead", async () => {
  await using server = await serverResource({ envs: [countdown], config: { heartbeatMs: 150 } });
  const alive = await server.wire();
  await using dead = await tcp(server.port);
  dead.write(handshake());
  await once(dead, "data");
  await until(() => server.server.sockets === 2);
  // It takes every ping, as the kernel of a hung machine does, and answers none.
  const closed = Promise.race([once(dead, "end"), once(dead, "close")]);
  dead.resume();
  await closed;
  await until(() => server.server.sockets === 1);
  expect(await alive.call("env/list", {})).toHaveProperty("envs");
});

test("a socket that never initializes is closed, and one that did is kept", async () => {
  await using server = await serverResource({ envs: [countdown], config: { initializeMs: 100 } });
  const wire = await server.wire();
  await using stranger = await tcp(server.port);
  stranger.write(handshake());
  await once(stranger, "data");
  const [close] = (await once(stranger, "data")) as [Buffer];
  expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, 1008]);
  stranger.end();
  await until(() => server.server.sockets === 1);
  expect(await wire.call("env/list", {})).toHaveProperty("envs");
});

test("a peer that is silent but answers pings is kept", async () => {
  await using server = await serverResource({ envs: [countdown], config: { heartbeatMs: 150 } });
  const wire = await server.wire();
  await heartbeats(wire, 3);
  expect(await wire.call("env/list", {})).toHaveProperty("envs");
});

verifies("heartbeat/busy-is-not-dead", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { heartbeatMs: 150, maxInFlight: 1 } });
  const [busy, witness] = [await server.wire(), await server.wire()];
  const session = await begin(busy, "trouble-v1");
  // Its socket is not read while the call runs, so neither are its pongs.
  const running = step(busy, session, { do: "wait" });
  await env.entered();
  await heartbeats(witness, 4);
  env.release();
  expect(await running).toMatchObject({ index: 1 });
  await heartbeats(busy, 2);
  expect(await step(busy, session, { do: "add" })).toMatchObject({ index: 2 });
});

verifies("flow/in-flight", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxInFlight: 3 } });
  const [flood, other] = [await server.wire(), await server.wire()];
  const sessions = await Promise.all([1, 2, 3, 4, 5].map(() => begin(other, "trouble-v1")));
  const action = { do: "wait" };
  const replies = sessions.slice(0, 3).map((session) => step(flood, session, action));
  await env.entered(3);
  // The fourth waits in the peer's own buffers, and costs nobody else anything.
  replies.push(step(flood, sessions[3] as string, action));
  expect(await step(other, sessions[4] as string, { do: "add" })).toMatchObject({ index: 1 });
  expect(await step(other, sessions[4] as string, { do: "add" })).toMatchObject({ index: 2 });
  expect(env.held).toBe(3);
  env.release();
  await Promise.all(replies.slice(0, 3));
  await env.entered(1);
  env.release();
  expect(await replies[3]).toMatchObject({ index: 1 });
});

const megabyte = 2 ** 20;

verifies("flow/slow-reader", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxBufferedBytes: megabyte } });
  const [slow, other] = [await server.wire(), await server.wire()];
  const session = await begin(slow, "trouble-v1");
  await step(slow, session, { do: "swell", length: megabyte });
  const theirs = await begin(other, "trouble-v1");
  slow.pause();
  // Asked for in one read, so that no later reading can be refused.
  slow.sendTogether(
    ...Array.from({ length: 64 }, (_, i) => ({
      jsonrpc: "2.0",
      id: `big-${i}`,
      method: "env/observe",
      params: { session },
    })),
  );
  for (let i = 1; i <= 20; i++) expect(await step(other, theirs, { do: "add" })).toMatchObject({ index: i });
  slow.resume();
  expect(await slow.closed).toMatchObject({ code: 1013 });
  await until(() => server.server.sockets === 1);
  // The session is as it was: the peer may come back for it.
  expect(await other.call("session/attach", { session })).toMatchObject({ seq: 2 });
});

test("a batch whose one reply is larger than what may be buffered reaches a peer that reads", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxBufferedBytes: megabyte } });
  const wire = await server.wire();
  const sessions = await Promise.all(Array.from({ length: 8 }, () => begin(wire, "trouble-v1")));
  const action = { do: "swell", length: megabyte };
  const replies = await wire.batch(sessions.map((session) => ["env/step", { session, action }] as const));
  for (const { result } of replies) expect(result).toMatchObject({ index: 1 });
  expect(await wire.call("env/list", {})).toHaveProperty("envs");
});

test("a reply right behind such a batch does not close the socket", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], config: { maxBufferedBytes: megabyte } });
  const wire = await server.wire();
  const sessions = await Promise.all(Array.from({ length: 16 }, () => begin(wire, "trouble-v1")));
  const action = { do: "swell", length: megabyte };
  for (const session of sessions) await step(wire, session, action);
  wire.pause();
  const batch = wire.batch(sessions.map((session) => ["env/observe", { session }] as const));
  const small = wire.call("env/list", {});
  // Both replies are under way before the peer reads the first.
  await new Promise((resolve) => setTimeout(resolve, 200));
  wire.resume();
  expect(await batch).toHaveLength(16);
  expect(await small).toHaveProperty("envs");
});

test("calls of a socket that is gone are finished, and their sessions wait for another", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const [wire, other] = [await server.wire(), await server.wire()];
  const session = await begin(wire, "trouble-v1");
  const running = step(wire, session, { do: "wait" });
  await env.entered();
  await wire.drop();
  await expect(running).rejects.toBeInstanceOf(WireClosed);
  env.release();
  await until(async () => (await other.call("env/observe", { session })).seq === 2);
});

test.each([
  ["a reserved opcode", Buffer.of(0x83, 0x80, 0, 0, 0, 0)],
  ["an unmasked frame", Buffer.of(0x81, 0x01, 0x7b)],
  ["a reserved bit", Buffer.of(0xc1, 0x80, 0, 0, 0, 0)],
  ["a length beyond every limit", Buffer.of(0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)],
  ["a ping with no end", Buffer.of(0x89, 0xfe, 0x40, 0x00)],
])("%s closes its socket and no other", async (_what, bytes) => {
  await using server = await serverResource({ envs: [countdown] });
  const wire = await server.wire();
  await using peer = await tcp(server.port);
  peer.write(handshake());
  await once(peer, "data");
  peer.write(bytes);
  const [close] = (await once(peer, "data")) as [Buffer];
  expect(close[0]).toBe(0x88);
  expect([1002, 1009]).toContain(close.readUInt16BE(2));
  peer.end();
  await until(() => server.server.sockets === 1);
  expect(await wire.call("env/list", {})).toHaveProperty("envs");
});
