import { expect, test } from "vitest";
import { connect } from "trailgym/client";
import { scripted, wireError } from "./scripted.ts";

test("a vector makes, resets and steps its sessions with one frame each", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  await using vector = await client.vector<number, number>("e-v1", 4, { autoreset: "sameStep" });
  const reset = await vector.reset({ seed: 10, options: { start: 3 } });
  expect(reset.seeds).toEqual([10, 11, 12, 13]);
  const step = await vector.step([1, 2, 3, 4]);
  expect(step.observations).toEqual([1, 2, 3, 4]);
  expect(step.rewards).toEqual(Float64Array.of(1, 2, 3, 4));
  expect(step.terminated).toEqual([false, false, false, false]);
  expect(step.errors).toEqual([undefined, undefined, undefined, undefined]);
  for (const method of ["env/make", "env/reset", "env/step"]) {
    expect(server.of(method).map(({ frame }) => frame)).toEqual([4, 4, 4, 4]);
  }
  expect(server.of("env/make")[0]?.params).toEqual({ env: "e-v1", wait: false, autoreset: "sameStep" });
});

test("frames are split at the server's maxBatch and at its maxMessageBytes", async () => {
  await using server = await scripted();
  server.limits = { ...server.limits, maxBatch: 3 };
  await using client = await connect(server.url);
  await using vector = await client.vector<unknown, unknown>("e-v1", 7);
  await vector.reset();
  expect(server.of("env/reset").map(({ frame }) => frame)).toEqual([3, 3, 3, 3, 3, 3, 1]);
  const text = "é".repeat(15_000);
  await vector.step(Array(7).fill(text));
  expect(server.of("env/step").map(({ frame }) => frame)).toEqual([3, 3, 3, 3, 3, 3, 1]);
  await vector.step(Array(7).fill(text + text));
  expect(
    server
      .of("env/step")
      .slice(7)
      .map(({ frame }) => frame),
  ).toEqual([1, 1, 1, 1, 1, 1, 1]);
  const { errors } = await vector.step([1, text + text + text + text, ...Array<number>(5).fill(1)]);
  expect(errors[1]).toMatchObject({ code: "REQUEST_TOO_LARGE", limit: 100_000 });
  expect(errors.filter((error) => error !== undefined)).toHaveLength(1);
});

test("one environment's error leaves the others their results, and no reward looks like 0", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  await using vector = await client.vector<number, number>("e-v1", 3);
  await vector.reset();
  const bad = vector.sessions[1]?.id;
  server.on("env/step", ({ params }, next) => {
    if (params["session"] === bad) throw wireError("ENV_FAULT", {});
    return next();
  });
  const step = await vector.step([1, 1, 1]);
  expect(step.observations).toEqual([1, undefined, 1]);
  expect(step.rewards).toEqual(Float64Array.of(1, NaN, 1));
  expect(step.errors).toMatchObject([undefined, { name: "ENV_FAULT" }, undefined]);
  server.on("env/step", (_request, next) => next());
  expect((await vector.step([1, 1, 1])).observations).toEqual([2, 1, 2]);
});

test("environments can be left out of a step and of a reset", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  await using vector = await client.vector<number, number>("e-v1", 3);
  await vector.reset({ seed: [5, 6, 7], task: "t1" });
  const step = await vector.step([1, undefined, 1]);
  expect(step.observations).toEqual([1, undefined, 1]);
  expect(step.errors).toEqual([undefined, undefined, undefined]);
  const reset = await vector.reset({ only: [2], task: ["a", "b", "c"] });
  expect(reset.tasks).toEqual([undefined, undefined, "c"]);
  expect(vector.sessions.map(({ seq }) => seq)).toEqual([2, 1, 3]);
  await expect(vector.step([1])).rejects.toBeInstanceOf(RangeError);
});

test("after a lost socket only the unanswered entries are sent again, with their seq", async () => {
  await using server = await scripted();
  server.limits = { ...server.limits, maxBatch: 2 };
  await using client = await connect(server.url, { reconnect: { minDelayMs: 5 } });
  await using vector = await client.vector<number, number>("e-v1", 4);
  await vector.reset();
  const slow = new Set(vector.sessions.slice(2).map(({ id }) => id));
  const silent = Promise.withResolvers<Record<string, unknown>>();
  server.on("env/step", async (request, next) => {
    const result = await next();
    // The second frame's reply never comes on the first socket, though its steps are committed.
    return request.socket === 1 && slow.has(request.params["session"] as string) ? silent.promise : result;
  });
  const step = vector.step([1, 2, 3, 4]);
  await server.got("env/step", 4);
  await client.list();
  server.dropAll();
  expect((await step).observations).toEqual([1, 2, 3, 4]);
  expect(
    server.of("env/step").map(({ socket, params, frame }) => [socket, params["session"], params["seq"], frame]),
  ).toEqual([
    [1, "s1", 1, 2],
    [1, "s2", 1, 2],
    [1, "s3", 1, 2],
    [1, "s4", 1, 2],
    [2, "s3", 1, 2],
    [2, "s4", 1, 2],
  ]);
  expect(server.executed).toBe(8);
});

test("same-step autoreset gives the ended episode's last values beside the next one's first", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  await using vector = await client.vector<number, number>("e-v1", 2, { autoreset: "sameStep" });
  await vector.reset();
  server.on("env/step", async ({ params }, next) => {
    const result = await next();
    if (params["action"] !== 2) return result;
    return { ...result, observation: 0, terminated: true, finalObservation: 2, finalInfo: { won: true } };
  });
  const step = await vector.step([1, 2]);
  expect(step).toMatchObject({
    observations: [1, 0],
    terminated: [false, true],
    finalObservations: [undefined, 2],
    finalInfos: [undefined, { won: true }],
  });
});

test("when one of the sessions cannot be made the others are closed", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  let asked = 0;
  server.on("env/make", (_request, next) => {
    if (++asked === 2) throw wireError("CAPACITY", { retryAfterMs: 5 });
    return next();
  });
  await expect(client.vector("e-v1", 3)).rejects.toMatchObject({ name: "CAPACITY" });
  expect(server.sessions.size).toBe(0);
});

test("sessions that are there already step with one frame, each with its own seq", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  const session = await client.make<number, number>("e-v1");
  await session.reset();
  await session.step(5);
  const forks = await session.fork(2);
  await forks[0]?.reset();
  const together = client.vectorOf([session, ...forks]);
  expect((await together.step([1, 2, 3])).observations).toEqual([6, 2, 3]);
  const sent = server.of("env/step").slice(1);
  expect(sent.map(({ frame, params }) => [frame, params["seq"]])).toEqual([
    [3, 2],
    [3, 1],
    [3, 0],
  ]);
});

test("a vector takes no session twice, and none of another client", async () => {
  await using server = await scripted();
  await using client = await connect(server.url);
  await using other = await connect(server.url);
  const session = await client.make("e-v1");
  expect(() => client.vectorOf([session, session])).toThrow(/each session once/);
  expect(() => other.vectorOf([session])).toThrow(`session ${session.id} is of another client`);
});
