/**
 * Which values may a slot get? The planner writes no text: it points at values that are there. In the task (numbers, quoted
 * strings, dates, paths, names), in what earlier calls returned, in the property's schema, and among the values that the
 * training split used most. What is not among them cannot be chosen; `reachable` measures how often that is so.
 */

import { isDeepStrictEqual } from "node:util";
import { wordsOf } from "../text/tfidf.ts";
import type { slotFeatureNames } from "./arguments.ts";

export interface SlotQuestion {
  /** The property's name, and its JSON schema. */
  name: string;
  schema: Readonly<Record<string, unknown>>;
  task: string;
  /** What earlier calls returned, the latest last: JSON values or text. */
  outputs: readonly unknown[];
  /** Values of this slot in the training split, with how often. */
  seen?: readonly { value: unknown; count: number }[];
  /** Candidates at most; the likeliest kinds first. Default 48. */
  limit?: number;
}

export interface Candidate {
  value: unknown;
  /** What is embedded: the value and the words around it. */
  text: string;
  /** In the order of `slotFeatureNames`. */
  features: number[];
}

type Source = "fromTask" | "fromOutput" | "fromSchema" | "fromTraining";

interface Found {
  value: unknown;
  context: string;
  source: Source;
  /** 1: the latest output, or the start of the task; towards 0: long ago. */
  recency: number;
  frequency: number;
}

/** Never two of the same value: the first source that has it says what it is. */
export function candidatesFor(question: SlotQuestion): Candidate[] {
  const { name, schema, limit = 48 } = question;
  const wanted = new Set(wordsOf(name));
  const kept: Candidate[] = [];
  const seen = new Set<string>();
  for (const found of everything(question)) {
    for (const value of fitted(found.value, schema)) {
      const key = JSON.stringify(value);
      if (seen.has(key)) continue;
      seen.add(key);
      kept.push({
        value,
        text: `${asText(value)} ${found.context}`.trim(),
        features: featuresOf(found, typeMatches(value, schema), sharedWords(wanted, found.context)),
      });
      if (kept.length === limit) return kept;
    }
  }
  return kept;
}

/** The place of a reference's value among the candidates, texts and numbers taken as equal when they read the same; −1: out of reach. */
export function reachable(candidates: readonly Candidate[], value: unknown): number {
  const exact = candidates.findIndex((candidate) => isDeepStrictEqual(candidate.value, value));
  if (exact >= 0) return exact;
  const read = (each: unknown) => asText(each).trim().toLowerCase();
  return candidates.findIndex((candidate) => read(candidate.value) === read(value));
}

function* everything({ schema, task, outputs, seen = [] }: SlotQuestion): Generator<Found> {
  const none = { recency: 0, frequency: 0 };
  for (const value of schemaValues(schema)) yield { value, context: "", source: "fromSchema", ...none };
  for (const { value, context, at } of spansOf(task)) {
    yield { value, context, source: "fromTask", recency: 1 - at / Math.max(1, task.length), frequency: 0 };
  }
  for (const [ago, output] of [...outputs].reverse().entries()) {
    for (const { value, context } of leavesOf(output)) {
      yield { value, context, source: "fromOutput", recency: 1 / (1 + ago), frequency: 0 };
    }
  }
  const total = seen.reduce((sum, { count }) => sum + count, 0);
  for (const { value, count } of [...seen].sort((a, b) => b.count - a.count)) {
    yield { value, context: "", source: "fromTraining", recency: 0, frequency: count / total };
  }
  for (const { value, context, at } of plainWordsOf(task)) {
    yield { value, context, source: "fromTask", recency: 1 - at / Math.max(1, task.length), frequency: 0 };
  }
}

function featuresOf({ source, recency, frequency }: Found, matches: boolean, shared: number): number[] {
  const values: Record<(typeof slotFeatureNames)[number], number> = {
    fromTask: source === "fromTask" ? 1 : 0,
    fromOutput: source === "fromOutput" ? 1 : 0,
    fromSchema: source === "fromSchema" ? 1 : 0,
    fromTraining: source === "fromTraining" ? 1 : 0,
    typeMatches: matches ? 1 : 0,
    nameInContext: shared,
    recency,
    frequency,
  };
  return Object.values(values);
}

function schemaValues(schema: SlotQuestion["schema"]): unknown[] {
  const listed = Array.isArray(schema.enum) ? (schema.enum as unknown[]) : [];
  const named = ["const", "default"].flatMap((key) => (key in schema ? [schema[key]] : []));
  const examples = Array.isArray(schema.examples) ? (schema.examples as unknown[]) : [];
  return [...named, ...listed, ...(schema.type === "boolean" ? [true, false] : []), ...examples];
}

interface Span {
  value: string;
  context: string;
  at: number;
}

const spanPatterns = [
  /"([^"\n]{1,120})"|“([^”\n]{1,120})”|(?<=^|[\s(])'([^'\n]{1,120})'(?=$|[\s.,;:)?!])/gu,
  /\bhttps?:\/\/[^\s"'<>)]+[^\s"'<>).,;:?!]/gu,
  /\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/gu,
  /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b/gu,
  /(?<![\w.])(?:\.{0,2}\/)?(?:[\w.-]+\/)+[\w.-]*\w|\b[\w-]+\.[a-z]{2,4}\b/gu,
  /-?\b\d+(?:[.,]\d+)*\b/gu,
  /\b[A-Z]{2,}\b|\b\p{Lu}[\p{L}\d'’-]*(?:\s+(?:(?:of|de|la|the|and|von|van)\s+)?\p{Lu}[\p{L}\d'’-]*)*/gu,
];

/** In order of how telling the kind is, then of the text. */
function spansOf(text: string): Span[] {
  return spanPatterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => {
      const value = match.slice(1).find((group) => group !== undefined) ?? match[0];
      return { value, context: around(text, match.index, match[0].length), at: match.index };
    }),
  );
}

/** Any word of four letters or more; the last resort. */
function plainWordsOf(text: string): Span[] {
  return [...text.matchAll(/\p{L}{4,}/gu)].map((match) => ({
    value: match[0],
    context: around(text, match.index, match[0].length),
    at: match.index,
  }));
}

/** The words before and after, without the value itself. */
function around(text: string, at: number, length: number): string {
  const before = text.slice(Math.max(0, at - 40), at).replace(/^\S*\s/u, "");
  const after = text.slice(at + length, at + length + 24).replace(/\s\S*$/u, "");
  return `${before.trim()} ${after.trim()}`.trim();
}

/** Values inside a result, each with its path; of a text that is not JSON its keys, numbers and strings. */
function leavesOf(output: unknown, limit = 64): { value: unknown; context: string }[] {
  const leaves: { value: unknown; context: string }[] = [];
  const visit = (value: unknown, path: string): void => {
    if (leaves.length >= limit || value === null || value === undefined) return;
    if (Array.isArray(value)) for (const each of value) visit(each, path);
    else if (typeof value === "object") for (const [key, each] of Object.entries(value)) visit(each, `${path} ${key}`);
    else if (typeof value === "string" && value.length > 200) leaves.push(...spansOf(value).slice(0, limit));
    else leaves.push({ value, context: path.trim() });
  };
  visit(typeof output === "string" ? parsed(output) : output, "");
  return leaves.slice(0, limit);
}

/** JSON, or what Python prints of such values, or the pairs that a cut text still shows; else the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const pairs = [...text.matchAll(/['"]?([\w-]+)['"]?\s*[:=]\s*(?:'([^']*)'|"([^"]*)"|(-?\d+(?:\.\d+)?))/gu)];
    if (pairs.length === 0) return spansOf(text).map(({ value }) => value);
    return pairs.map(([, key = "", single, double, number]) => ({
      [key]: number === undefined ? (single ?? double) : Number(number),
    }));
  }
}

/** The value as the property's type has it; none when it cannot be. */
function fitted(value: unknown, schema: SlotQuestion["schema"]): unknown[] {
  const types = Array.isArray(schema.type) ? (schema.type as unknown[]) : [schema.type];
  const listed = Array.isArray(schema.enum) ? (schema.enum as unknown[]) : undefined;
  if (listed) return listed.filter((each) => asText(each).toLowerCase() === asText(value).toLowerCase());
  if (types.includes(undefined) || types.some((type) => isOfType(value, type))) return [value];
  const text = asText(value);
  if (types.includes("integer") || types.includes("number")) {
    const number = Number(text.replace(/(?<=\d),(?=\d{3}\b)/gu, ""));
    const fits =
      text.trim() !== "" && Number.isFinite(number) && (types.includes("number") || Number.isInteger(number));
    return fits ? [number] : [];
  }
  if (types.includes("string")) return typeof value === "object" ? [] : [text];
  if (types.includes("array")) {
    const items = fitted(value, (schema.items ?? {}) as SlotQuestion["schema"]);
    return items.map((item) => [item]);
  }
  return [];
}

function typeMatches(value: unknown, schema: SlotQuestion["schema"]): boolean {
  const types = Array.isArray(schema.type) ? (schema.type as unknown[]) : [schema.type];
  return types.some((type) => isOfType(value, type));
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

/** The share of the property's words that stand around the value. */
function sharedWords(wanted: ReadonlySet<string>, context: string): number {
  if (wanted.size === 0) return 0;
  const there = new Set(wordsOf(context));
  return [...wanted].filter((word) => there.has(word)).length / wanted.size;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
