/** Every reply of a whole session, held to what its method promises and to what the wire may carry. */

import { expect, test } from "vitest";
import { errorObject, errorTable, type MethodName, methods, notifications } from "trailgym/protocol";
import { z } from "zod";
import { verifies } from "../e2e/verifies.ts";
import { corridor, countdown, dice, echo, quiz, trouble } from "../resources/envs.ts";
import { serverResource } from "../resources/server.ts";
import type { Wire } from "../resources/wire.ts";

const response = z.union([
  z.strictObject({ jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number(), z.null()]), result: z.unknown() }),
  z.strictObject({ jsonrpc: z.literal("2.0"), id: z.union([z.string(), z.number(), z.null()]), error: errorObject }),
]);

/** Calls, and parses whatever comes with the method's own schema. */
function checked(wire: Wire, seen: Set<MethodName>) {
  return async <N extends MethodName>(name: N, params: object): Promise<Record<string, unknown>> => {
    const { result, error, text } = await wire.request(name, params);
    expect(error, `${name} ${JSON.stringify(params)}`).toBeUndefined();
    response.parse(JSON.parse(text));
    methods[name].result.parse(result);
    seen.add(name);
    return result as Record<string, unknown>;
  };
}

verifies("results/conform", async () => {
  const env = trouble();
  const envs = [env.env, corridor, countdown, dice, echo, quiz];
  await using server = await serverResource({ envs });
  const wire = await server.wire({ initialize: false });
  const seen = new Set<MethodName>();
  const call = checked(wire, seen);
  await call("initialize", { protocolVersions: ["1"], client: { name: "test", version: "0" } });
  await call("rpc.discover", {});
  expect(await call("ping", {})).toEqual({});
  expect((await call("env/list", {})).envs).toHaveLength(envs.length);
  const actions: Record<string, unknown> = {
    "trouble-v1": { do: "add" },
    "corridor-v1": { stop: true },
    "countdown-v1": { amount: 3 },
    "dice-v1": { dice: 3 },
    "echo-v1": { value: { $type: "ndarray", dtype: "int8", shape: [1], base64: "AQ==" } },
    "quiz-v1": { answer: "?" },
  };
  for (const { id } of envs) {
    await call("env/tasks", { env: id });
    for (const autoreset of ["disabled", "nextStep", "sameStep"]) {
      for (const digest of ["step", "end"]) {
        const { session } = await call("env/make", { env: id, autoreset, digest });
        await call("env/observe", { session });
        await call("session/attach", { session });
        await call("env/reset", { session, seq: 0 });
        for (let seq = 1; seq <= 4; seq++) {
          const { status } = await call("env/observe", { session });
          if (status === "running" || autoreset !== "disabled") {
            await call("env/step", { session, seq, action: actions[id] });
          } else await call("env/reset", { session, seq, seed: seq });
        }
        const { snapshot } = await call("env/snapshot", { session, label: "here" });
        await call("env/restore", { session, snapshot });
        await call("env/fork", { session, count: 2 });
        await call("env/fork", { snapshot, count: 1 });
        await call("session/attach", { session });
        await call("env/observe", { session });
        expect((await call("session/list", { limit: 1000 })).sessions).toContainEqual(
          expect.objectContaining({ session }),
        );
        const { previous } = await call("trajectory/get", { session });
        await call("trajectory/get", { episode: previous, limit: 1 });
        await call("env/close", { session });
        await call("env/close", { session });
      }
    }
  }
  expect(seen).toEqual(new Set(Object.keys(methods)));
});

verifies("errors/conform", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env, quiz], config: { maxSessions: 1, queueMs: 10 } });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "trouble-v1" });
  const failing: [string, object][] = [
    ["env/step", { session, action: { do: "add" } }],
    ["env/reset", { session, seq: 0 }],
    ["env/make", { env: "truoble-v1" }],
    ["env/make", { env: "quiz-v1" }],
    ["env/make", { envv: 1 }],
    ["env/reset", { session, seq: 5 }],
    ["env/reset", { session, seq: 0, seed: 2 }],
    ["env/reset", { session, task: "none" }],
    ["env/step", { session, action: 7 }],
    ["env/step", { session, action: { do: "throw" } }],
    ["env/step", { session, action: { do: "wait" }, timeoutMs: 1 }],
    ["env/observe", { session: "none" }],
    ["env/restore", { session, snapshot: "none" }],
    ["no/such", {}],
  ];
  const names = new Set<string>();
  for (const [method, params] of failing) {
    const { error } = await wire.request(method, params);
    if (error === undefined) continue;
    const { name, retryable, ...fields } = error.data as { name: keyof typeof errorTable; retryable: boolean };
    const entry = errorTable[name];
    expect([error.code, retryable]).toEqual([entry.code, entry.retryable]);
    entry.fields.parse(fields);
    expect(error.message).not.toBe("");
    names.add(name);
    // What a method may fail with is in its table, or in the list of what any call may fail with.
    const own = (methods as Partial<Record<string, { errors: readonly string[] }>>)[method]?.errors ?? [];
    const any = ["INVALID_PARAMS", "METHOD_NOT_FOUND"];
    expect([...own, ...any]).toContain(name);
  }
  expect(names.size).toBeGreaterThanOrEqual(11);
});

test("progress conforms too", async () => {
  const env = trouble();
  await using server = await serverResource({ envs: [env.env] });
  const wire = await server.wire();
  const { session } = await wire.call("env/make", { env: "trouble-v1" });
  await wire.call("env/reset", { session });
  const id = wire.nextId();
  await wire.request("env/step", { session, action: { do: "report", fractions: [0.25] } }, id);
  const [, progress] = notifications;
  expect(wire.notifications.map(({ params }) => progress.params.parse(params))).toEqual([
    { id, fraction: 0.25, message: "working" },
  ]);
});
