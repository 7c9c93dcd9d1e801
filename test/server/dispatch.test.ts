import { describe, expect, test } from "vitest";
import { memoryJournal } from "trailgym/server";
import { verifies } from "../e2e/verifies.ts";
import { corridor, countdown, trouble } from "../resources/envs.ts";
import { add, begin, step, visible } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import { named, type Reply } from "../resources/wire.ts";

async function played(config = {}) {
  const env = trouble();
  const server = await serverResource({ envs: [env.env, countdown, corridor], config });
  const wire = await server.wire();
  return { env, server, wire, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe("a batch", () => {
  test("is answered by one array, even when it holds one request", async () => {
    await using given = await played();
    const { wire } = given;
    const [reply] = await wire.batch([["env/list", {}]]);
    expect(JSON.parse(reply?.text ?? "")).toEqual([expect.objectContaining({ id: reply?.id })]);
  });

  verifies("batch/side-by-side", async () => {
    await using given = await played();
    const { env, wire } = given;
    const sessions = await Promise.all([1, 2, 3].map(() => begin(wire, "trouble-v1")));
    const action = { do: "wait" };
    const frames = wire.frames.length;
    const replies = wire.batch(sessions.map((session) => ["env/step", { session, seq: 1, action }] as const));
    // All three run before any has ended, and nothing is sent before all have.
    await env.entered(3);
    expect(wire.frames.length).toBe(frames);
    env.release();
    for (const { result } of await replies) expect(result).toMatchObject({ index: 1 });
    expect(wire.frames.length).toBe(frames + 1);
  });

  test("of notifications alone is not answered", async () => {
    await using given = await played();
    const { wire } = given;
    const frames = wire.frames.length;
    wire.send([
      { jsonrpc: "2.0", method: "$/cancel", params: { id: 1 } },
      { jsonrpc: "2.0", method: "no/such" },
      { jsonrpc: "2.0", method: "env/list", params: {} },
    ]);
    await wire.call("env/list", {});
    expect(wire.frames.length).toBe(frames + 1);
  });

  test("with junk in it answers each entry for itself", async () => {
    await using given = await played();
    const { wire } = given;
    const n = wire.frames.length;
    const good = { jsonrpc: "2.0", id: "good", method: "env/list" };
    wire.send([1, good, [], { jsonrpc: "2.0", id: "bad" }, null, { jsonrpc: "2.0", method: "env/list" }]);
    const replies = JSON.parse(await wire.frame(n)) as Reply[];
    expect(replies.map(({ id, error }) => [id, error?.code])).toEqual([
      [null, -32600],
      ["good", undefined],
      [null, -32600],
      [null, -32600],
      [null, -32600],
    ]);
  });

  test("that is empty or over maxBatch is one INVALID_REQUEST and runs nothing", async () => {
    await using given = await played({ maxBatch: 3 });
    const { server, wire } = given;
    const n = wire.frames.length;
    wire.send([]);
    expect(JSON.parse(await wire.frame(n))).toMatchObject({ id: null, error: { code: -32600 } });
    const make = (id: number) => ({ jsonrpc: "2.0", id, method: "env/make", params: { env: "countdown-v1" } });
    wire.send([make(1), make(2), make(3), make(4)]);
    expect(JSON.parse(await wire.frame(n + 1))).toMatchObject({ id: null, error: { code: -32600 } });
    expect(server.server.sessions).toBe(0);
    expect((await wire.batch([1, 2, 3].map(() => ["env/make", { env: "countdown-v1" }] as const))).length).toBe(3);
    expect(server.server.sessions).toBe(3);
  });

  test("may hold a reset and its steps only in turn: one of a session runs at a time", async () => {
    await using given = await played();
    const { env, wire } = given;
    const session = await begin(wire, "trouble-v1");
    const replies = wire.batch([
      ["env/step", { session, seq: 1, action: { do: "wait" } }],
      ["env/step", { session, seq: 2, action: add() }],
    ]);
    await env.entered();
    env.release();
    const [first, second] = await replies;
    expect(first?.result).toMatchObject({ index: 1 });
    expect(second?.error?.data?.name).toBe("SESSION_BUSY");
  });

  test("whose replies together are too large to send still answers every id", async () => {
    await using given = await played({ maxMessageBytes: 4000 });
    const { wire } = given;
    const sessions = await Promise.all([1, 2, 3].map(() => begin(wire, "trouble-v1")));
    const action = { do: "swell", length: 3000 };
    const replies = await wire.batch(sessions.map((session) => ["env/step", { session, seq: 1, action }] as const));
    for (const reply of replies) expect(reply.result ?? reply.error).toBeDefined();
    for (const session of sessions) expect(await step(wire, session, action, { seq: 1 })).toMatchObject({ index: 1 });
  });
});

describe("$/cancel", () => {
  test("of an unknown or ended id is ignored", async () => {
    await using given = await played();
    const { wire } = given;
    const session = await begin(wire, "trouble-v1");
    const ended = wire.nextId();
    await wire.request("env/step", { session, action: add() }, ended);
    const frames = wire.frames.length;
    for (const id of [ended, "never", null, 1e9]) wire.notify("$/cancel", { id });
    wire.notify("$/cancel", { no: "id" });
    wire.notify("$/cancel", undefined);
    expect(await step(wire, session, add())).toMatchObject({ index: 2 });
    expect(wire.frames.length).toBe(frames + 1);
  });

  test("that comes before its request does not reach it", async () => {
    await using given = await played();
    const { wire } = given;
    const session = await begin(wire, "trouble-v1");
    const id = wire.nextId();
    wire.notify("$/cancel", { id });
    expect((await wire.request("env/step", { session, action: add() }, id)).result).toMatchObject({ index: 1 });
  });

  verifies("cancel/same-read", async () => {
    await using given = await played();
    const { wire } = given;
    for (const action of [add(), { do: "wait" }]) {
      const session = await begin(wire, "trouble-v1");
      const before = await visible(wire, session);
      const id = wire.nextId();
      const reply = wire.replyTo(id);
      wire.sendTogether(
        { jsonrpc: "2.0", id, method: "env/step", params: { session, seq: 1, action } },
        { jsonrpc: "2.0", method: "$/cancel", params: { id } },
      );
      // Whoever is told CANCELLED may rely on it.
      const { error } = await reply;
      if (error !== undefined) {
        expect(error.data?.name).toBe("CANCELLED");
        expect(await visible(wire, session)).toEqual(before);
      } else expect(await visible(wire, session)).toMatchObject({ index: 1 });
    }
  });

  test("in the batch of its request ends it, and the state is untouched", async () => {
    await using given = await played();
    const { wire } = given;
    const session = await begin(wire, "trouble-v1");
    const before = await visible(wire, session);
    const id = wire.nextId();
    const reply = wire.replyTo(id);
    wire.send([
      { jsonrpc: "2.0", id, method: "env/step", params: { session, seq: 1, action: add() } },
      { jsonrpc: "2.0", method: "$/cancel", params: { id } },
    ]);
    expect((await reply).error?.data?.name).toBe("CANCELLED");
    expect(await visible(wire, session)).toEqual(before);
  });

  test("reaches no other socket's request of the same id", async () => {
    await using given = await played();
    const { env, server, wire } = given;
    const other = await server.wire();
    const session = await begin(wire, "trouble-v1");
    const reply = wire.request("env/step", { session, action: { do: "wait" } }, "mine");
    await env.entered();
    other.notify("$/cancel", { id: "mine" });
    await other.call("env/list", {});
    env.release();
    expect((await reply).result).toMatchObject({ index: 1 });
  });
});

test("$/cancel with an id is an unknown method, and cancels nothing", async () => {
  await using given = await played();
  const { env, wire } = given;
  const session = await begin(wire, "trouble-v1");
  const reply = wire.request("env/step", { session, action: { do: "wait" } }, "mine");
  await env.entered();
  const refused = await wire.request("$/cancel", { id: "mine" }, "other");
  expect(refused.error?.data?.name).toBe("METHOD_NOT_FOUND");
  env.release();
  expect((await reply).result).toMatchObject({ index: 1 });
});

test("an id that is still running is refused to a second request, and the first is answered all the same", async () => {
  await using given = await played();
  const { env, wire } = given;
  const session = await begin(wire, "trouble-v1");
  const n = wire.frames.length;
  wire.send({ jsonrpc: "2.0", id: "twice", method: "env/step", params: { session, action: { do: "wait" } } });
  await env.entered();
  wire.send({ jsonrpc: "2.0", id: "twice", method: "env/list", params: {} });
  expect(JSON.parse(await wire.frame(n))).toMatchObject({ id: "twice", error: { code: -32600 } });
  env.release();
  expect(JSON.parse(await wire.frame(n + 1))).toMatchObject({ id: "twice", result: { index: 1 } });
  wire.send({ jsonrpc: "2.0", id: "twice", method: "env/list", params: {} });
  expect(JSON.parse(await wire.frame(n + 2))).toMatchObject({ id: "twice", result: {} });
});

test("an id is told apart by its type, and a falsy one is an id", async () => {
  await using given = await played();
  const { wire } = given;
  const replies = await Promise.all([0, "0", "", 1.5, -1, null].map((id) => wire.request("env/list", {}, id)));
  expect(replies.map(({ id }) => id)).toEqual([0, "0", "", 1.5, -1, null]);
});

verifies("init/first", async () => {
  await using given = await played();
  const { server } = given;
  const wire = await server.wire({ initialize: false });
  for (const method of ["env/list", "env/make", "rpc.discover", "env/close"] as const) {
    const { error } = await wire.request(method, {});
    expect(error).toMatchObject({ code: 1001, data: { name: "NOT_INITIALIZED" } });
  }
  const client = { name: "test", version: "0" };
  const newer = await wire.fails("initialize", { protocolVersions: ["99", "7"], client });
  expect(newer).toMatchObject(named("UNSUPPORTED_VERSION", { supported: ["1"] }));
  const agreed = await wire.call("initialize", { protocolVersions: ["99", "1"], client });
  expect(agreed).toMatchObject({ protocolVersion: "1", role: "trainer", server: { name: "trailgym" } });
  expect(agreed.server.instance).toBe(server.server.instance);
  expect(await wire.fails("initialize", { protocolVersions: ["1"], client })).toMatchObject(named("INVALID_REQUEST"));
  expect(await wire.call("env/list", {})).toHaveProperty("envs");
});

verifies("params/strict", async () => {
  await using given = await played();
  const { server, wire } = given;
  const { error } = await wire.request("env/make", { env: "countdown-v1", seeed: 3 });
  expect(error).toMatchObject({ code: -32602, data: { name: "INVALID_PARAMS", retryable: false } });
  expect(error?.message).toContain("seeed");
  expect(server.server.sessions).toBe(0);
  expect(await wire.fails("env/make", { env: 5 } as never)).toMatchObject(
    named("INVALID_PARAMS", { issues: [expect.objectContaining({ path: "env" })] }),
  );
});

verifies("names/suggested", async () => {
  await using given = await played();
  const { wire } = given;
  const { error } = await wire.request("env/stpe", {});
  expect(error).toMatchObject({ code: -32601, data: { name: "METHOD_NOT_FOUND" } });
  expect((error?.data as { suggestions?: string[] }).suggestions?.[0]).toBe("env/step");
  expect(error?.message).toContain('did you mean "env/step"?');
  expect(await wire.fails("env/make", { env: "cuontdown-v1" })).toMatchObject(
    named("UNKNOWN_ENV", { suggestions: ["countdown-v1"] }),
  );
});

test("names that every object has are no methods", async () => {
  await using given = await played();
  const { wire } = given;
  for (const method of ["constructor", "__proto__", "toString", "hasOwnProperty", "rpc.", ""]) {
    expect((await wire.request(method, {})).error?.code).toBe(-32601);
  }
});

verifies("message/request-too-large", async () => {
  await using given = await played({ maxMessageBytes: 2000 });
  const { wire } = given;
  const session = await begin(wire, "trouble-v1");
  const before = await visible(wire, session);
  for (const message of ["x".repeat(2000), "€".repeat(700)]) {
    const error = await wire.fails("env/step", { session, seq: 1, action: { do: "throw", message } });
    expect(error).toMatchObject({ ...named("MESSAGE_TOO_LARGE", { limit: 2000 }), code: 1303 });
  }
  expect(await visible(wire, session)).toEqual(before);
  // One that nobody could mean is cut off before it is held in memory.
  wire.send("x".repeat(10_000));
  expect(await wire.closed).toMatchObject({ code: 1009 });
});

test("whoever has not been let in yet gets room for a greeting and no more", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const wire = await server.wire({ initialize: false });
  const protocolVersions = Array.from({ length: 40_000 }, () => "x");
  const error = await wire.fails("initialize", { protocolVersions, client: { name: "x", version: "1" } });
  expect(error).toMatchObject(named("MESSAGE_TOO_LARGE", { limit: 65_536 }));
});

test("params that are wrong in many places are told of twenty", async () => {
  await using server = await serverResource({ envs: [countdown] });
  const wire = await server.wire({ initialize: false });
  const protocolVersions = Array.from({ length: 60 }, () => 1) as never;
  const error = await wire.fails("initialize", { protocolVersions, client: { name: "x", version: "1" } });
  expect(error.name).toBe("INVALID_PARAMS");
  expect(error.data.issues).toHaveLength(20);
});

test("a failure of the server itself is INTERNAL_ERROR, and says nothing of its inside", async () => {
  const journal = { ...memoryJournal(), putSnapshot: () => Promise.reject(new Error("disk /secret is full")) };
  await using server = await serverResource({ envs: [countdown], journal });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  const error = await wire.fails("env/snapshot", { session });
  expect(error).toMatchObject({ name: "INTERNAL_ERROR", code: -32603, retryable: true });
  expect(error.message).not.toContain("secret");
});

test("a commit that the journal refuses is no commit: the session goes on from where it was", async () => {
  const memory = memoryJournal();
  let full = false;
  const journal = {
    ...memory,
    append: (...args: Parameters<typeof memory.append>) =>
      full ? Promise.reject(new Error("full")) : memory.append(...args),
  };
  await using server = await serverResource({ envs: [countdown], journal });
  const wire = await server.wire();
  const session = await begin(wire, "countdown-v1");
  const before = await visible(wire, session);
  full = true;
  const params = { session, seq: 1, action: { amount: 1 } };
  expect(await wire.fails("env/step", params)).toMatchObject(named("INTERNAL_ERROR"));
  expect(await visible(wire, session)).toEqual(before);
  full = false;
  expect(await wire.call("env/step", params)).toMatchObject({ index: 1, observation: { remaining: 4 } });
});
