/**
 * The planner's argument head: in which way is the chosen tool called (its pattern, the set of its argument names), and what
 * value has each slot? Every choice is a softmax over a few options, each scored by a small network of the state, the thing to
 * be filled, and the option.
 */

import * as tf from "@tensorflow/tfjs-core";
import { chosenOf, fused, oneHot, tempered } from "../algorithms/likelihood.ts";
import type { PlannerBatch } from "./batch.ts";
import type { ChoiceRows, Choices } from "./choices.ts";
import { linear, rowsOfTable, segmentSums } from "./layers.ts";
import { linearSpecs, type ParameterSpec, type Tensors } from "./parameters.ts";

/** What is known of a candidate value beside its text: where it comes from (one-hot), then how it fits. */
export const slotFeatureNames = [
  "fromTask",
  "fromOutput",
  "fromSchema",
  "fromTraining",
  "typeMatches",
  "nameInContext",
  "recency",
  "frequency",
] as const;
export const slotFeatures = slotFeatureNames.length;

export function argumentSpecs({ width, embedding }: { width: number; embedding: number }): ParameterSpec[] {
  const hidden = width;
  const text = (name: string): ParameterSpec => ({ name, shape: [embedding, hidden], start: { std: 0.5 } });
  return [
    ...linearSpecs("pattern-head/state", width, hidden),
    { name: "pattern-head/tool", shape: [width, hidden], start: { std: 1 / Math.sqrt(width) } },
    text("pattern-head/option"),
    // Without a bias, which a softmax would not see.
    { name: "pattern-head/score", shape: [hidden, 1], start: { std: 0.5 / Math.sqrt(hidden) } },
    ...linearSpecs("slot-head/state", width, hidden),
    text("slot-head/property"),
    text("slot-head/option"),
    { name: "slot-head/features", shape: [slotFeatures, hidden], start: { std: 0.3 } },
    { name: "slot-head/score", shape: [hidden, 1], start: { std: 0.5 / Math.sqrt(hidden) } },
  ];
}

export interface ChoiceParts {
  choices: Choices;
  batch: PlannerBatch;
  config: { width: number; embedding: number };
  /** [B·T, D] */
  state: tf.Tensor;
  /** [N, D] */
  toolCalls: tf.Tensor;
  temperature: number;
  /** Adds the trail to the patterns. */
  trail: boolean;
}

/** Σ over a decision's choices of the log-prob of what was taken; [B, T]. */
export function choiceTerms(p: Tensors, parts: ChoiceParts): tf.Tensor {
  const { choices, batch, config, state, toolCalls, temperature, trail } = parts;
  const texts = tf.tensor2d(batch.optionTexts, [batch.optionTexts.length / config.embedding, config.embedding]);
  const project = (name: string) => tf.matMul(texts, p[name] as tf.Tensor2D);
  const rows = (table: tf.Tensor, ids: Int32Array) => rowsOfTable(table, tf.tensor1d(ids, "int32"));
  const decisions = batch.size * batch.steps;
  const sums: tf.Tensor[] = [];

  const { patterns, patternBias, slots } = choices;
  if (patterns) {
    const shape: [number, number] = [patterns.count, patterns.width];
    const subject = tf.add(
      dense(p, rows(state, patterns.rows), "pattern-head/state"),
      tf.matMul(rows(toolCalls, patterns.tools) as tf.Tensor2D, p["pattern-head/tool"] as tf.Tensor2D),
    );
    const scores = scored(p, "pattern-head", subject, rows(project("pattern-head/option"), patterns.options), shape);
    const plain = tempered(tf.add(scores, tf.tensor2d(patterns.bias, shape)), temperature);
    const logProbs = trail && patternBias ? fused(plain, tf.tensor2d(patternBias, shape)) : plain;
    sums.push(perDecision(patterns, logProbs, decisions));
  }
  if (slots) {
    const shape: [number, number] = [slots.count, slots.width];
    const subject = tf.add(
      dense(p, rows(state, slots.rows), "slot-head/state"),
      rows(project("slot-head/property"), slots.properties),
    );
    const features = tf.tensor2d(slots.features, [slots.count * slots.width, slotFeatures]);
    const options = tf.add(
      rows(project("slot-head/option"), slots.options),
      tf.matMul(features, p["slot-head/features"] as tf.Tensor2D),
    );
    const scores = scored(p, "slot-head", subject, options, shape);
    sums.push(perDecision(slots, tempered(tf.add(scores, tf.tensor2d(slots.bias, shape)), temperature), decisions));
  }
  return tf.reshape(tf.addN(sums), [batch.size, batch.steps]);
}

/** w · relu(subject + option); [R, width]. @param subject [R, H]. @param options [R·width, H] */
function scored(
  p: Tensors,
  head: string,
  subject: tf.Tensor,
  options: tf.Tensor,
  [count, width]: [number, number],
): tf.Tensor {
  const hidden = subject.shape[1] as number;
  const joined = tf.relu(tf.add(tf.reshape(options, [count, width, hidden]), tf.expandDims(subject, 1)));
  const flat = tf.reshape(joined, [count * width, hidden]);
  return tf.reshape(tf.matMul(flat as tf.Tensor2D, p[`${head}/score`] as tf.Tensor2D), [count, width]);
}

function dense(p: Tensors, x: tf.Tensor, name: string): tf.Tensor {
  return linear(x, p[`${name}/weights`] as tf.Tensor, p[`${name}/bias`] as tf.Tensor);
}

/** Log-probs of what was taken, added up for each decision; [decisions]. */
function perDecision({ rows, taken, count, width }: ChoiceRows, logProbs: tf.Tensor, decisions: number): tf.Tensor {
  const mine = chosenOf(logProbs, tf.tensor2d(oneHot(taken, width), [count, width]));
  return segmentSums(mine, tf.tensor1d(rows, "int32"), decisions);
}
