/**
 * How long does an update of the planner take? Run as a process of its own: `update.ts SETTINGS`, JSON as `UpdateSettings`.
 * Prints one line of JSON. With `export` it also writes weights and batch for the same update in PyTorch (`planner.py`).
 */

import * as tf from "@tensorflow/tfjs-core";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { rng } from "trailgym/env";
import { takenTerms } from "../algorithms/likelihood.ts";
import { objective, objectiveDefaults, weigh } from "../algorithms/objective.ts";
import { type BackendName, useBackend } from "../backend/backend.ts";
import { Optimiser } from "../optim/optimiser.ts";
import { type PlannerConfig, plannerDefaults, plannerForward, plannerLayout } from "../policy/planner.ts";
import { causalMask } from "../policy/trunk.ts";
import type { Tensors } from "../policy/parameters.ts";
import { Learner } from "../learner.ts";
import { type BenchSize, benchBatch } from "./batch.ts";

export interface UpdateSettings {
  backend: BackendName;
  size: BenchSize;
  config: Partial<PlannerConfig>;
  updates: number;
  /** A folder for the inputs of the same update elsewhere. */
  export?: string;
}

export interface UpdateReport {
  engine: string;
  losses: number[];
  wallMs: number[];
  cpuMs: number[];
  threads?: number;
}

const learningRate = 3e-4;
const maxGradNorm = 0.5;
const temperature = 0.7;

if (import.meta.main) {
  const settings = JSON.parse(process.argv[2] ?? "{}") as UpdateSettings;
  process.stdout.write(`${JSON.stringify(await measure(settings))}\n`);
}

async function measure({
  backend,
  size,
  config: chosen,
  updates,
  export: folder,
}: UpdateSettings): Promise<UpdateReport> {
  const { name } = await useBackend(backend);
  const config = { ...plannerDefaults, ...chosen, maxSteps: size.steps, maxClauses: size.clauses };
  const layout = plannerLayout(config);
  const weights = layout.initial(rng(1));
  const { batch, decisions, actions } = benchBatch(size);
  const options = { ...objectiveDefaults };
  const weighed = weigh(decisions, options);
  const shape: [number, number] = [size.trajectories, size.steps];
  if (folder !== undefined) {
    const length = batch.clauses + batch.steps - 1;
    await exportInputs(folder, {
      meta: {
        size,
        config,
        parameters: layout.parameters.map(({ name }) => ({ name })),
        options: { ...options, learningRate, maxGradNorm, temperature, updates },
      },
      arrays: [
        ...layout.parameters.map(
          ({ name, shape, offset, size }) => [`weights/${name}`, weights.slice(offset, offset + size), shape] as const,
        ),
        ["tools", batch.tools, [size.tools, size.embedding]],
        ["prefixTexts", batch.prefixTexts, [batch.prefixTexts.length / size.embedding, size.embedding]],
        ["patternTexts", batch.patternTexts, [1, size.embedding]],
        ["outputTexts", batch.outputTexts, [batch.outputTexts.length / size.embedding, size.embedding]],
        ...(["prefix", "previousTools", "previousPatterns", "previousOutputs"] as const).map(
          (key) => [key, batch[key], [batch[key].length]] as const,
        ),
        ["outcomes", batch.outcomes, [batch.outcomes.length / 4, 4]],
        ["mask4d", causalMask(batch.present, batch.size), [batch.size, 1, length, length]],
        ["actions", actions, shape],
        ["oldLogProbs", decisions.oldLogProbs, shape],
        ["advantages", decisions.advantages, shape],
      ],
    });
  }

  const learner = new Learner(layout, weights, new Optimiser(layout.size, { kind: "adam", maxGradNorm }));
  const report: UpdateReport = { engine: `tfjs ${name}`, losses: [], wallMs: [], cpuMs: [] };
  for (let i = 0; i < updates; i++) {
    const cpu = process.cpuUsage();
    const wall = performance.now();
    const part = (p: Tensors) => {
      const logits = tf.reshape(plannerForward(p, batch, config).logits, [-1, size.tools + 1]);
      const { logProbs, entropy } = takenTerms(logits, actions, temperature);
      const terms = { logProbs: tf.reshape(logProbs, shape), entropy: tf.reshape(entropy, shape) };
      return { total: objective(terms, weighed, 0, options).total };
    };
    const { loss } = learner.update([part], learningRate);
    report.wallMs.push(performance.now() - wall);
    const { user, system } = process.cpuUsage(cpu);
    report.cpuMs.push((user + system) / 1000);
    report.losses.push(loss);
  }
  return report;
}

type Exported = readonly [name: string, values: Float32Array | Int32Array, shape: readonly number[]];

async function exportInputs(folder: string, { meta, arrays }: { meta: object; arrays: Exported[] }): Promise<void> {
  let offset = 0;
  const entries: Record<string, object> = {};
  const parts: Uint8Array[] = [];
  for (const [name, values, shape] of arrays) {
    entries[name] = { dtype: values instanceof Int32Array ? "int32" : "float32", shape, offset };
    parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    offset += values.byteLength;
  }
  await writeFile(path.join(folder, "inputs.bin"), Buffer.concat(parts));
  await writeFile(path.join(folder, "inputs.json"), JSON.stringify({ ...meta, arrays: entries }));
}
