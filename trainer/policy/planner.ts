/**
 * The tool planner: which tool comes next, called in which way, with which values? A causal transformer over the task's
 * clauses and the calls so far. Tools are scored by their descriptions, so a tool never seen in training has a logit at once.
 *
 * Sequence: [clause 1 … clause S-1, task, call 1 … call T-1]; decision t is read at the position before call t.
 * Tool logit: q·k_j/√D + m·match_j + u·used_j, with k_j from tool j's description, match_j the cosine between the description
 * and the clauses that decision t points at, used_j how often j was called; m and u depend on the state. STOP is one more action.
 */

import * as tf from "@tensorflow/tfjs-core";
import type { Rng } from "trailgym/env";
import { oneHotRows } from "../algorithms/likelihood.ts";
import { argumentSpecs, choiceTerms } from "./arguments.ts";
import type { PlannerBatch } from "./batch.ts";
import type { Choices } from "./choices.ts";
import { linear, rowsOfTable } from "./layers.ts";
import { Layout, type ParameterSpec, type Tensors } from "./parameters.ts";
import { causalMask, trunk, type TrunkConfig, trunkSpecs } from "./trunk.ts";

export interface PlannerConfig extends TrunkConfig {
  /** Length of a text's embedding. */
  embedding: number;
  /** Decisions in an episode at most. */
  maxSteps: number;
  /** Clauses of a task at most, the whole task not counted; 0: the task is one token. */
  maxClauses: number;
  /** Tools with a vector of their own beside their description, by their place in the table; 0: none. */
  knownTools: number;
  /** m at the start: how much a clause that matches a description is trusted before anything is learned. */
  matchPrior: number;
}

export const plannerDefaults: PlannerConfig = {
  width: 128,
  layers: 2,
  heads: 4,
  embedding: 384,
  maxSteps: 24,
  maxClauses: 8,
  knownTools: 0,
  matchPrior: 4,
};

/** Flags of a call's outcome. */
export const outcomeFlags = ["ok", "toolError", "schemaError", "timeout"] as const;

export function plannerLayout(config: PlannerConfig): Layout {
  const { width, embedding, maxSteps, maxClauses, knownTools } = config;
  // Texts have length 1, not variance 1.
  const text = (name: string): ParameterSpec[] => [
    { name: `${name}/weights`, shape: [embedding, width], start: { std: 0.5 } },
    { name: `${name}/bias`, shape: [width], start: { value: 0 } },
  ];
  const known: ParameterSpec[] =
    knownTools === 0
      ? []
      : ["known/call", "known/key"].map((name) => ({ name, shape: [knownTools, width], start: { value: 0 } }));
  return new Layout([
    ...["task", "tool", "pattern", "output", "key"].flatMap(text),
    { name: "outcome/weights", shape: [outcomeFlags.length, width], start: { std: 0.1 } },
    { name: "places/task", shape: [maxClauses + 1, width], start: { std: 0.1 } },
    { name: "places/call", shape: [maxSteps, width], start: { std: 0.1 } },
    ...known,
    ...trunkSpecs(config),
    {
      name: "heads/weights",
      shape: [width, sum(headSizes(width))],
      start: { std: headSizes(width).flatMap((size, k) => filled(size, [1, 1, 0, 0, 0.1][k]! / Math.sqrt(width))) },
    },
    {
      name: "heads/bias",
      shape: [sum(headSizes(width))],
      start: { value: headSizes(width).flatMap((size, k) => filled(size, k === 2 ? config.matchPrior : 0)) },
    },
    { name: "stop/key", shape: [1, width], start: { std: 0.5 } },
    ...argumentSpecs(config),
  ]);
}

/** Columns of the heads: query, pointer, m, u, value. One matrix, since each reads the same state. */
export function headSizes(width: number): number[] {
  return [width, width, 1, 1, 1];
}

function filled(count: number, value: number): number[] {
  return new Array<number>(count).fill(value);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

export function plannerWeights(config: PlannerConfig, random: Rng): Float32Array {
  return plannerLayout(config).initial(random);
}

export interface PlannerOutput {
  /** [B, T, N+1], masked; STOP is the last. */
  logits: tf.Tensor;
  /** [B, T] */
  values: tf.Tensor;
  /** log π of the patterns and slot values that were chosen, summed for each decision; [B, T]. Undefined: none were. */
  arguments?: tf.Tensor;
  /** The same with the trail on the patterns. */
  fusedArguments?: tf.Tensor;
  /** The same of the reference's call, for L_SL, at temperature 1. */
  targetArguments?: tf.Tensor;
}

/** Everything for a batch in one pass, each trajectory with what it really did (teacher-forced); differentiable. */
export function plannerForward(p: Tensors, batch: PlannerBatch, config: PlannerConfig, temperature = 1): PlannerOutput {
  const { size, steps, clauses } = batch;
  const dense = (x: tf.Tensor, name: string) =>
    linear(x, p[`${name}/weights`] as tf.Tensor, p[`${name}/bias`] as tf.Tensor);
  const project = (texts: tf.Tensor, name: string) =>
    linear(texts, p[`${name}/weights`] as tf.Tensor, p[`${name}/bias`] as tf.Tensor, { constant: true });
  const rows = (table: tf.Tensor, ids: Int32Array) => rowsOfTable(table, tf.tensor1d(ids, "int32"));
  const { width } = config;

  const tools = matrix(batch.tools, config.embedding);
  const prefixTexts = matrix(batch.prefixTexts, config.embedding);
  const toolKeys = known(p, "known/key", project(tools, "key"), batch);
  const toolCalls = known(p, "known/call", project(tools, "tool"), batch);

  const places = tf.concat([
    tf.slice(p["places/task"] as tf.Tensor, [0, 0], [clauses - 1, width]),
    tf.slice(p["places/task"] as tf.Tensor, [config.maxClauses, 0], [1, width]),
  ]);
  const task = tf.reshape(rows(project(prefixTexts, "task"), batch.prefix), [size, clauses, width]);
  const tokens = [tf.add(task, places)];
  if (steps > 1) {
    const calls = tf.addN([
      rows(toolCalls, batch.previousTools),
      rows(project(matrix(batch.patternTexts, config.embedding), "pattern"), batch.previousPatterns),
      rows(project(matrix(batch.outputTexts, config.embedding), "output"), batch.previousOutputs),
      tf.matMul(
        tf.tensor2d(batch.outcomes, [size * (steps - 1), outcomeFlags.length]),
        p["outcome/weights"] as tf.Tensor2D,
      ),
    ]);
    const place = tf.slice(p["places/call"] as tf.Tensor, [0, 0], [steps - 1, width]);
    tokens.push(tf.add(tf.reshape(calls, [size, steps - 1, width]), place));
  }
  const length = clauses + steps - 1;
  const x = tf.reshape(tf.concat(tokens, 1), [size * length, width]);
  const mask = tf.tensor4d(causalMask(batch.present, size), [size, 1, length, length]);
  const state = trunk(p, x, mask, { batch: size, last: steps }, config);

  const [query, pointer, trust, repeat, value] = tf.split(dense(state, "heads"), headSizes(width), 1) as [
    tf.Tensor,
    tf.Tensor,
    tf.Tensor,
    tf.Tensor,
    tf.Tensor,
  ];
  const keys = tf.concat([toolKeys, p["stop/key"] as tf.Tensor]);
  const actions = keys.shape[0];
  const scores = tf.matMul(tf.mul(query, 1 / Math.sqrt(width)), keys, false, true);
  const hints = clauseHints({ batch, pointer, trust, repeat, task, tools, prefixTexts });
  const logits = tf.addN([
    tf.reshape(scores, [size, steps, actions]),
    hints,
    ...(batch.candidates === undefined ? [] : [tf.tensor3d(batch.candidates, [size, steps, actions])]),
  ]);
  const values = tf.reshape(value, [size, steps]);

  const chosen = (choices: Choices | undefined, at: number, trail: boolean) =>
    choices && choiceTerms(p, { choices, batch, config, state, toolCalls, temperature: at, trail });
  const args = chosen(batch.choices, temperature, false);
  const fusedArgs = batch.choices?.patternBias && chosen(batch.choices, temperature, true);
  const targets = chosen(batch.targetChoices, 1, false);
  return {
    logits,
    values,
    ...(args ? { arguments: args } : {}),
    ...(fusedArgs ? { fusedArguments: fusedArgs } : {}),
    ...(targets ? { targetArguments: targets } : {}),
  };
}

interface HintParts {
  batch: PlannerBatch;
  /** Of each decision: [B·T, D], and twice [B·T, 1]. */
  pointer: tf.Tensor;
  trust: tf.Tensor;
  repeat: tf.Tensor;
  /** [B, S, D] the clauses, projected. */
  task: tf.Tensor;
  tools: tf.Tensor;
  prefixTexts: tf.Tensor;
}

/**
 * m_t Σ_s α_ts cos(clause s, tool j) + u_t · (calls of j before t); α is the softmax of the state's pointer over the clauses.
 * One product of [B, T, S + T-1] shares with [B, S + T-1, N+1] rows, so that no gate has to touch every tool.
 */
function clauseHints({ batch, pointer, trust, repeat, task, tools, prefixTexts }: HintParts): tf.Tensor {
  const { size, steps, clauses } = batch;
  const width = pointer.shape[1]!;
  const actions = tools.shape[0] + 1;
  const cosines = tf.matMul(prefixTexts, tools, false, true);
  const withStop = tf.concat([cosines, tf.zeros([cosines.shape[0], 1])], 1);
  const perTask = tf.reshape(tf.gather(withStop, tf.tensor1d(batch.prefix, "int32")), [size, clauses, actions]);
  const scores = tf.mul(tf.matMul(tf.reshape(pointer, [size, steps, width]), task, false, true), 1 / Math.sqrt(width));
  const shares = tf.softmax(tf.add(scores, tf.tensor3d(absentClauses(batch), [size, 1, clauses])));
  const pointed = tf.mul(shares, tf.reshape(trust, [size, steps, 1]));
  if (steps === 1) return tf.matMul(pointed, perTask);
  const before = tf.mul(tf.tensor3d(earlier(steps), [1, steps, steps - 1]), tf.reshape(repeat, [size, steps, 1]));
  const called = oneHotRows(batch.previousTools, actions);
  const rows = tf.concat([perTask, tf.reshape(called, [size, steps - 1, actions])], 1);
  return tf.matMul(tf.concat([pointed, before], -1), rows);
}

/** [B, S]: −1e9 for padding. */
function absentClauses({ size, steps, clauses, present }: PlannerBatch): Float32Array {
  const length = clauses + steps - 1;
  return Float32Array.from({ length: size * clauses }, (_, i) =>
    present[Math.floor(i / clauses) * length + (i % clauses)] === 1 ? 0 : -1e9,
  );
}

/** [T, T-1]: 1 where call j came before decision t. */
function earlier(steps: number): Float32Array {
  return Float32Array.from({ length: steps * (steps - 1) }, (_, i) =>
    i % (steps - 1) < Math.floor(i / (steps - 1)) ? 1 : 0,
  );
}

/** Adds what a tool has of its own, damped as the batch says. */
function known(p: Tensors, name: string, rows: tf.Tensor, batch: PlannerBatch): tf.Tensor {
  const own = p[name];
  if (own === undefined) return rows;
  const count = rows.shape[0];
  const mine = rowsOfTable(own, tf.tensor1d(batch.knownRows, "int32"));
  return tf.add(rows, tf.mul(mine, tf.tensor2d(batch.knownKeep, [count, 1])));
}

function matrix(values: Float32Array, width: number): tf.Tensor2D {
  return tf.tensor2d(values, [values.length / width, width]);
}
