import { setTimeout } from "node:timers/promises";
import { defineEnv } from "trailgym/env";
import { expect, test } from "vitest";
import { z } from "zod";
import { verifies } from "../../e2e/verifies.ts";
import { corridor, dice, echo, quiz, trouble } from "../../resources/envs.ts";
import { add, begin, step, visible } from "../../resources/play.ts";
import { serverResource } from "../../resources/server.ts";
import { named, resultText } from "../../resources/wire.ts";

const walk = { stop: false };
const stop = { stop: true };

test("autoreset disabled: a step after the end is RESET_NEEDED and consumes nothing", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1");
  await step(wire, session, stop, { seq: 1 });
  expect(await wire.fails("env/step", { session, seq: 2, action: walk })).toMatchObject(named("RESET_NEEDED"));
  expect(await wire.call("env/reset", { session, seq: 2 })).toMatchObject({ index: 0 });
});

verifies("autoreset/next-step", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1", { autoreset: "nextStep" });
  const last = await step(wire, session, stop, { seq: 1 });
  expect(last).toMatchObject({ terminated: true, observation: { at: 1 } });
  expect(last).not.toHaveProperty("nextEpisode");
  const next = await step(wire, session, walk, { seq: 2 });
  expect(next).toMatchObject({ observation: { at: 0 }, reward: 0, terminated: false, truncated: false, index: 0 });
  expect(next.nextEpisode).toMatchObject({ task: null });
  expect(next).not.toHaveProperty("finalObservation");
  expect(await step(wire, session, walk, { seq: 3 })).toMatchObject({ observation: { at: 1 }, index: 1 });
  expect(await visible(wire, session)).toMatchObject({ episodeReturn: 1 });
});

verifies("autoreset/same-step", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1", { autoreset: "sameStep" });
  const ordinary = await step(wire, session, walk);
  expect(ordinary).not.toHaveProperty("finalObservation");
  const last = await step(wire, session, stop);
  expect(last).toMatchObject({
    observation: { at: 0 },
    info: { fresh: true },
    reward: 1,
    terminated: true,
    index: 2,
    finalObservation: { at: 2 },
    finalInfo: { stopped: true },
  });
  const now = await visible(wire, session);
  expect(now).toMatchObject({ status: "running", index: 0, observation: { at: 0 }, episodeReturn: 0 });
  expect(now.stateDigest).toBe(last.stateDigest);
  expect(await step(wire, session, walk)).toMatchObject({ index: 1, observation: { at: 1 } });
});

test("a retry of the step that reset is the same step and the same new episode", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1", { autoreset: "sameStep" });
  const params = { session, seq: 1, action: stop };
  const first = await wire.request("env/step", params);
  expect(resultText(await wire.request("env/step", params))).toBe(resultText(first));
});

verifies("autoreset/replayable", async () => {
  await using server = await serverResource({ envs: [dice, quiz] });
  const wire = await server.wire();
  for (const autoreset of ["sameStep", "nextStep"] as const) {
    const session = await begin(wire, "dice-v1", { autoreset }, { seed: 5 });
    let reply = await step(wire, session, { dice: 3 });
    while (reply.nextEpisode === undefined) reply = await step(wire, session, { dice: 3 });
    const { seed } = reply.nextEpisode;
    expect(seed).not.toBe(5);
    const replay = await begin(wire, "dice-v1", {}, { seed });
    expect((await visible(wire, replay)).observation).toEqual(reply.observation);
    const [auto, named] = [await step(wire, session, { dice: 1 }), await step(wire, replay, { dice: 1 })];
    expect({ ...auto, nextEpisode: undefined }).toEqual({ ...named, nextEpisode: undefined });
    // And the whole chain is a function of the first seed.
    const twin = await begin(wire, "dice-v1", { autoreset }, { seed: 5 });
    let other = await step(wire, twin, { dice: 3 });
    while (other.nextEpisode === undefined) other = await step(wire, twin, { dice: 3 });
    expect(other.nextEpisode.seed).toBe(seed);
  }
});

test("autoreset draws tasks of the split that the client chose, and stays with a task that it named", async () => {
  await using server = await serverResource({ envs: [quiz] });
  const wire = await server.wire();
  const drawn = await begin(wire, "quiz-v1", { autoreset: "sameStep" }, { split: "test" });
  const tasks = new Set<string | null | undefined>();
  for (let i = 0; i < 12; i++) tasks.add((await step(wire, drawn, { answer: "" })).nextEpisode?.task);
  for (const task of tasks) expect(task).toMatch(/^test-/);
  expect(tasks.size).toBeGreaterThan(1);
  const fixed = await begin(wire, "quiz-v1", { autoreset: "sameStep" }, { task: "train-7" });
  for (let i = 0; i < 3; i++) {
    const { nextEpisode } = await step(wire, fixed, { answer: "" });
    expect(nextEpisode).toMatchObject({ task: "train-7", tools: [{ name: "answer_train-7" }] });
  }
});

test("a reset that fails within a step leaves the episode unended, and the step to be tried again", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1", { autoreset: "sameStep", options: { from: 0 } });
  await wire.call("env/reset", { session, seq: 1 });
  const before = await visible(wire, session);
  const failing = { session, seq: 2, action: { do: "throw" } };
  expect(await wire.fails("env/step", failing)).toMatchObject(named("ENV_FAULT"));
  expect(await visible(wire, session)).toEqual(before);
  expect(await step(wire, session, { do: "end" }, { seq: 2 })).toMatchObject({ terminated: true });
});

test("a step and the reset that follows it in the same call have one deadline together", async () => {
  let waitMs = 0;
  const slow = defineEnv({
    id: "slow-v1",
    summary: "Takes its time, and ends with each step.",
    state: z.object({}),
    action: z.object({}),
    observation: z.null(),
    options: z.object({}),
    async reset() {
      await setTimeout(waitMs);
      return { state: {}, observation: null };
    },
    async step(_ctx, state) {
      await setTimeout(waitMs);
      return { state, observation: null, terminated: true };
    },
  });
  await using server = await serverResource({ envs: [slow] });
  const wire = await server.wire();
  const session = await begin(wire, "slow-v1", { autoreset: "sameStep" });
  const before = await visible(wire, session);
  waitMs = 300;
  const late = { session, seq: 1, action: {}, timeoutMs: 450 };
  expect(await wire.fails("env/step", late)).toMatchObject(named("DEADLINE", { timeoutMs: 450 }));
  expect(await visible(wire, session)).toEqual(before);
  waitMs = 0;
  expect(await step(wire, session, {}, { seq: 1 })).toMatchObject({ terminated: true, index: 1 });
});

verifies("digest/step-or-end", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const always = await begin(wire, "corridor-v1");
  const atEnd = await begin(wire, "corridor-v1", { digest: "end" });
  const digests = [];
  for (const action of [walk, walk, stop]) {
    digests.push([
      (await step(wire, always, action)).stateDigest,
      (await step(wire, atEnd, action)).stateDigest,
      (await visible(wire, atEnd)).stateDigest,
    ]);
  }
  for (const [full, , observed] of digests) expect(observed).toBe(full);
  expect(digests.map(([, sparse]) => sparse)).toEqual([undefined, undefined, digests[2]?.[0]]);
  expect(await wire.call("env/reset", { session: atEnd })).toHaveProperty("stateDigest");
  expect(await wire.call("env/snapshot", { session: atEnd })).toMatchObject({
    digest: (await visible(wire, atEnd)).stateDigest,
  });
});

test("the digest is of the value, not of the way to it", async () => {
  await using server = await serverResource({ envs: [echo] });
  const wire = await server.wire();
  const session = await begin(wire, "echo-v1");
  const digestOf = async (value: unknown) => (await step(wire, session, { value })).stateDigest;
  expect(await digestOf({ a: 1, b: [2, 3] })).toBe(await digestOf({ b: [2, 3], a: 1 }));
  const distinct = [0, "0", null, false, [], {}, "", { $type: "float", value: "-0" }, { $type: "int64", value: "0" }];
  expect(new Set(await inTurn(distinct, digestOf)).size).toBe(distinct.length);
});

async function inTurn<T, U>(items: readonly T[], work: (item: T) => Promise<U>): Promise<U[]> {
  const results: U[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

verifies("fork/same-replies", async () => {
  await using server = await serverResource({ envs: [dice] });
  const wire = await server.wire();
  const source = await begin(wire, "dice-v1", {}, { seed: 11 });
  await step(wire, source, { dice: 1 });
  const { snapshot } = await wire.call("env/snapshot", { session: source });
  const { sessions } = await wire.call("env/fork", { snapshot, count: 3 });
  const direct = await wire.call("env/fork", { session: source, count: 1 });
  const all = [...sessions, ...direct.sessions];
  expect(new Set(all).size).toBe(4);
  const before = await visible(wire, source);
  const trajectories = [];
  for (const session of all) {
    expect(await visible(wire, session)).toEqual({ ...before, seq: 0 });
    const texts = [];
    for (let seq = 0; seq < 2; seq++) {
      texts.push(resultText(await wire.request("env/step", { session, seq, action: { dice: 2 } })));
    }
    trajectories.push(texts.join());
  }
  expect(new Set(trajectories).size).toBe(1);
  expect(await visible(wire, source)).toEqual(before);
});

verifies("fork/independent", async () => {
  await using server = await serverResource({ envs: [dice] });
  const wire = await server.wire();
  const source = await begin(wire, "dice-v1", { leaseMs: 5000 });
  const { snapshot } = await wire.call("env/snapshot", { session: source, label: "start" });
  const { sessions } = await wire.call("env/fork", { session: source, count: 2 });
  const [one, two] = sessions as [string, string];
  await step(wire, one, { dice: 1 });
  await wire.call("env/close", { session: source });
  await wire.call("env/close", { session: one });
  expect(await step(wire, two, { dice: 1 }, { seq: 0 })).toMatchObject({ index: 1 });
  // A snapshot outlives its session, and a fork keeps the settings of the session it came from.
  const again = await wire.call("env/fork", { snapshot, count: 1 });
  const attached = await wire.call("session/attach", { session: again.sessions[0] as string });
  expect(attached).toMatchObject({ leaseMs: 5000, seq: 0, status: "running" });
  expect(attached).not.toHaveProperty("lastReply");
});

verifies("restore/continues", async () => {
  await using server = await serverResource({ envs: [dice, corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "dice-v1", {}, { seed: 3 });
  await step(wire, session, { dice: 1 });
  const at = await visible(wire, session);
  const { snapshot, index, digest, bytes } = await wire.call("env/snapshot", { session });
  expect({ index, digest }).toEqual({ index: 1, digest: at.stateDigest });
  expect(bytes).toBeGreaterThan(10);
  const ahead = await step(wire, session, { dice: 2 });
  const restored = await wire.call("env/restore", { session, seq: 3, snapshot });
  expect(restored).toEqual({ ...at, seq: 4 });
  expect(await visible(wire, session)).toEqual(restored);
  // The same action from the same value is the same step, chance included.
  expect(await step(wire, session, { dice: 2 }, { seq: 4 })).toEqual(ahead);
  const other = await begin(wire, "corridor-v1");
  expect(await wire.fails("env/restore", { session: other, snapshot })).toMatchObject(named("UNKNOWN_SNAPSHOT"));
  expect(await wire.fails("env/restore", { session, snapshot: "snap-none" })).toMatchObject(named("UNKNOWN_SNAPSHOT"));
});

test("a restore brings back an episode that has ended since, and even one that another session began", async () => {
  await using server = await serverResource({ envs: [corridor] });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1");
  const { snapshot } = await wire.call("env/snapshot", { session });
  await step(wire, session, stop);
  await wire.call("env/restore", { session, snapshot });
  expect(await step(wire, session, walk)).toMatchObject({ index: 1, terminated: false });
  const fresh = await wire.call("env/make", { env: "corridor-v1" });
  await wire.call("env/restore", { session: fresh.session, seq: 0, snapshot });
  expect(await step(wire, fresh.session, walk, { seq: 1 })).toMatchObject({ index: 1 });
});

test("beyond the cap the snapshot longest unused is forgotten", async () => {
  await using server = await serverResource({ envs: [corridor], config: { maxSnapshots: 2 } });
  const wire = await server.wire();
  const session = await begin(wire, "corridor-v1");
  const take = async () => (await wire.call("env/snapshot", { session })).snapshot;
  const [first, second] = [await take(), await take()];
  await wire.call("env/restore", { session, snapshot: first });
  await take();
  await wire.call("env/restore", { session, snapshot: first });
  expect(await wire.fails("env/restore", { session, snapshot: second })).toMatchObject(named("UNKNOWN_SNAPSHOT"));
});

verifies("observe/never-waits", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1");
  const before = await visible(wire, session);
  const running = step(wire, session, { do: "wait" });
  await env.entered();
  expect(await visible(wire, session)).toEqual(before);
  const { snapshot } = await wire.call("env/snapshot", { session });
  const { sessions } = await wire.call("env/fork", { snapshot, count: 1 });
  expect(await step(wire, sessions[0] as string, add())).toMatchObject({ observation: { count: 1 } });
  env.release();
  expect(await running).toMatchObject({ observation: { count: 1 } });
});

verifies("attach/last-reply", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const session = await begin(wire, "trouble-v1", { leaseMs: 7000 });
  const running = wire.request("env/step", { session, seq: 1, action: { do: "wait" } });
  running.catch(() => undefined);
  await env.entered();
  await wire.drop();
  env.release();
  const back = await server.wire();
  const attached = await back.call("session/attach", { session });
  expect(attached).toMatchObject({ status: "running", seq: 2, index: 1, observation: { count: 1 }, leaseMs: 7000 });
  expect(attached.lastReply).toEqual(await step(back, session, { do: "wait" }, { seq: 1 }));
  expect(env.runs).toBe(1);
});
