import { expect, test } from "vitest";
import { verifies } from "../../e2e/verifies.ts";
import { countdown, trouble } from "../../resources/envs.ts";
import { manualClock, until } from "../../resources/events.ts";
import { begin, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named } from "../../resources/wire.ts";

verifies("lease/held-lives", async () => {
  const clock = manualClock();
  await using server = await serverResource({ envs: [countdown], now: clock.now });
  const wire = await server.wire();
  const held = await begin(wire, "countdown-v1", { leaseMs: 1000 });
  const doomed = await server.wire();
  const lost = await begin(doomed, "countdown-v1", { leaseMs: 1000 });
  await doomed.drop();
  await until(() => server.server.sockets === 1);
  clock.advance(1_000_000);
  // The sweep that ends one of them has looked at the other too.
  await until(() => server.server.sessions === 1);
  expect(await visible(wire, held)).toMatchObject({ status: "running" });
  expect(await wire.fails("env/observe", { session: lost })).toMatchObject(
    named("UNKNOWN_SESSION", { reason: "expired" }),
  );
});

verifies("lease/expires", async () => {
  const clock = manualClock();
  await using server = await serverResource({ envs: [countdown], now: clock.now });
  const wire = await server.wire();
  const other = await server.wire();
  const [short, long] = [
    await begin(wire, "countdown-v1", { leaseMs: 1000 }),
    await begin(wire, "countdown-v1", { leaseMs: 5000 }),
  ];
  clock.advance(60_000);
  await wire.drop();
  await until(() => server.server.sockets === 1);
  // The lease runs from the moment at which the socket was gone.
  clock.advance(1001);
  await until(() => server.server.sessions === 1);
  expect(await other.fails("session/attach", { session: short })).toMatchObject(
    named("UNKNOWN_SESSION", { reason: "expired" }),
  );
  expect(await other.call("session/attach", { session: long })).toMatchObject({ leaseMs: 5000, status: "running" });
  clock.advance(60_000);
  const probe = await server.wire();
  const gone = await begin(probe, "countdown-v1", { leaseMs: 1000 });
  await probe.drop();
  await until(() => server.server.sockets === 1);
  clock.advance(2000);
  await until(() => server.server.sessions === 1);
  expect(await other.fails("env/observe", { session: gone })).toMatchObject(named("UNKNOWN_SESSION"));
  expect(await visible(other, long)).toMatchObject({ status: "running" });
});

test("a call renews the lease of a session that no socket holds, and a running trial counts as use", async () => {
  const clock = manualClock();
  const env = trouble();
  await using server = await serverResource({ envs: [env.env], now: clock.now });
  const wire = await server.wire();
  const maker = await server.wire();
  const [called, running, idle] = [
    await begin(maker, "trouble-v1", { leaseMs: 1000 }),
    await begin(maker, "trouble-v1", { leaseMs: 1000 }),
    await begin(maker, "trouble-v1", { leaseMs: 1000 }),
  ];
  maker.request("env/step", { session: running, action: { do: "hang" } }).catch(() => undefined);
  await env.entered();
  await maker.drop();
  await until(() => server.server.sockets === 1);
  clock.advance(900);
  await visible(wire, called);
  clock.advance(900);
  await until(() => server.server.sessions === 2);
  expect(await wire.fails("env/observe", { session: idle })).toMatchObject(
    named("UNKNOWN_SESSION", { reason: "expired" }),
  );
  expect(await visible(wire, called)).toMatchObject({ seq: 1 });
  expect(await visible(wire, running)).toMatchObject({ seq: 1 });
  env.release();
  await until(async () => (await visible(wire, running)).seq === 2);
});
