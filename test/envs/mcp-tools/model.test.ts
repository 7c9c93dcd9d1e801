/** A simulated tool call all the way: a client's step, the server, a model's HTTP server, and its cache. */

import { createLog, createModel, createRegistry, createServer, type LentModel } from "trailgym/server";
import { connect } from "trailgym/client";
import { SandboxUnavailable } from "trailgym/env";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import env from "../../../envs/mcp-tools/mcp-tools.env.ts";
import { type Folder, tempFolder } from "../../clients/cli/command.ts";
import { type FakeModel, fakeModel, says, status } from "../../server/models/fake.ts";
import { call, files } from "./small.ts";

let folder: Folder;
beforeEach(async () => void (folder = await tempFolder()));
afterEach(() => folder[Symbol.asyncDispose]());

const lend = (fake: FakeModel, cacheFile?: string): Promise<LentModel> =>
  createModel(
    { server: { url: fake.url, model: "small" }, backoffMs: 1, retries: 1, ...(cacheFile ? { cacheFile } : {}) },
    createLog("silent"),
  );

/** Plays one call that no reference has, in an episode of its own. */
async function step(model: LentModel | undefined, options: Record<string, unknown> = {}) {
  await using server = await createServer({
    registry: await createRegistry([env], new Map([[env.id, [files()]]])),
    config: { port: 0, graceMs: 50 },
    interpreters: {
      interpreter: (language) => {
        throw new SandboxUnavailable(`interpreter:${language}`, "this test lends none");
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    model,
    log: createLog("silent"),
  });
  await using client = await connect(server.url);
  await using session = await client.make(env.id);
  await session.reset({ seed: 1, task: "tea", options });
  const { observation, info } = await session.step(call("shop-find_tea", { kind: "black" }));
  return { observation, info };
}

describe("a step of a served episode", () => {
  it("is answered by the model, and by its cache after a restart", async () => {
    await using fake = await fakeModel(says("Output: two black teas\n<<END>>"));
    const cacheFile = folder.join("replies.jsonl");
    const first = await step(await lend(fake, cacheFile));
    expect(first.observation).toEqual({ content: "two black teas", isError: false });
    expect(first.info).toMatchObject({ source: "model", status: "ok", complete: true });
    const again = await step(await lend(fake, cacheFile));
    expect(again.observation).toEqual(first.observation);
    expect(again.info).toMatchObject({ source: "cache", complete: true });
    expect(fake.asked).toHaveLength(1);
  });

  it("goes on without the model when that fails, or is an error that can be tried again, as the options say", async () => {
    await using fake = await fakeModel(status(500));
    const { info } = await step(await lend(fake));
    expect(info).toMatchObject({ source: "template", modelFailure: "transport" });
    await expect(step(await lend(fake), { simulator: { onModelFailure: "fail" } })).rejects.toMatchObject({
      name: "SANDBOX_UNAVAILABLE",
      data: { need: "model" },
    });
  });

  it("needs no model", async () => {
    const { info } = await step(undefined);
    expect(info).toMatchObject({ source: "template", status: "ok" });
    expect(info).not.toHaveProperty("modelFailure");
  });
});
