import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { run } from "../../../trainer/backend/run.ts";
import type { BenchSize } from "../../../trainer/bench/batch.ts";
import type { InferenceReport } from "../../../trainer/bench/inference.ts";
import type { UpdateReport, UpdateSettings } from "../../../trainer/bench/update.ts";

const size: BenchSize = { trajectories: 4, steps: 3, tools: 10, clauses: 2, embedding: 16, group: 2 };
const script = (name: string) => path.resolve(import.meta.dirname, `../../../trainer/bench/${name}.ts`);
const child = async <T>(name: string, settings: object): Promise<T> =>
  JSON.parse(await run(process.execPath, [script(name), JSON.stringify(settings)])) as T;

test("the update that is measured is a real one: its loss falls, and its inputs are there for another engine", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "trailgym-bench-"));
  try {
    const config = { width: 16, embedding: 16, heads: 2 };
    const settings: UpdateSettings = { backend: "cpu", size, config, updates: 12, export: folder };
    const { engine, losses, wallMs, cpuMs } = await child<UpdateReport>("update", settings);
    expect(engine).toBe("tfjs cpu");
    expect([losses, wallMs, cpuMs].map((list) => list.length)).toEqual([12, 12, 12]);
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
    expect((await readdir(folder)).sort()).toEqual(["inputs.bin", "inputs.json"]);
    const { arrays } = JSON.parse(await readFile(path.join(folder, "inputs.json"), "utf8")) as {
      arrays: Record<string, { shape: number[]; offset: number }>;
    };
    const bytes = Object.values(arrays).reduce((sum, { shape }) => sum + 4 * shape.reduce((a, b) => a * b, 1), 0);
    expect((await readFile(path.join(folder, "inputs.bin"))).length).toBe(bytes);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the rollouts that are measured make decisions", async () => {
  const settings = { width: 64, size: { ...size, embedding: 384 }, rounds: 2 };
  const { decisionsPerSecond } = await child<InferenceReport>("inference", settings);
  expect(decisionsPerSecond).toHaveLength(2);
  expect(Math.min(...decisionsPerSecond)).toBeGreaterThan(0);
});
