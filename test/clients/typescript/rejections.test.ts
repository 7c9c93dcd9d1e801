/** Each error that a server has for a bad frame reaches the caller by its name, and costs the client nothing else. */

import { connect, type StateChange, WireError } from "trailgym/client";
import type { ErrorObject } from "trailgym/protocol";
import { describe, expect, test } from "vitest";
import { type Rejection, rejections } from "../../resources/rejections.ts";
import { noReply, scripted } from "./scripted.ts";

interface Answer {
  id: unknown;
  error?: ErrorObject;
}

interface Answered {
  name: string;
  /** To the whole frame, whose requests the server could not tell apart. */
  forNobody: boolean;
  error: ErrorObject;
}

/** Every recorded error; it is all the same to a client what it was said to. */
function errorsOf({ name, replies = [] }: Rejection): Answered[] {
  const answers = (replies as (Answer | Answer[])[]).flatMap((reply) => reply);
  return answers.flatMap(({ id, error }) => (error === undefined ? [] : [{ name, forNobody: id === null, error }]));
}

const quick = { reconnect: { minDelayMs: 2, maxDelayMs: 10 }, heartbeatMs: 0 };

describe.each(rejections())("$file: $summary", ({ cases }) => {
  test.each(cases.flatMap(errorsOf))("$name: $error.data.name", async ({ error, forNobody }) => {
    await using server = await scripted();
    await using client = await connect(server.url, quick);
    const session = await client.make("e-v1");
    await session.reset();
    server.on("env/observe", (request) => {
      request.raw(JSON.stringify({ jsonrpc: "2.0", id: forNobody ? null : request.id, error }));
      return noReply;
    });
    const thrown = await session.observe().catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(WireError);
    const { code, message, data } = error;
    const { name, retryable, ...fields } = data as { name: string; retryable: boolean };
    expect(thrown).toMatchObject({ name, code, message, retryable });
    expect((thrown as WireError).data).toEqual(fields);
    expect(await session.step(1)).toMatchObject({ observation: 1, index: 1 });
    expect(server.sockets).toBe(1);
  });

  const closing = cases.flatMap(({ name, close }) => (close === undefined ? [] : [{ name, close }]));
  test.each(closing)("$name: the socket is closed with $close", async ({ close }) => {
    await using server = await scripted();
    const codes: number[] = [];
    const onStateChange = (change: StateChange) => void (change.state === "lost" && codes.push(change.code));
    await using client = await connect(server.url, { ...quick, onStateChange });
    const session = await client.make("e-v1");
    await session.reset();
    server.on("env/step", async (request, next) => {
      if (request.socket > 1) return next();
      request.close(close);
      return noReply;
    });
    expect(await session.step(1)).toMatchObject({ observation: 1, index: 1 });
    expect(codes).toEqual([close]);
  });
});

describe("an error in the handshake", () => {
  const refused = rejections().flatMap(({ cases }) =>
    cases.filter(({ send }) =>
      send.some((frame) => typeof frame === "string" && frame.includes('"method":"initialize"')),
    ),
  );

  test.each(refused.flatMap(errorsOf))("$name: `connect` throws $error.data.name", async ({ error }) => {
    await using server = await scripted();
    server.on("initialize", () => {
      throw WireError.fromObject(error);
    });
    await expect(connect(server.url, quick)).rejects.toMatchObject({ name: error.data?.name, code: error.code });
    expect(server.sockets).toBe(1);
  });
});
