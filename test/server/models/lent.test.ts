import { defineEnv, ModelUnavailable, type Model } from "trailgym/env";
import { createLog } from "trailgym/server";
import { expect, it } from "vitest";
import { z } from "zod";
import { Trial } from "../../../server/sessions/trial.ts";

const model: Model = { id: "m", complete: () => Promise.resolve({ text: "x", cached: false }) };

function trial(needs: readonly string[], lent: Model | null = model): Trial {
  const interpreter = () => {
    throw new Error("none");
  };
  const options = {
    env: "e-v1",
    seed: 0,
    index: 0,
    task: undefined,
    needs,
    timeoutMs: 1000,
    onProgress: () => undefined,
  };
  return new Trial(options, { interpreter, model: lent ?? undefined, log: createLog("silent") });
}

it("a model is lent to whoever names it in its needs, where there is one", () => {
  expect(trial(["model"]).model).toBe(model);
  expect(trial(["model"], null).model).toBeUndefined();
  expect(() => trial(["interpreter:python"]).model).toThrow('e-v1 does not name "model" in its needs');
});

it("a model that is let through as a failure is the server's, not the environment's", async () => {
  const failing = trial(["model"]).run(() => Promise.reject(new ModelUnavailable("timeout", "too late")));
  await expect(failing).rejects.toMatchObject({ name: "SANDBOX_UNAVAILABLE", data: { need: "model" } });
});

it("an environment may say that it needs a model", () => {
  const env = defineEnv({
    id: "asks-v1",
    summary: "Asks.",
    state: z.object({}),
    action: z.object({}),
    observation: z.object({}),
    options: z.object({}),
    needs: ["model"],
    reset: () => ({ state: {}, observation: {} }),
    step: (ctx) => ({ state: {}, observation: {}, info: { model: ctx.model?.id ?? null } }),
  });
  expect(env.needs).toEqual(["model"]);
});
