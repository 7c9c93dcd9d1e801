import { expect, test } from "vitest";
import { connect, type ProtocolViolation, RequestTooLarge } from "trailgym/client";
import { noReply, scripted, wireError } from "./scripted.ts";

async function watched() {
  const server = await scripted();
  const violations: ProtocolViolation[] = [];
  const client = await connect(server.url, {
    reconnect: { minDelayMs: 2, maxDelayMs: 10 },
    onViolation: (violation) => violations.push(violation),
  });
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  return {
    server,
    client,
    session,
    violations,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("a reply that comes twice, or to an id that was never used, is reported and changes nothing", async () => {
  await using given = await watched();
  const { server, session, violations } = given;
  server.on("env/step", async (request, next) => {
    const result = await next();
    const reply = { jsonrpc: "2.0", id: request.id, result };
    request.raw(JSON.stringify({ ...reply, id: 999_999, result: { ...result, observation: "wrong" } }));
    request.raw(JSON.stringify({ ...reply, id: String(request.id) }));
    request.raw(JSON.stringify(reply));
    return result;
  });
  expect((await session.step(1)).observation).toBe(1);
  expect((await session.step(1)).observation).toBe(2);
  expect(violations.length).toBeGreaterThanOrEqual(5);
  expect(violations[0]?.code).toBe("PROTOCOL_VIOLATION");
  expect(server.sockets).toBe(1);
});

test.each([
  ["text that is not JSON", "{nope"],
  ["a number", "42"],
  ["an empty batch", "[]"],
  ["a response with neither result nor error", '{"jsonrpc":"2.0","id":1}'],
  ["another version of JSON-RPC", '{"jsonrpc":"1.0","id":1,"result":{}}'],
  ["a batch with garbage in it", "[null]"],
])("%s is reported, and the call gets its answer over a new socket", async (_name, garbage) => {
  await using given = await watched();
  const { server, session, violations } = given;
  server.on("env/step", async (request, next) => {
    const result = await next();
    if (request.socket > 1) return result;
    request.raw(garbage);
    return noReply;
  });
  expect((await session.step(5)).observation).toBe(5);
  expect(server.executed).toBe(2);
  expect(violations).toHaveLength(1);
});

test("a malformed error is a violation of its own call only", async () => {
  await using given = await watched();
  const { server, session, client } = given;
  server.on("env/step", (request) => {
    request.raw(JSON.stringify({ jsonrpc: "2.0", id: request.id, error: "no" }));
    return noReply;
  });
  await expect(session.step(1)).rejects.toMatchObject({ code: "PROTOCOL_VIOLATION" });
  expect(await client.list()).toEqual([]);
});

test("an error without an id ends the only call that it can be about", async () => {
  await using given = await watched();
  const { server, session } = given;
  server.on("env/step", (request) => {
    const error = wireError("INVALID_REQUEST", {}).toObject();
    request.raw(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    return noReply;
  });
  await expect(session.step(1)).rejects.toMatchObject({ name: "INVALID_REQUEST" });
});

test("an error without an id that may be about several calls ends none of the innocent", async () => {
  await using given = await watched();
  const { server, session, client } = given;
  const other = await client.make<number, number>("e-v1");
  await other.reset();
  server.on("env/step", (request, next) => {
    if (request.params["session"] === other.id && request.socket > 1) return next();
    if (request.params["session"] === other.id) return noReply;
    const error = wireError("PARSE_ERROR", {}).toObject();
    request.raw(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    return noReply;
  });
  const [innocent, guilty] = await Promise.allSettled([other.step(1), session.step(1)]);
  expect(innocent).toMatchObject({ status: "fulfilled", value: { observation: 1 } });
  expect(guilty).toMatchObject({ status: "rejected", reason: { name: "PARSE_ERROR" } });
});

test("unknown notifications and unknown fields of a newer server are ignored", async () => {
  await using given = await watched();
  const { server, session, violations } = given;
  server.on("env/step", async (request, next) => {
    request.raw('{"jsonrpc":"2.0","method":"$/weather","params":{"rain":true}}');
    request.raw('{"jsonrpc":"2.0","method":"$/progress","params":{"id":"nobody"}}');
    return { ...(await next()), weather: "rain" };
  });
  expect(await session.step(1)).toMatchObject({ observation: 1, weather: "rain" });
  expect(violations).toEqual([]);
});

test("an error name of a newer server arrives as it is", async () => {
  await using given = await watched();
  const { server, session } = given;
  server.on("env/step", (request) => {
    const error = { code: 1777, message: "new", data: { name: "SOLAR_FLARE", retryable: true, kp: 9 } };
    request.raw(JSON.stringify({ jsonrpc: "2.0", id: request.id, error }));
    return noReply;
  });
  await expect(session.step(1)).rejects.toMatchObject({
    name: "SOLAR_FLARE",
    code: 1777,
    retryable: true,
    data: { kp: 9 },
  });
});

test("a request over the server's limit is refused here, counted in bytes, and the session goes on", async () => {
  await using given = await watched();
  const { server, session } = given;
  const big = "€".repeat(40_000) as unknown as number;
  const error = await session.step(big).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(RequestTooLarge);
  expect((error as RequestTooLarge).bytes).toBeGreaterThan(120_000);
  expect((await session.step(1)).observation).toBe(1);
  expect(server.of("env/step")).toHaveLength(1);
});

test("a reply on a socket that was never asked is not believed", async () => {
  await using given = await watched();
  const { server, session, violations } = given;
  server.on("env/step", (request, next) => {
    if (request.socket > 1) return next();
    server.on("initialize", (second, welcome) => {
      second.raw(JSON.stringify({ jsonrpc: "2.0", id: request.id, result: { observation: "forged" } }));
      return welcome();
    });
    request.drop();
    return noReply;
  });
  expect((await session.step(1)).observation).toBe(1);
  expect(violations).toHaveLength(1);
});
