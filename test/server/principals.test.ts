import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { MethodName, Role } from "trailgym/protocol";
import { methods } from "trailgym/protocol";
import type { TokenEntry } from "trailgym/server";
import { verifies } from "../e2e/verifies.ts";
import { countdown, dice, trouble } from "../resources/envs.ts";
import { begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { named } from "../resources/wire.ts";

function entry(token: string, principal: string, role: Role): TokenEntry {
  return { sha256: createHash("sha256").update(token).digest("hex"), principal, role };
}

const tokens = [
  entry("alice-trains", "alice", "trainer"),
  entry("alice-plays", "alice", "agent"),
  entry("alice-looks", "alice", "observer"),
  entry("bob-trains", "bob", "trainer"),
];

verifies("auth/token", async () => {
  await using server = await serverResource({ envs: [countdown], config: { tokens } });
  const wire = await server.wire({ initialize: false });
  const params = { protocolVersions: ["1"], client: { name: "test", version: "0" } };
  expect(await wire.fails("initialize", params)).toMatchObject({ ...named("UNAUTHENTICATED"), code: 1003 });
  expect(await wire.fails("initialize", { ...params, token: "alice" })).toMatchObject(named("UNAUTHENTICATED"));
  expect(await wire.fails("env/list", {})).toMatchObject(named("NOT_INITIALIZED"));
  expect(await wire.call("initialize", { ...params, token: "alice-plays" })).toMatchObject({ role: "agent" });
  const header = await server.wire({ bearer: "bob-trains", initialize: false });
  expect(await header.initialize()).toMatchObject({ role: "trainer" });
  const wrong = await server.wire({ bearer: "bob", initialize: false });
  expect(await wrong.fails("initialize", params)).toMatchObject(named("UNAUTHENTICATED"));
});

verifies("roles/forbidden", async () => {
  await using server = await serverResource({ envs: [countdown], config: { tokens } });
  const trainer = await server.wire({ token: "alice-trains" });
  const session = await begin(trainer, "countdown-v1");
  const { snapshot } = await trainer.call("env/snapshot", { session });
  const params: { [N in MethodName]?: unknown } = {
    "env/list": {},
    "env/tasks": { env: "countdown-v1" },
    "env/make": { env: "countdown-v1" },
    "env/reset": { session },
    "env/step": { session, action: { amount: 1 } },
    "env/observe": { session },
    "env/snapshot": { session },
    "env/restore": { session, snapshot },
    "env/fork": { session, count: 1 },
    "session/attach": { session },
    "env/close": { session },
  };
  for (const [token, role] of [
    ["alice-looks", "observer"],
    ["alice-plays", "agent"],
  ] as const) {
    const wire = await server.wire({ token });
    for (const [name, given] of Object.entries(params) as [MethodName, unknown][]) {
      const { error } = await wire.request(name, given);
      const allowed = methods[name].roles.includes(role);
      expect([name, error?.data]).toEqual([name, allowed ? undefined : { name: "FORBIDDEN", retryable: false, role }]);
    }
  }
  expect(server.server.sessions).toBe(1);
  expect(await trainer.call("env/observe", { session })).toMatchObject({ seq: 2, index: 1 });
});

verifies("principals/apart", async () => {
  await using server = await serverResource({ envs: [countdown], config: { tokens } });
  const alice = await server.wire({ token: "alice-trains" });
  const agent = await server.wire({ token: "alice-plays" });
  const bob = await server.wire({ token: "bob-trains" });
  const session = await begin(alice, "countdown-v1");
  const { snapshot } = await alice.call("env/snapshot", { session });
  const calls: [MethodName, object][] = [
    ["env/reset", { session }],
    ["env/step", { session, action: { amount: 1 } }],
    ["env/observe", { session }],
    ["env/snapshot", { session }],
    ["env/fork", { session, count: 1 }],
    ["env/fork", { snapshot, count: 1 }],
    ["session/attach", { session }],
    ["env/close", { session }],
  ];
  for (const [name, params] of calls) {
    expect(await bob.fails(name, params as never)).toMatchObject({ ...named("FORBIDDEN", { role: "trainer" }) });
  }
  const own = await begin(bob, "countdown-v1");
  expect(await bob.fails("env/restore", { session: own, snapshot })).toMatchObject(named("FORBIDDEN"));
  // Any connection of the same principal may call it, side by side with the one that made it.
  expect(await step(agent, session, { amount: 1 })).toMatchObject({ index: 1 });
  expect(await alice.call("env/observe", { session })).toMatchObject({ seq: 2 });
  await alice.call("env/close", { session });
  expect(await bob.fails("env/close", { session })).toMatchObject(named("FORBIDDEN"));
});

describe("an agent", () => {
  const disclosing = [
    ...tokens,
    { ...entry("alice-told", "alice", "agent" as const), discloses: ["reward"] as const },
    { ...entry("alice-told-all", "alice", "agent" as const), discloses: ["reward", "info"] as const },
  ];

  async function seenBy(token: string) {
    const server = await serverResource({ envs: [dice], config: { tokens: disclosing } });
    const trainer = await server.wire({ token: "alice-trains" });
    const { session } = await trainer.call("env/make", { env: "dice-v1", autoreset: "sameStep" });
    await trainer.call("env/reset", { session, seed: 3 });
    const agent = await server.wire({ token });
    const steps: object[] = [];
    for (let i = 0; i < 20; i++) steps.push(await step(agent, session, { dice: 1 }));
    const ended = steps.find((each) => "finalObservation" in each) as object;
    const [observed, attached] = [
      await agent.call("env/observe", { session }),
      await agent.call("session/attach", { session }),
    ];
    await server[Symbol.asyncDispose]();
    return { ended, observed, attached };
  }

  const fieldsOf = (value: unknown): string[] =>
    typeof value === "object" && value !== null
      ? [...new Set(Object.entries(value).flatMap(([key, item]) => [key, ...fieldsOf(item)]))].toSorted()
      : [];
  const secret = ["episodeReturn", "finalInfo", "info", "reward", "seed", "stateDigest"];

  verifies("roles/agents-see-no-reward", async () => {
    const { ended, observed, attached } = await seenBy("alice-plays");
    for (const result of [ended, observed, attached]) {
      expect(fieldsOf(result).filter((field) => secret.includes(field))).toEqual([]);
    }
    expect(ended).toHaveProperty("nextEpisode.episode");
    expect(ended).toHaveProperty("terminated", true);
    expect(attached).toHaveProperty("lastReply.observation");
  });

  test("is told what its token discloses", async () => {
    const { ended, observed, attached } = await seenBy("alice-told");
    expect(ended).toHaveProperty("reward");
    expect(observed).toHaveProperty("episodeReturn");
    expect(attached).toHaveProperty("lastReply.reward");
    const told = fieldsOf([ended, observed, attached]).filter((field) => secret.includes(field));
    expect(told).toEqual(["episodeReturn", "reward"]);
    const all = await seenBy("alice-told-all");
    expect(fieldsOf(all).filter((field) => secret.includes(field))).toEqual(secret);
  });

  test("gets a retried reply as it got the first", async () => {
    await using server = await serverResource({ envs: [countdown], config: { tokens } });
    const trainer = await server.wire({ token: "alice-trains" });
    const session = await begin(trainer, "countdown-v1");
    const agent = await server.wire({ token: "alice-plays" });
    const first = await step(agent, session, { amount: 1 }, { seq: 1 });
    expect(await step(agent, session, { amount: 1 }, { seq: 1 })).toEqual(first);
    expect(await step(trainer, session, { amount: 1 }, { seq: 1 })).toMatchObject({ ...first, reward: 0, info: {} });
  });
});

describe("an environment's failure", () => {
  verifies("fault/hidden-from-agents", async () => {
    const env = trouble();
    await using server = await serverResource({ envs: [env.env], config: { tokens } });
    const trainer = await server.wire({ token: "alice-trains" });
    const agent = await server.wire({ token: "alice-plays" });
    const session = await begin(trainer, "trouble-v1");
    const action = { do: "throw", message: "the answer is 42" };
    expect((await trainer.fails("env/step", { session, action })).message).toContain("42");
    const error = await agent.fails("env/step", { session, action });
    expect(error).toMatchObject(named("ENV_FAULT"));
    expect(error.message).not.toContain("42");
  });
});

test("without tokens everybody is one trainer", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const [one, two] = [await server.wire({ bearer: "whatever" }), await server.wire()];
  const session = await begin(one, "countdown-v1");
  expect(await step(two, session, { amount: 1 })).toMatchObject({ index: 1 });
});

test("a principal's sessions are bounded by its token, whoever else has room, and room comes back with each that ends", async () => {
  const [alice, ...others] = tokens;
  const limited = [{ ...(alice as TokenEntry), maxSessions: 3 }, ...others];
  await using server = await serverResource({ envs: [countdown], config: { tokens: limited } });
  const wire = await server.wire({ token: "alice-trains" });
  const make = { env: "countdown-v1" };
  const first = await begin(wire, "countdown-v1");
  await begin(wire, "countdown-v1");
  const over = named("QUOTA", { limit: 3 });
  expect(await wire.fails("env/fork", { session: first, count: 2 })).toMatchObject(over);
  expect((await wire.call("env/fork", { session: first, count: 1 })).sessions).toHaveLength(1);
  expect(await wire.fails("env/make", make)).toMatchObject(over);
  const bob = await server.wire({ token: "bob-trains" });
  await Promise.all(Array.from({ length: 5 }, () => bob.call("env/make", make)));
  await wire.call("env/close", { session: first });
  await wire.call("env/close", { session: first });
  await wire.call("env/make", make);
  expect(await wire.fails("env/make", make)).toMatchObject(over);
  expect(server.server.sessions).toBe(8);
});
