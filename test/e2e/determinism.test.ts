/** The same seed and actions twice: the same bytes, whichever way the episode came about. */

import { createHash } from "node:crypto";
import { expect } from "vitest";
import { countdown, dice, quiz } from "../resources/envs.ts";
import { begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { resultText, type Wire } from "../resources/wire.ts";
import { verifies } from "./verifies.ts";

const actions = [1, 2, 3, 1, 1, 2].map((dice) => ({ dice }));

/** The bytes of the replies to `actions` from where the session is; an episode that has ended says so. */
async function trajectory(wire: Wire, session: string, from = 0): Promise<string[]> {
  const texts: string[] = [];
  for (const action of actions.slice(from)) {
    const reply = await wire.request("env/step", { session, action });
    texts.push(reply.error === undefined ? resultText(reply) : (reply.error.data?.name ?? ""));
  }
  return texts;
}

verifies("episode/deterministic", async () => {
  await using one = await serverResource({ envs: [dice] });
  await using two = await serverResource({ envs: [dice, countdown] });
  const [wire, other] = [await one.wire(), await two.wire()];
  for (let seed = 0; seed < 8; seed++) {
    const session = await begin(wire, "dice-v1", {}, { seed });
    await step(wire, session, actions[0]);
    const { snapshot } = await wire.call("env/snapshot", { session });
    const rest = await trajectory(wire, session, 1);
    expect(rest[0]).toContain('"observation"');
    // A second time, from the start, on another server.
    const again = await begin(other, "dice-v1", {}, { seed });
    const whole = await trajectory(other, again);
    expect(whole.slice(1)).toEqual(rest);
    // From a fork half-way, and from a restore in a session that was elsewhere.
    const { sessions } = await wire.call("env/fork", { snapshot, count: 1 });
    expect(await trajectory(wire, sessions[0] as string, 1)).toEqual(rest);
    const astray = await begin(wire, "dice-v1", {}, { seed: 1000 });
    await wire.call("env/restore", { session: astray, snapshot });
    expect(await trajectory(wire, astray, 1)).toEqual(rest);
    // A failed step in between draws no numbers.
    const retried = await begin(wire, "dice-v1", {}, { seed });
    await wire.fails("env/step", { session: retried, action: { dice: 9 } });
    expect(await trajectory(wire, retried)).toEqual(whole);
  }
});

verifies("seed/honoured", async () => {
  await using server = await serverResource({ envs: [dice, quiz] });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "dice-v1" });
  const drawn = await wire.call("env/reset", { session });
  const first = await trajectory(wire, session);
  const { episode, ...same } = await wire.call("env/reset", { session, seed: drawn.seed });
  expect({ ...same, episode: drawn.episode }).toEqual(drawn);
  expect(episode).not.toBe(drawn.episode);
  expect(await trajectory(wire, session)).toEqual(first);
  const seeds = new Set<number>();
  const openings = new Set<string>();
  for (let i = 0; i < 10; i++) {
    seeds.add((await wire.call("env/reset", { session })).seed);
    openings.add(JSON.stringify((await wire.call("env/reset", { session, seed: i })).observation));
  }
  expect([seeds.size, openings.size]).toEqual([10, 10]);
});

verifies("sessions/independent", async () => {
  await using server = await serverResource({ envs: [dice] });
  const wire = await server.wire();
  const alone: string[][] = [];
  for (let seed = 0; seed < 6; seed++) alone.push(await trajectory(wire, await begin(wire, "dice-v1", {}, { seed })));
  const sessions = await Promise.all([0, 1, 2, 3, 4, 5].map((seed) => begin(wire, "dice-v1", {}, { seed })));
  expect(await Promise.all(sessions.map((session) => trajectory(wire, session)))).toEqual(alone);
});

verifies("digest/attestation", async () => {
  await using server = await serverResource({ envs: [countdown, dice] });
  const wire = await server.wire();
  const sha = (text: string) => createHash("sha256").update(text, "utf8").digest("hex").slice(0, 32);
  const { session } = await wire.call("env/make", { env: "countdown-v1" });
  expect((await wire.call("env/reset", { session })).stateDigest).toBe(sha('{"remaining":5}'));
  expect((await step(wire, session, { amount: 3 })).stateDigest).toBe(sha('{"remaining":2}'));
});
