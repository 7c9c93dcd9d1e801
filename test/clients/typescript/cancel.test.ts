import { expect, test } from "vitest";
import { connect, DeadlinePassed, LateCommit } from "trailgym/client";
import { gate, noReply, type Scripted, scripted, wireError } from "./scripted.ts";

/** The server holds each step of the first socket until told what the cancel found: nothing done, or all of it. */
function race(server: Scripted) {
  const cancelled = gate();
  server.on("$/cancel", () => {
    cancelled.open();
    return noReply;
  });
  return cancelled.opened;
}

test("an aborted step is cancelled at the server, rejects with the signal's reason, and keeps its seq", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  const cancelled = race(server);
  server.on("env/step", async () => {
    await cancelled;
    throw wireError("CANCELLED", {});
  });
  const controller = new AbortController();
  const step = session.step(1, { signal: controller.signal });
  const rejected = expect(step).rejects.toThrow("changed my mind");
  const { id } = await server.got("env/step");
  controller.abort(new Error("changed my mind"));
  await rejected;
  expect(server.of("$/cancel")[0]?.params).toEqual({ id });
  server.on("env/step", (_request, next) => next());
  expect((await session.step(2)).observation).toBe(2);
  expect(server.of("env/step").map(({ params }) => params["seq"])).toEqual([1, 1]);
});

test("a step that was committed before the cancel arrived returns its result, and the next has the right seq", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  const cancelled = race(server);
  server.on("env/step", async (_request, next) => {
    const committed = await next();
    await cancelled;
    return committed;
  });
  const controller = new AbortController();
  const step = session.step(1, { signal: controller.signal });
  await server.got("env/step");
  controller.abort(new Error("too late"));
  expect((await step).observation).toBe(1);
  server.on("env/step", (_request, next) => next());
  expect((await session.step(2)).observation).toBe(3);
  expect(server.of("env/step").map(({ params }) => params["seq"])).toEqual([1, 2]);
});

test("without an answer in the grace the caller is let go; the next step waits, and learns of a late commit", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { cancelGraceMs: 20 });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  const hold = gate();
  server.on("env/step", async (_request, next) => {
    const committed = await next();
    await hold.opened;
    return committed;
  });
  await expect(session.step(1, { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" });
  const next = session.step(2);
  const failed = next.catch((error: unknown) => error);
  hold.open();
  const late = await failed;
  expect(late).toBeInstanceOf(LateCommit);
  expect(late).toMatchObject({ method: "env/step", result: { observation: 1 } });
  expect(server.of("env/step")).toHaveLength(1);
  expect((await session.step(2)).observation).toBe(3);
  expect(server.executed).toBe(3);
});

test("after a late commit a reset needs no warning, and a late CANCELLED leaves nothing behind", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { cancelGraceMs: 10 });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  let hold = gate();
  let commits = true;
  server.on("env/step", async (_request, next) => {
    const result = commits ? await next() : undefined;
    await hold.opened;
    if (result === undefined) throw wireError("CANCELLED", {});
    return result;
  });
  await expect(session.step(1, { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" });
  hold.open();
  expect(await session.reset()).toMatchObject({ index: 0 });
  expect(session.seq).toBe(3);
  [hold, commits] = [gate(), false];
  await expect(session.step(1, { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" });
  hold.open();
  server.on("env/step", (_request, next) => next());
  expect((await session.step(5)).observation).toBe(5);
});

test("only one call may wait behind an abandoned one", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { cancelGraceMs: 5 });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  const hold = gate();
  server.on("env/step", async () => {
    await hold.opened;
    throw wireError("CANCELLED", {});
  });
  await expect(session.step(1, { signal: AbortSignal.timeout(1) })).rejects.toMatchObject({ name: "TimeoutError" });
  server.on("env/step", (_request, next) => next());
  const both = Promise.allSettled([session.step(2), session.step(3)]);
  await expect(session.step(4, { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" });
  hold.open();
  const [first, second] = await both;
  expect(first).toMatchObject({ status: "fulfilled", value: { observation: 2 } });
  expect(second).toMatchObject({ status: "rejected", reason: { code: "SESSION_BUSY" } });
});

test("an abort whose socket is lost is asked again on the next one, with the same seq", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { reconnect: { minDelayMs: 5 } });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  const cancelled = gate();
  server.on("$/cancel", (request) => {
    if (request.socket === 1) request.drop();
    else cancelled.open();
    return noReply;
  });
  server.on("env/step", async (request) => {
    if (request.socket === 1) return noReply;
    await cancelled.opened;
    throw wireError("CANCELLED", {});
  });
  const controller = new AbortController();
  const step = session.step(1, { signal: controller.signal });
  const rejected = expect(step).rejects.toThrow("stop");
  await server.got("env/step");
  controller.abort(new Error("stop"));
  await rejected;
  expect(server.of("env/step").map(({ socket, params }) => [socket, params["seq"]])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  server.on("env/step", (_request, next) => next());
  expect((await session.step(1)).observation).toBe(1);
});

test("a signal that is aborted already sends nothing; so does an abort before there is a socket", async () => {
  await using server = await scripted();
  const lost = gate();
  await using client = await connect(server.url, {
    reconnect: { minDelayMs: 5, maxDelayMs: 10 },
    onStateChange: ({ state }) => state === "lost" && lost.open(),
  });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  await expect(session.step(1, { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
  await server.shut();
  await lost.opened;
  await expect(session.step(1, { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" });
  await server.listen();
  expect((await session.step(2)).observation).toBe(2);
  expect(server.of("env/step")).toHaveLength(1);
});

test("an aborted read ends at once, and its late answer disturbs nobody", async () => {
  await using server = await scripted();
  const violations: unknown[] = [];
  const onViolation = (violation: unknown) => violations.push(violation);
  await using client = await connect(server.url, { onViolation, cancelGraceMs: 60_000 });
  const hold = gate();
  server.on("env/list", async (_request, next) => {
    await hold.opened;
    return next();
  });
  const controller = new AbortController();
  const list = client.list({ signal: controller.signal });
  const rejected = expect(list).rejects.toThrow("bored");
  await server.got("env/list");
  controller.abort(new Error("bored"));
  await rejected;
  await server.got("$/cancel");
  hold.open();
  await client.list();
  expect(violations).toEqual([]);
});

test("an aborted read is not sent again", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { reconnect: { minDelayMs: 5 } });
  server.on("env/tasks", () => noReply);
  const tasks = client.call("env/tasks", { env: "e-v1" }, { signal: AbortSignal.timeout(5) });
  await expect(tasks).rejects.toMatchObject({ name: "TimeoutError" });
  server.dropAll();
  await server.got("initialize", 2);
  await client.list();
  expect(server.of("env/tasks")).toHaveLength(1);
});

test("timeoutMs goes to the server, and ends the call here when the server says nothing", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { cancelGraceMs: 10 });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  server.on("env/step", ({ params }) => {
    throw wireError("DEADLINE", { timeoutMs: params["timeoutMs"] as number });
  });
  await expect(session.step(1, { timeoutMs: 50 })).rejects.toMatchObject({ name: "DEADLINE", data: { timeoutMs: 50 } });
  server.on("env/step", () => noReply);
  const error = await session.step(1, { timeoutMs: 20 }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(DeadlinePassed);
  expect(error).toMatchObject({ timeoutMs: 20 });
});

test("a session that was made after its caller had gone is closed", async () => {
  await using server = await scripted();
  await using client = await connect(server.url, { cancelGraceMs: 5 });
  const hold = gate();
  server.on("env/make", async (_request, next) => {
    await hold.opened;
    return next();
  });
  await expect(client.make("e-v1", { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({ name: "TimeoutError" });
  hold.open();
  const { params } = await server.got("env/close");
  expect(params).toEqual({ session: "s1" });
});
