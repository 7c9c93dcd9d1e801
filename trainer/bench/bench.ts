/** Is the trainer fast enough? An update of the planner against the same one in PyTorch, and decisions a second in rollouts. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { BackendName } from "../backend/backend.ts";
import { run } from "../backend/run.ts";
import type { BenchSize } from "./batch.ts";
import type { InferenceReport, InferenceSettings } from "./inference.ts";
import type { UpdateReport, UpdateSettings } from "./update.ts";

export interface TrainerFigure {
  section: "trainer";
  name: string;
  value: number;
  unit: string;
  against?: string;
  ratio?: number;
  aim?: number;
  met?: boolean;
  detail?: string;
}

/** What progress is told of. */
export const trainerParts = 3;

const update: BenchSize = { trajectories: 40, steps: 20, tools: 512, clauses: 4, embedding: 384, group: 5 };
const rollouts: BenchSize = { ...update, trajectories: 200 };
const updates = 40;

/** Processor time is of one thread each: with two, PyTorch's spin while they wait for a core that something else has. */
const oneThread = {
  TF_NUM_INTRAOP_THREADS: "1",
  TF_NUM_INTEROP_THREADS: "1",
  OMP_NUM_THREADS: "1",
  BENCH_THREADS: "1",
};

/** @param python that has PyTorch; where it has none, the update is measured alone. */
export async function benchTrainer(
  measured: (what: string) => void,
  { python = "python3", backend }: { python?: string; backend: BackendName },
): Promise<TrainerFigure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "trailgym-bench-"));
  const env = { ...process.env, ...oneThread };
  try {
    const settings: UpdateSettings = { backend, size: update, config: { width: 128 }, updates, export: folder };
    const ours = await child<UpdateReport>("update", settings, env);
    measured("an update");
    const theirs = await pytorch(python, folder, env);
    measured("the same in PyTorch");
    const decisions = await child<InferenceReport>("inference", {
      width: 64,
      size: rollouts,
      rounds: 8,
    } satisfies InferenceSettings);
    measured("decisions");
    return [updateFigure(ours, theirs), rolloutFigure(decisions)];
  } finally {
    await rm(folder, { recursive: true });
  }
}

function updateFigure(ours: UpdateReport, theirs: UpdateReport | undefined): TrainerFigure {
  const value = median(ours.cpuMs.slice(10)) / 1000;
  const figure = {
    section: "trainer",
    name: "update of the planner, D = 128, 40 × 20 decisions",
    value,
    unit: "s of processor time",
    detail: `${ours.engine}, one thread, by the clock ${Math.round(median(ours.wallMs.slice(10)))} ms`,
  } as const;
  if (theirs === undefined) return { ...figure, detail: `${figure.detail}; no PyTorch here to hold it against` };
  const apart = Math.abs(ours.losses[0]! - theirs.losses[0]!);
  if (apart > 1e-4) throw new Error(`the two updates are not the same: their first losses are ${apart} apart`);
  const ratio = value / (median(theirs.cpuMs.slice(10)) / 1000);
  return { ...figure, against: theirs.engine, ratio, aim: 1.5, met: ratio <= 1.5 };
}

function rolloutFigure({ decisionsPerSecond }: InferenceReport): TrainerFigure {
  const value = median(decisionsPerSecond.slice(2));
  const detail = `${rollouts.trajectories} episodes in lock-step, ${rollouts.tools} tools`;
  return {
    section: "trainer",
    name: "decisions of the planner, D = 64",
    value,
    unit: "/s",
    aim: 20_000,
    met: value >= 20_000,
    detail,
  };
}

async function pytorch(python: string, folder: string, env: NodeJS.ProcessEnv): Promise<UpdateReport | undefined> {
  try {
    await run(python, ["-c", "import torch"], { env });
  } catch {
    return undefined;
  }
  const script = fileURLToPath(new URL("./planner.py", import.meta.url));
  return JSON.parse(await run(python, [script, folder], { env })) as UpdateReport;
}

async function child<T>(name: "update" | "inference", settings: object, env?: NodeJS.ProcessEnv): Promise<T> {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = fileURLToPath(new URL(`./${name}.${extension}`, import.meta.url));
  return JSON.parse(await run(process.execPath, [script, JSON.stringify(settings)], env ? { env } : {})) as T;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
