import { appendFile, readFile } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { type Logger, pino } from "pino";
import type { ModelFailure, ModelRequest, ModelUnavailable } from "trailgym/env";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createModel, type ModelConfig } from "../../../server/models/model.ts";
import { type Folder, tempFolder } from "../../clients/cli/command.ts";
import { until } from "../../resources/events.ts";
import { type Answer, type FakeModel, fakeModel, says, status } from "./fake.ts";

const KEY = "sk-test-8c1f";
const request: ModelRequest = { messages: [{ role: "user", content: "hello" }], temperature: 0.2, maxTokens: 40 };
const asking = (content: string): ModelRequest => ({ messages: [{ role: "user", content }] });
const never = new AbortController().signal;

let log: { text: string; logger: Logger };
beforeEach(() => {
  const stream = new PassThrough();
  log = { text: "", logger: pino({ level: "trace" }, stream) };
  stream.on("data", (chunk: Buffer) => (log.text += chunk.toString()));
});
afterEach(() => expect(log.text).not.toContain(KEY));

const lend = (fake: FakeModel, more: Partial<ModelConfig> = {}) =>
  createModel({ server: { url: fake.url, model: "small", key: KEY }, backoffMs: 1, ...more }, log.logger);

async function failure(work: Promise<unknown>): Promise<{ failure: ModelFailure; message: string }> {
  const error = (await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as ModelUnavailable;
  expect(error).toMatchObject({ name: "ModelUnavailable" });
  expect(error.message).not.toContain(KEY);
  return { failure: error.failure, message: error.message };
}

describe("a lent model", () => {
  it("asks an OpenAI-compatible server, with the key in the header alone", async () => {
    await using fake = await fakeModel(says(" fine \n"));
    await using model = await lend(fake);
    expect(model.id).toBe("small");
    expect(await model.complete(request, never)).toEqual({ text: "fine", cached: false });
    const [{ path, headers, body } = fail()] = fake.asked;
    expect(path).toBe("/v1/chat/completions");
    expect(headers.authorization).toBe(`Bearer ${KEY}`);
    expect(body).toEqual({ model: "small", messages: request.messages, temperature: 0.2, max_tokens: 40 });
  });

  it("takes the whole address too, and does without a key", async () => {
    await using fake = await fakeModel(says("fine"));
    const server = { url: `${fake.url}/chat/completions/`, model: "small" };
    await using model = await createModel({ server }, log.logger);
    await model.complete(asking("x"), never);
    expect(fake.asked[0]?.path).toBe("/v1/chat/completions");
    expect(fake.asked[0]?.headers.authorization).toBeUndefined();
    expect(fake.asked[0]?.body).toMatchObject({ temperature: 0.7, max_tokens: 300 });
  });

  it("leaves out what a model thinks aloud", async () => {
    await using fake = await fakeModel(says("<think>hm\nhm</think>\n\n<b>yes</b>"));
    await using model = await lend(fake);
    expect((await model.complete(request, never)).text).toBe("<b>yes</b>");
  });

  it("answers an equal request from its cache", async () => {
    await using fake = await fakeModel(says("one"), says("two"));
    await using model = await lend(fake);
    await model.complete(request, never);
    const { messages, ...rest } = request;
    expect(await model.complete({ ...rest, messages }, never)).toEqual({ text: "one", cached: true });
    expect(await model.complete({ ...request, temperature: 0.3 }, never)).toEqual({ text: "two", cached: false });
    expect(model.counts).toEqual({ asked: 3, cached: 1, requests: 2, failed: 0 });
  });

  it("asks once for equal requests that come at the same time", async () => {
    await using fake = await fakeModel((response, asked) => void setTimeout(() => says("one")(response, asked), 20));
    await using model = await lend(fake);
    const replies = await Promise.all(Array.from({ length: 5 }, () => model.complete(request, never)));
    expect(replies.map(({ text }) => text)).toEqual(Array(5).fill("one"));
    expect(fake.asked).toHaveLength(1);
  });

  it("asks no more than so many at once", async () => {
    let most = 0;
    await using fake = await fakeModel((response, asked) => {
      most = Math.max(most, fake.open);
      setTimeout(() => says("x")(response, asked), 10);
    });
    await using model = await lend(fake, { maxConcurrent: 2 });
    await Promise.all(Array.from({ length: 9 }, (_, i) => model.complete(asking(String(i)), never)));
    expect(fake.asked).toHaveLength(9);
    expect(most).toBe(2);
  });
});

describe("a model's server that does not answer well", () => {
  it.each<[string, Answer]>([
    ["is overloaded", status(429)],
    ["is unavailable", status(503)],
    ["fails", status(500, `trouble with ${KEY}`)],
    ["hangs up", (response) => response.destroy()],
    [
      "hangs up half-way",
      (response) => response.writeHead(200, { "content-length": "100" }).write("{") && response.destroy(),
    ],
    ["does not speak JSON", (response) => response.end("<html>")],
    ["says something else", (response) => response.end('{"choices":[]}')],
    ["takes too long", () => undefined],
  ])("and %s is asked again, until it does", async (_, bad) => {
    await using fake = await fakeModel(bad, bad, says("at last"));
    await using model = await lend(fake, { timeoutMs: 200 });
    expect((await model.complete(request, never)).text).toBe("at last");
    expect(fake.asked).toHaveLength(3);
  });

  it.each<[ModelFailure, Answer]>([
    ["overloaded", status(429)],
    ["transport", status(500, `trouble with ${KEY}`)],
    ["transport", (response) => response.destroy()],
    ["timeout", () => undefined],
  ])("is given up in the end: %s", async (kind, bad) => {
    await using fake = await fakeModel(bad);
    await using model = await lend(fake, { timeoutMs: 100, retries: 2 });
    expect((await failure(model.complete(request, never))).failure).toBe(kind);
    expect(fake.asked).toHaveLength(3);
    expect(model.counts.failed).toBe(1);
    // Nothing of it was kept.
    expect((await failure(model.complete(request, never))).failure).toBe(kind);
  });

  it.each([400, 401, 403, 404, 422])(
    "because the request or the key is wrong (%d) is not asked again",
    async (code) => {
      await using fake = await fakeModel(status(code, `Incorrect key ${KEY}`));
      await using model = await lend(fake);
      const refused = await failure(model.complete(request, never));
      expect(refused.failure).toBe("refused");
      expect(refused.message).toContain(String(code));
      // Servers like to repeat a part of a wrong key.
      expect(refused.message.includes("Incorrect")).toBe(code !== 401 && code !== 403);
      expect(fake.asked).toHaveLength(1);
    },
  );

  it("and sends elsewhere is not followed there with the key", async () => {
    await using elsewhere = await fakeModel(says("gotcha"));
    await using fake = await fakeModel(status(307, "", { location: `${elsewhere.url}/chat/completions` }));
    await using model = await lend(fake, { retries: 0 });
    expect((await failure(model.complete(request, never))).failure).toBe("transport");
    expect(elsewhere.asked).toEqual([]);
  });

  it("and floods is cut off", async () => {
    await using fake = await fakeModel((response) => {
      const flood = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
        if (!response.destroyed) response.once("drain", flood);
      };
      flood();
    });
    await using model = await lend(fake, { retries: 0 });
    expect(await failure(model.complete(request, never))).toMatchObject({
      failure: "transport",
      message: expect.stringMatching(/more than/) as string,
    });
    await until(() => fake.open === 0);
  });

  it("is asked again when it wishes to be", async () => {
    await using fake = await fakeModel(status(429, "", { "retry-after": "0" }), says("now"));
    await using model = await lend(fake, { backoffMs: 60_000 });
    expect((await model.complete(request, never)).text).toBe("now");
  });

  it("is asked later and later: 2^k times the first pause", async () => {
    const times: number[] = [];
    const note =
      (answer: Answer): Answer =>
      (response, asked) => (times.push(performance.now()), answer(response, asked));
    await using fake = await fakeModel(note(status(500)), note(status(500)), note(status(500)), note(says("x")));
    await using model = await lend(fake, { backoffMs: 40 });
    await model.complete(request, never);
    const pauses = times.slice(1).map((time, i) => time - (times[i] as number));
    for (const [k, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(40 * 2 ** k - 2);
  });
});

describe("a budget", () => {
  it("bounds the requests that are sent, retries too, and leaves the cache open", async () => {
    await using fake = await fakeModel(says("one"), status(500), says("two"));
    await using model = await lend(fake, { maxRequests: 2 });
    await model.complete(request, never);
    expect((await failure(model.complete(asking("more"), never))).failure).toBe("budget");
    expect(fake.asked).toHaveLength(2);
    expect(await model.complete(request, never)).toEqual({ text: "one", cached: true });
  });
});

describe("a caller that gives up", () => {
  it("is let go at once with its own reason, and the request is ended when it was the last", async () => {
    await using fake = await fakeModel(() => undefined);
    await using model = await lend(fake);
    const [first, second] = [new AbortController(), new AbortController()];
    const [one, two] = [model.complete(request, first.signal), model.complete(request, second.signal)];
    one.catch(() => undefined);
    two.catch(() => undefined);
    await until(() => fake.open === 1);
    first.abort(new Error("first"));
    await expect(one).rejects.toThrow("first");
    expect(fake.open).toBe(1);
    second.abort(new Error("second"));
    await expect(two).rejects.toThrow("second");
    await until(() => fake.open === 0);
  });

  it("does not spoil an equal request that comes right after", async () => {
    await using fake = await fakeModel(() => undefined, says("fresh"));
    await using model = await lend(fake);
    const abort = new AbortController();
    const gone = model.complete(request, abort.signal);
    await until(() => fake.open === 1);
    abort.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    expect((await model.complete(request, never)).text).toBe("fresh");
  });

  it("or waits for its turn, ends with the server", async () => {
    await using fake = await fakeModel(() => undefined);
    const model = await lend(fake, { maxConcurrent: 1 });
    const waiting = [asking("1"), asking("2")].map((one) => model.complete(one, never));
    for (const one of waiting) one.catch(() => undefined);
    await until(() => fake.open === 1);
    await model[Symbol.asyncDispose]();
    for (const one of waiting) await expect(one).rejects.toThrow("shutting down");
    await until(() => fake.open === 0);
  });
});

describe("a cache with a file", () => {
  let folder: Folder;
  beforeEach(async () => void (folder = await tempFolder()));
  afterEach(() => folder[Symbol.asyncDispose]());

  it("outlives the process, and does without a model", async () => {
    const cacheFile = folder.join("replies.jsonl");
    {
      await using fake = await fakeModel(says("kept"));
      await using model = await lend(fake, { cacheFile });
      await model.complete(request, never);
    }
    expect(await readFile(cacheFile, "utf8")).not.toContain(KEY);
    await using recorded = await createModel({ server: undefined, id: "small", cacheFile }, log.logger);
    expect(await recorded.complete(request, never)).toEqual({ text: "kept", cached: true });
    expect((await failure(recorded.complete(asking("new"), never))).failure).toBe("notRecorded");
    // The replies of another model are another's.
    await using other = await createModel({ server: undefined, id: "large", cacheFile }, log.logger);
    expect((await failure(other.complete(request, never))).failure).toBe("notRecorded");
  });

  it("loses nothing but the line at which a process was killed", async () => {
    const cacheFile = folder.join("replies.jsonl");
    await using fake = await fakeModel(says("one"), says("two"), says("three"));
    {
      await using model = await lend(fake, { cacheFile });
      await model.complete(asking("1"), never);
    }
    await appendFile(cacheFile, '\n{"key":"x","mod');
    {
      await using model = await lend(fake, { cacheFile });
      expect(log.text).toMatch(/"lines":1.*skipped/);
      expect((await model.complete(asking("1"), never)).cached).toBe(true);
      await model.complete(asking("2"), never);
    }
    await using model = await lend(fake, { cacheFile });
    expect((await model.complete(asking("2"), never)).cached).toBe(true);
  });

  it("that cannot be written costs no reply", async () => {
    await using fake = await fakeModel(says("fine"));
    await using model = await lend(fake, { cacheFile: folder.join("no", "such", "folder") });
    expect((await model.complete(request, never)).text).toBe("fine");
    await until(() => log.text.includes("could not be written"));
  });

  it("that cannot be read is said at the start", async () => {
    await expect(createModel({ server: undefined, cacheFile: folder.path }, log.logger)).rejects.toThrow(/EISDIR/);
  });
});

function fail(): never {
  throw new Error("nothing was asked");
}
