import { expect, test } from "vitest";
import {
  type ConnectOptions,
  ClosedError,
  connect,
  ConnectionLost,
  type StateChange,
  WireError,
} from "trailgym/client";
import { gate, noReply, scripted, wireError } from "./scripted.ts";

const quick: ConnectOptions = { reconnect: { minDelayMs: 5, maxDelayMs: 20, maxAttempts: 20 } };

test("a step that was committed before the socket broke is answered late, and was executed once", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, quick);
  const session = await client.make<number, number>("countdown-v1");
  await session.reset();
  server.on("env/step", async (request, next) => {
    const result = await next();
    if (server.of("env/step").length === 1) request.drop();
    return result;
  });
  expect((await session.step(3)).observation).toBe(3);
  expect((await session.step(4)).observation).toBe(7);
  expect(server.executed).toBe(3);
  const [first, again] = server.of("env/step");
  expect([first?.socket, again?.socket]).toEqual([1, 2]);
  expect(again?.params).toEqual(first?.params);
});

test("a step that was lost before it was executed is executed after the reconnect", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, quick);
  const session = await client.make<number, number>("countdown-v1");
  await session.reset();
  server.on("env/step", (request, next) => {
    if (server.of("env/step").length > 1) return next();
    request.drop();
    return noReply;
  });
  expect((await session.step(3)).observation).toBe(3);
  expect(server.executed).toBe(2);
});

test("the new socket initialises, attaches every session, and only then repeats what was unanswered", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { ...quick, token: "secret", name: "trainer-7" });
  const [a, b, gone] = [await client.make("e-v1"), await client.make("e-v1"), await client.make("e-v1")];
  await gone.close();
  await Promise.all([a.reset(), b.reset()]);
  server.on("env/step", (request, next) => (request.socket === 1 ? noReply : next()));
  server.on("env/observe", (request, next) => (request.socket === 1 ? noReply : next()));
  const calls = [a.step(1), b.observe()];
  await server.got("env/observe");
  server.dropAll();
  await Promise.all(calls);
  const second = server.received.filter(({ socket }) => socket === 2);
  expect(second.map(({ method, params }) => [method, params["session"]])).toEqual([
    ["initialize", undefined],
    ["session/attach", a.id],
    ["session/attach", b.id],
    ["env/step", a.id],
    ["env/observe", b.id],
  ]);
  expect(second[0]?.params).toMatchObject({ token: "secret", client: { name: "trainer-7" }, protocolVersions: ["1"] });
});

test("only what was unanswered is sent again", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, quick);
  const sessions = await Promise.all(Array.from({ length: 16 }, () => client.make<number, number>("e-v1")));
  await Promise.all(sessions.map((session) => session.reset()));
  server.on("env/step", (request, next) => (request.socket === 1 && Number(request.id) % 2 === 0 ? noReply : next()));
  const steps = Promise.all(sessions.map((session) => session.step(1)));
  await server.got("env/step", 16);
  // Whatever was answered has been sent before this reply is.
  await client.list();
  server.dropAll();
  expect((await steps).map(({ observation }) => observation)).toEqual(Array(16).fill(1));
  expect(server.of("env/step")).toHaveLength(16 + 8);
  expect(server.executed).toBe(16 + 16);
});

test("calls that must not happen twice fail with ConnectionLost once they were written", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, quick);
  const session = await client.make("e-v1");
  await session.reset();
  for (const method of ["env/make", "env/fork", "env/snapshot"]) server.on(method, () => noReply);
  server.on("env/step", (request, next) => (request.socket === 1 ? noReply : next()));
  const lost = [
    client.make("e-v1"),
    session.fork(2),
    session.snapshot(),
    // Without a seq the server cannot know a retry.
    client.call("env/step", { session: session.id, action: 1 }),
  ];
  const failures = Promise.allSettled(lost);
  await server.got("env/step");
  server.dropAll();
  for (const outcome of await failures) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CONNECTION_LOST" } });
  }
  expect(server.of("env/make")).toHaveLength(2);
  expect((await session.step(1)).observation).toBe(1);
});

test("a call made while there is no socket waits for one, even if it could not be repeated", async () => {
  await using server = await scripted();
  const states: string[] = [];
  const lost = gate();
  await using client = await connect(server.url, {
    ...quick,
    onStateChange: ({ state }) => {
      states.push(state);
      if (state === "lost") lost.open();
    },
  });
  await server.shut();
  await lost.opened;
  const making = client.make("e-v1");
  await new Promise((resolve) => setTimeout(resolve, 30));
  await server.listen();
  expect((await making).id).toBe("s1");
  expect(server.of("env/make")).toHaveLength(1);
});

test("a call made while its socket is closing was surely not delivered, and goes out on the next", async () => {
  await using server = await scripted();
  let closing = false;
  class Closing extends WebSocket {
    override get readyState() {
      return closing ? WebSocket.CLOSING : super.readyState;
    }
  }
  await using client = await connect(server.url, { ...quick, WebSocket: Closing });
  closing = true;
  const making = client.make("e-v1");
  server.dropAll();
  closing = false;
  expect((await making).id).toBe("s1");
  expect(server.of("env/make").map(({ socket }) => socket)).toEqual([2]);
});

test("a session that the server lost says so to its own call, and leaves the others alone", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, quick);
  const [kept, gone] = [await client.make<number, number>("e-v1"), await client.make<number, number>("e-v1")];
  await Promise.all([kept.reset(), gone.reset()]);
  server.on("env/step", (request, next) => (request.socket === 1 ? noReply : next()));
  const steps = Promise.allSettled([kept.step(1), gone.step(1)]);
  await server.got("env/step", 2);
  server.sessions.delete(gone.id);
  server.dropAll();
  expect(await steps).toMatchObject([
    { status: "fulfilled", value: { observation: 1 } },
    { status: "rejected", reason: { name: "UNKNOWN_SESSION" } },
  ]);
});

test("each change of state is told once, in order", async () => {
  await using server = await scripted();
  const changes: StateChange[] = [];
  const client = await connect(server.url, {
    ...quick,
    onStateChange: (change) => {
      changes.push(change);
      throw new Error("the caller's own trouble");
    },
  });
  await client.list();
  server.dropAll();
  await server.got("initialize", 2);
  await client.list();
  await client.close();
  await client.close();
  expect(changes).toMatchObject([
    { state: "open", instance: "i1" },
    { state: "lost", code: 1006 },
    { state: "reconnecting", attempt: 1 },
    { state: "open" },
    { state: "closed" },
  ]);
  expect(changes[4]).not.toHaveProperty("error");
});

test("after the allowed attempts the client gives up, and every call and session learns why", async () => {
  await using server = await scripted();
  const changes: StateChange[] = [];
  const closed = gate();
  const client = await connect(server.url, {
    reconnect: { minDelayMs: 1, maxDelayMs: 4, maxAttempts: 3 },
    onStateChange: (change) => {
      changes.push(change);
      if (change.state === "closed") closed.open();
    },
  });
  const session = await client.make("e-v1");
  await session.reset();
  server.on("env/step", () => noReply);
  const step = session.step(1);
  const failed = expect(step).rejects.toBeInstanceOf(ConnectionLost);
  await server.got("env/step");
  await server.shut();
  await closed.opened;
  await failed;
  expect(changes.filter(({ state }) => state === "reconnecting")).toHaveLength(3);
  expect(changes.at(-1)).toMatchObject({ state: "closed", error: { code: "CONNECTION_LOST" } });
  await expect(session.observe()).rejects.toBeInstanceOf(ClosedError);
});

test("a frame that ends every socket it is sent on does not go round for ever", async () => {
  await using server = await scripted();
  const client = await connect(server.url, { reconnect: { minDelayMs: 1, maxDelayMs: 60_000, maxAttempts: 4 } });
  server.on("env/list", (request) => {
    request.drop();
    return noReply;
  });
  await expect(client.list()).rejects.toBeInstanceOf(ConnectionLost);
  expect(server.of("env/list")).toHaveLength(5);
}, 5000);

test("with reconnect: false a lost socket closes the client", async () => {
  await using server = await scripted();
  const client = await connect(server.url, { reconnect: false });
  server.on("env/list", () => noReply);
  const list = client.list();
  const failed = expect(list).rejects.toBeInstanceOf(ConnectionLost);
  await server.got("env/list");
  server.dropAll();
  await failed;
  await expect(client.list()).rejects.toBeInstanceOf(ClosedError);
});

test("a refusal that trying again cannot mend ends the attempts, with the server's error", async () => {
  await using server = await scripted();
  const closed = gate();
  let last: StateChange | undefined;
  const client = await connect(server.url, {
    ...quick,
    onStateChange: (change) => {
      last = change;
      if (change.state === "closed") closed.open();
    },
  });
  server.on("env/list", () => noReply);
  server.on("initialize", () => {
    throw wireError("UNAUTHENTICATED", {});
  });
  const list = client.list();
  const failed = expect(list).rejects.toMatchObject({ name: "UNAUTHENTICATED", code: 1003 });
  await server.got("env/list");
  server.dropAll();
  await Promise.all([failed, closed.opened]);
  expect(last).toMatchObject({ error: { name: "UNAUTHENTICATED" } });
  expect(server.of("initialize")).toHaveLength(2);
});

test("every initialize carries the traceparent that the client was given", async () => {
  await using server = await scripted();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await using client = await connect(server.url, { ...quick, traceparent });
  server.dropAll();
  await client.list();
  expect(server.of("initialize").map(({ params }) => params)).toEqual([
    expect.objectContaining({ traceparent }),
    expect.objectContaining({ traceparent }),
  ]);
});

test("connect fails at once without a server, or keeps trying as often as it was told", async () => {
  const server = await scripted();
  await server.shut();
  await expect(connect(server.url, quick)).rejects.toBeInstanceOf(ConnectionLost);
  const patient = connect(server.url, { ...quick, connectAttempts: 100 });
  await new Promise((resolve) => setTimeout(resolve, 30));
  await server.listen();
  await using client = await patient;
  expect(client.welcome.server.name).toBe("scripted");
  await server[Symbol.asyncDispose]();
});

test("connect passes on what the server refuses, and which versions it has", async () => {
  await using server = await scripted();
  server.on("initialize", () => {
    throw wireError("UNSUPPORTED_VERSION", { supported: ["9"] });
  });
  const error = await connect(server.url).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(WireError);
  expect(error).toMatchObject({ name: "UNSUPPORTED_VERSION", data: { supported: ["9"] } });
  server.on("initialize", async (_request, next) => ({ ...(await next()), protocolVersion: "9" }));
  await expect(connect(server.url)).rejects.toMatchObject({ code: "PROTOCOL_VIOLATION" });
});

test("connect ends with its signal, and when the server accepts the socket but never answers", async () => {
  await using server = await scripted();
  server.on("initialize", () => noReply);
  const controller = new AbortController();
  const connecting = connect(server.url, { signal: controller.signal });
  const aborted = expect(connecting).rejects.toThrow("enough");
  await server.got("initialize");
  controller.abort(new Error("enough"));
  await aborted;
  await expect(connect(server.url, { connectTimeoutMs: 30 })).rejects.toBeInstanceOf(ConnectionLost);
  await expect(connect(server.url, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
});

test("a peer that went silent is asked once, and then taken for dead", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { ...quick, heartbeatMs: 20 });
  const session = await client.make("e-v1");
  await session.reset();
  server.on("ping", (request, next) => (request.socket === 1 ? noReply : next()));
  server.on("env/step", (request, next) => (request.socket === 1 ? noReply : next()));
  expect((await session.step(2)).observation).toBe(2);
  expect(server.of("ping").filter(({ socket }) => socket === 1)).toHaveLength(1);
});

test("a peer that answers the heartbeat keeps its socket, however long a step takes", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { ...quick, heartbeatMs: 10 });
  const session = await client.make("e-v1");
  await session.reset();
  const hold = gate();
  server.on("env/step", async (_request, next) => {
    await hold.opened;
    return next();
  });
  const step = session.step(2);
  await server.got("ping", 4);
  hold.open();
  await step;
  expect(server.sockets).toBe(1);
});

test("a random schedule of lost sockets loses no step and plays none twice", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { reconnect: { minDelayMs: 1, maxDelayMs: 3, maxAttempts: 50 } });
  const sessions = await Promise.all(Array.from({ length: 8 }, () => client.make<number, number>("e-v1")));
  let dice = 12345;
  const chance = () => (dice = (dice * 1103515245 + 12345) % 2147483648) / 2147483648;
  server.on("env/step", async (request, next) => {
    const before = chance() < 0.02;
    if (before) {
      request.drop();
      return noReply;
    }
    const result = await next();
    if (chance() < 0.02) request.drop();
    return result;
  });
  const totals = await Promise.all(
    sessions.map(async (session, i) => {
      await session.reset();
      let observation = 0;
      for (let step = 0; step < 60; step++) observation = (await session.step(i + 1)).observation;
      return observation;
    }),
  );
  expect(totals).toEqual(sessions.map((_, i) => 60 * (i + 1)));
  expect(server.executed).toBe(8 * 61);
  expect(server.sockets).toBeGreaterThan(5);
});
