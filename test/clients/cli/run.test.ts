import { type Client, ClosedError, ConnectionLost } from "trailgym/client";
import type { EnvEntry } from "trailgym/protocol";
import { expect, test } from "vitest";
import type { Agent } from "../../../clients/cli/eval/agents/agent.ts";
import { plan } from "../../../clients/cli/eval/plan.ts";
import type { InfrastructureFailure } from "../../../clients/cli/eval/record.ts";
import { runEpisodes, ServerGone } from "../../../clients/cli/eval/run.ts";

test("a client that has given up on its server ends the run, with what was met first as the reason", async () => {
  const lost = new ConnectionLost("gave up reconnecting");
  let calls = 0;
  const make = () => Promise.reject(calls++ < 2 ? lost : new ClosedError("client"));
  const failures: InfrastructureFailure[] = [];
  const ended = runEpisodes({
    episodes: plan(undefined, 100, 0),
    concurrency: 2,
    retries: 2,
    agent: () => ({ [Symbol.asyncDispose]: () => Promise.resolve() }) as unknown as Agent,
    settings: {
      client: { make } as unknown as Client,
      env: { id: "any-v1" } as EnvEntry,
      agentName: "nobody",
      versions: { trailgym: "1", protocol: "1" },
      options: undefined,
      stepTimeoutMs: undefined,
      maxSteps: 10,
    },
    signal: new AbortController().signal,
    onRecord: () => expect.unreachable(),
    onFailure: (failure) => failures.push(failure),
    onMissing: () => undefined,
  });
  const error: unknown = await ended.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ServerGone);
  expect(error).toMatchObject({ message: "gave up reconnecting", cause: lost });
  expect(failures.map((failure) => failure.error.name)).toEqual(["CONNECTION_LOST", "CONNECTION_LOST"]);
  expect(calls).toBeLessThanOrEqual(4);
});
