/** The real thing: downloads 275 MB, compiles, checks; about half a minute. */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recipeFor } from "../../../trainer/backend/recipe.ts";
import { type SetupResult, setupTensorflow } from "../../../trainer/backend/setup.ts";

const hasRecipe = recipeFor("cpu", process.platform, process.arch) !== undefined;
let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "trailgym-tensorflow-"))));
afterAll(() => rm(folder, { recursive: true }));

test.runIf(hasRecipe)("setup builds a TensorFlow backend that a fresh process trains on", async () => {
  const setup = (): Promise<SetupResult> => setupTensorflow({ variant: "cpu", folder, say: () => undefined });
  expect(await setup()).toMatchObject({ built: true, gpu: false });
  expect(await setup()).toMatchObject({ built: false });
  expect(existsSync(path.join(folder, "downloads"))).toBe(false);
  const script = `
    import { useBackend } from ${JSON.stringify(path.resolve("trainer/backend/backend.ts"))};
    import * as tf from "@tensorflow/tfjs-core";
    const { line } = await useBackend("auto", ${JSON.stringify(folder)});
    const slope = tf.grad((x) => tf.sum(tf.square(tf.matMul(x, x))))(tf.tensor2d([1, 2, 3, 4], [2, 2]));
    console.log(JSON.stringify({ line, slope: [...slope.dataSync()] }));`;
  const out = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
  // d/dX Σ (X X)² = 2 (X² Xᵀ + Xᵀ X²).
  expect(JSON.parse(out)).toEqual({ line: "backend tensorflow (CPU)", slope: [158, 274, 266, 482] });
});
