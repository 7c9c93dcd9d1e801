/** What is an agent's client told, and who notices when somebody is told too little? */

import { createHash } from "node:crypto";
import {
  type AgentSession,
  connect,
  ProtocolViolation,
  type Session,
  type StateChange,
  WrongRole,
} from "trailgym/client";
import { describe, expect, expectTypeOf, test } from "vitest";
import { countdown } from "../../resources/envs.ts";
import { serverResource } from "../../resources/server.ts";
import { scripted } from "./scripted.ts";

async function withRole(role: string) {
  const server = await scripted();
  server.on("initialize", async (_request, next) => ({ ...(await next()), role }));
  return server;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const token = (name: string, role: "trainer" | "agent", more = {}) => ({
  sha256: sha256(name),
  principal: "alice",
  role,
  ...more,
});

describe("an agent's client", () => {
  test("plays what its trainer resets, and is told neither reward nor info", async () => {
    const tokens = [
      token("trains", "trainer"),
      token("plays", "agent"),
      token("told", "agent", { discloses: ["reward"] }),
    ];
    await using server = await serverResource({ envs: [countdown], config: { tokens } });
    await using trainer = await connect(server.url, { token: "trains" });
    const session = await trainer.make("countdown-v1");
    await session.reset({ seed: 1 });

    await using agent = await connect(server.url, { token: "plays", role: "agent" });
    const mine = await agent.attach<{ remaining: number }, { amount: number }>(session.id);
    const step = await mine.step({ amount: 3 });
    expect(step).toMatchObject({ observation: { remaining: 2 }, terminated: false, index: 1 });
    const observed = await mine.observe();
    expect(observed).toMatchObject({ status: "running", observation: { remaining: 2 } });
    for (const field of ["reward", "info", "episodeReturn"]) {
      expect(step).not.toHaveProperty(field);
      expect(observed).not.toHaveProperty(field);
    }

    await using told = await connect(server.url, { token: "told", role: "agent" });
    const last = await (await told.attach<unknown, { amount: number }>(session.id)).step({ amount: 2 });
    expect(last.reward).toBe(1);
  });

  test("is typed as what an agent may do and is told", () => {
    type Step<S extends { step(action: never): Promise<unknown> }> = Awaited<ReturnType<S["step"]>>;
    expectTypeOf<Step<AgentSession>["reward"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Step<Session>["reward"]>().toEqualTypeOf<number>();
    expectTypeOf<Awaited<ReturnType<Session["observe"]>>["episodeReturn"]>().toEqualTypeOf<number>();
    expectTypeOf<AgentSession>().not.toHaveProperty("reset");
    const agent = () => connect("ws://127.0.0.1:1", { role: "agent" });
    expectTypeOf(agent).returns.resolves.not.toHaveProperty("make");
    const trainer = () => connect("ws://127.0.0.1:1");
    expectTypeOf(trainer).returns.resolves.toHaveProperty("make");
  });

  test("is not opened with a token of another role, at once or after a reconnect", async () => {
    await using server = await withRole("trainer");
    const refused = await connect(server.url, { role: "agent" }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WrongRole);
    expect(refused).toMatchObject({ code: "WRONG_ROLE", role: "trainer" });
    expect(server.sockets).toBe(1);

    const changes: StateChange[] = [];
    const quick = { minDelayMs: 1, maxDelayMs: 5 };
    const options = {
      role: "trainer",
      reconnect: quick,
      onStateChange: (change: StateChange) => changes.push(change),
    } as const;
    await using client = await connect(server.url, options);
    const session = await client.make("e-v1");
    server.on("initialize", async (_request, next) => ({ ...(await next()), role: "observer" }));
    server.dropAll();
    await expect(session.observe()).rejects.toMatchObject({ code: "WRONG_ROLE", role: "observer" });
    expect(changes.at(-1)).toMatchObject({ state: "closed", error: { code: "WRONG_ROLE" } });
  });
});

describe("a trainer's client", () => {
  test.each([
    ["env/step", "reward"],
    ["env/step", "info"],
    ["env/observe", "episodeReturn"],
    ["env/observe", "info"],
    ["env/restore", "episodeReturn"],
    ["session/attach", "info"],
  ])("does not take a result of %s without %s for one", async (method, field) => {
    for (const role of ["trainer", "agent"]) {
      await using server = await withRole(role);
      await using client = await connect(server.url);
      const session = await client.make<number, number>("e-v1");
      await session.reset();
      server.on(method, async (_request, next) => ({ ...(await next()), [field]: undefined }));
      const calls = {
        "env/step": () => session.step(1),
        "env/observe": () => session.observe(),
        "env/restore": () => session.restore("snap"),
        "session/attach": () => session.resync(),
      };
      const outcome = await calls[method as keyof typeof calls]().catch((error: unknown) => error);
      if (role === "agent") expect(outcome).toMatchObject({ observation: expect.any(Number) as number });
      else expect(outcome).toBeInstanceOf(ProtocolViolation);
      if (role === "trainer")
        expect((outcome as Error).message).toContain(`${method} is not what it promises (${field}`);
    }
  });

  test("gets an error and NaN where a vector's step has no reward", async () => {
    await using server = await withRole("trainer");
    await using client = await connect(server.url);
    const vector = await client.vector<number, number>("e-v1", 2);
    await vector.reset();
    server.on("env/step", async ({ params }, next) => {
      const result = await next();
      return params["action"] === 1 ? { ...result, reward: undefined } : result;
    });
    const { rewards, errors } = await vector.step([1, 2]);
    expect(rewards).toEqual(Float64Array.of(NaN, 2));
    expect(errors).toMatchObject([{ code: "PROTOCOL_VIOLATION" }, undefined]);
  });
});
