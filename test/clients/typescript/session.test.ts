import { expect, test } from "vitest";
import { ClosedError, connect, ProtocolViolation, SessionBusy, WireError } from "trailgym/client";
import { NdArray } from "trailgym/protocol";
import { gate, noReply, scripted, wireError } from "./scripted.ts";

test("a session numbers its mutating calls and leaves reads alone", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset({ seed: 3 });
  await session.step(1);
  await session.observe();
  const { snapshot } = await session.snapshot("here");
  await session.step(1);
  await session.restore(snapshot);
  const numbered = server.received
    .filter(({ params }) => "seq" in params)
    .map(({ method, params }) => [method, params["seq"]]);
  expect(numbered).toEqual([
    ["env/reset", 0],
    ["env/step", 1],
    ["env/step", 2],
    ["env/restore", 3],
  ]);
  expect(session.seq).toBe(4);
});

test("a failed call does not consume its seq, and its error carries the server's name and fields", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset();
  server.on("env/step", () => {
    throw wireError("INVALID_ACTION", { issues: [{ path: "amount", message: "too big" }] });
  });
  const error = await session.step(9).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(WireError);
  expect(error).toMatchObject({
    name: "INVALID_ACTION",
    code: 1202,
    retryable: false,
    data: { issues: [{ path: "amount" }] },
  });
  server.on("env/step", (_request, next) => next());
  await session.step(2);
  expect(server.of("env/step").map(({ params }) => params["seq"])).toEqual([1, 1]);
});

test("after SEQ_CONFLICT nothing is skipped until the caller asks for it", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  await using other = await connect(server.url);
  const session = await client.make<number, number>("countdown-v1");
  await session.reset();
  const guest = await other.attach<number, number>(session.id);
  expect(guest.seq).toBe(1);
  await guest.step(5);
  await expect(session.step(2)).rejects.toMatchObject({ name: "SEQ_CONFLICT", data: { expected: 2 } });
  await expect(session.step(2)).rejects.toMatchObject({ name: "SEQ_CONFLICT" });
  const where = await session.resync();
  expect(where).toMatchObject({ seq: 2, observation: 5, lastReply: { reward: 5 } });
  expect((await session.step(2)).observation).toBe(7);
});

test("a second step while one runs throws and sends nothing", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset();
  const hold = gate();
  server.on("env/step", async (_request, next) => {
    await hold.opened;
    return next();
  });
  const first = session.step(1);
  await expect(session.step(2)).rejects.toBeInstanceOf(SessionBusy);
  await expect(session.reset()).rejects.toMatchObject({ code: "SESSION_BUSY" });
  expect(await session.observe()).toMatchObject({ observation: 0 });
  hold.open();
  expect(await first).toMatchObject({ observation: 1 });
  expect(server.of("env/step")).toHaveLength(1);
});

test("values that JSON would lose go out and come back as they were", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("any-v1");
  await session.reset();
  const action = {
    nan: NaN,
    big: 2n ** 60n,
    bytes: new Uint8Array([1, 2]),
    grid: new NdArray("float32", [2], new Float32Array([1, 2])),
    mine: { $type: "shirt" },
  };
  server.on("env/step", async ({ params }, next) => {
    const result = await next();
    return {
      ...result,
      reward: 0,
      observation: params["action"],
      finalObservation: params["action"],
      info: { echo: params["action"] },
    };
  });
  const step = await session.step(action);
  expect(step.observation).toEqual(action);
  expect(step.finalObservation).toEqual(action);
  expect(step.info).toEqual({ echo: action });
  expect(server.of("env/step")[0]?.params["action"]).toMatchObject({
    big: { $type: "int64" },
    mine: { $type: "object" },
  });
});

test("a value that cannot cross the wire is refused here, and the session goes on", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset();
  await expect(session.step({ at: new Date() })).rejects.toMatchObject({ name: "ValueError", path: "action.at" });
  expect((await session.step(1)).observation).toBe(1);
});

test("a result without the promised shape is a violation, and its seq counts as used", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset();
  server.on("env/step", async (_request, next) => ({ ...(await next()), reward: "lots" }));
  await expect(session.step(1)).rejects.toBeInstanceOf(ProtocolViolation);
  server.on("env/step", async (_request, next) => ({ ...(await next()), observation: { $type: "float", value: "7" } }));
  await expect(session.step(1)).rejects.toMatchObject({ code: "PROTOCOL_VIOLATION" });
  server.on("env/step", (_request, next) => next());
  expect((await session.step(1)).observation).toBe(3);
});

test("progress reaches the call that it is about, and a callback that throws hurts nobody", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const [a, b] = [await client.make("countdown-v1"), await client.make("countdown-v1")];
  await Promise.all([a.reset(), b.reset()]);
  server.on("env/step", async (request, next) => {
    const { id, params } = request;
    const progress = { id, fraction: 0.5, message: params["session"] };
    request.raw(JSON.stringify({ jsonrpc: "2.0", method: "$/progress", params: progress }));
    return next();
  });
  const heard: unknown[] = [];
  await Promise.all([
    a.step(1, { onProgress: ({ fraction, message }) => heard.push([fraction, message]) }),
    b.step(1, {
      onProgress: () => {
        throw new Error("caller's own");
      },
    }),
  ]);
  expect(heard).toEqual([[0.5, a.id]]);
});

test("closing twice asks once, a running step ends with the server's CANCELLED, later calls are refused", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset();
  const closed = gate();
  server.on("env/step", async () => {
    await closed.opened;
    throw wireError("CANCELLED", {});
  });
  server.on("env/close", (_request, next) => {
    closed.open();
    return next();
  });
  const running = session.step(1);
  await Promise.all([session.close(), session.close(), expect(running).rejects.toMatchObject({ name: "CANCELLED" })]);
  expect(server.of("env/close")).toHaveLength(1);
  await expect(session.step(1)).rejects.toBeInstanceOf(ClosedError);
  await expect(session.observe()).rejects.toBeInstanceOf(ClosedError);
});

test("a session that is gone already closes without an error", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  server.on("env/close", () => {
    throw wireError("UNKNOWN_SESSION", { reason: "expired" });
  });
  await session.close();
});

test("disposal closes what was made, lets go of what was attached, and never hides the caller's error", async () => {
  await using server = await scripted();
  const client = await connect(server.url, { reconnect: false });
  {
    await using made = await client.make("countdown-v1");
    await using attached = await client.attach((await client.call("env/make", { env: "countdown-v1" })).session);
    expect([made.id, attached.id]).toEqual(["s1", "s2"]);
  }
  expect(server.of("env/close").map(({ params }) => params["session"])).toEqual(["s1"]);
  const failing = async () => {
    await using session = await client.make("countdown-v1");
    await client.close();
    throw new Error(`the caller's, about ${session.id}`);
  };
  await expect(failing()).rejects.toThrow("the caller's, about s3");
  const orphaned = async () => {
    const lost = Promise.withResolvers<void>();
    const onStateChange = ({ state }: { state: string }) => state === "closed" && lost.resolve();
    const client = await connect(server.url, { reconnect: false, onStateChange });
    await using session = await client.make("countdown-v1");
    server.dropAll();
    await lost.promise;
    throw new Error(`the caller's, about ${session.id}`);
  };
  await expect(orphaned()).rejects.toThrow("the caller's, about s4");
});

test("closing the client closes its sessions, except detached ones", async () => {
  await using server = await scripted();
  const client = await connect(server.url);
  const [, kept] = [await client.make("countdown-v1"), await client.make("countdown-v1")];
  kept.detach();
  await Promise.all([client.close(), client.close()]);
  expect([...server.sessions.keys()]).toEqual([kept.id]);
});

test("forks are sessions of their own that start at seq 0", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make("countdown-v1");
  await session.reset();
  const forks = [...(await session.fork(2)), ...(await client.fork("snap1", 1)), ...(await client.fork(session, 1))];
  expect(new Set(forks.map(({ id }) => id)).size).toBe(4);
  await Promise.all(forks.map((fork) => fork.step(1)));
  expect(server.of("env/step").map(({ params }) => params["seq"])).toEqual([0, 0, 0, 0]);
  expect(server.of("env/fork").map(({ params }) => params)).toEqual([
    { session: "s1", count: 2 },
    { snapshot: "snap1", count: 1 },
    { session: "s1", count: 1 },
  ]);
});

test("CAPACITY is thrown, or waited out when asked for", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  server.on("env/make", (_request, next) => {
    if (server.of("env/make").length % 3 !== 0) throw wireError("CAPACITY", { retryAfterMs: 5 });
    return next();
  });
  await expect(client.make("countdown-v1")).rejects.toMatchObject({ name: "CAPACITY", data: { retryAfterMs: 5 } });
  await client.make("countdown-v1", { retryCapacity: true });
  expect(server.of("env/make")).toHaveLength(3);
  expect(server.of("env/make")[2]?.params).toEqual({ env: "countdown-v1" });
  server.on("env/make", () => {
    throw wireError("UNKNOWN_ENV", { suggestions: [] });
  });
  await expect(client.make("e-v1", { retryCapacity: true })).rejects.toMatchObject({ name: "UNKNOWN_ENV" });
  server.on("env/make", () => {
    throw wireError("CAPACITY", { retryAfterMs: 60_000 });
  });
  const patience = AbortSignal.timeout(20);
  const waiting = client.make("countdown-v1", { retryCapacity: true, signal: patience });
  await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
});

test("listings walk every page, tasks only as far as they are wanted", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  server.on("env/tasks", ({ params }) => {
    const from = Number(params["cursor"] ?? 0);
    const tasks = [0, 1, 2].map((i) => ({ id: `t${from + i}`, n: { $type: "int64", value: "9" } }));
    return { tasks, total: 9, ...(from < 6 ? { nextCursor: String(from + 3) } : {}) };
  });
  const all = await Array.fromAsync(client.tasks("e-v1", { split: "train" }));
  expect(all.map(({ id }) => id)).toEqual(["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]);
  expect(all[0]?.["n"]).toBe(9n);
  expect(server.of("env/tasks")).toHaveLength(3);
  const some = await Array.fromAsync(client.tasks("e-v1", { limit: 3 }));
  expect(some).toHaveLength(3);
  expect(server.of("env/tasks")).toHaveLength(4);
  server.on("env/list", () => ({ envs: [], nextCursor: "again" }));
  await expect(client.list()).rejects.toBeInstanceOf(ProtocolViolation);
});

test("replies are matched by id, in whatever order they come", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const sessions = await Promise.all(Array.from({ length: 8 }, () => client.make<number, number>("countdown-v1")));
  await Promise.all(sessions.map((session) => session.reset()));
  const waiting: (() => void)[] = [];
  server.on("env/step", async (_request, next) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 8)
        void (async () => {
          for (const release of waiting.reverse()) {
            release();
            await new Promise((resolve) => setImmediate(resolve));
          }
        })();
    });
    return next();
  });
  const steps = await Promise.all(sessions.map((session, i) => session.step(i + 1)));
  expect(steps.map(({ observation }) => observation)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a call without an answer ends when the client is closed", async () => {
  await using server = await scripted();
  const client = await connect(server.url);
  server.on("env/list", () => noReply);
  const list = client.list();
  const refused = expect(list).rejects.toBeInstanceOf(ClosedError);
  await client.close();
  await refused;
  await expect(client.list()).rejects.toBeInstanceOf(ClosedError);
});
