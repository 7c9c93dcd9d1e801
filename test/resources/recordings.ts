/** Recorded sessions of fixtures/sessions (its README has the format): played again on a server. */

import { readdirSync, readFileSync } from "node:fs";
import type { Wire } from "./wire.ts";

export interface Exchange {
  method: string;
  /** A string `$name` stands for what it was bound to. */
  params: unknown;
  /** A string `$name` that is not bound yet takes any string; from then on it is that one. */
  result?: unknown;
  error?: unknown;
}

export interface Recording {
  summary: string;
  /** One at a time; a list is one batch. All but `initialize`, which the player has done. */
  exchanges: (Exchange | Exchange[])[];
}

const folder = new URL("../../fixtures/sessions/", import.meta.url);

export function recordings(): (Recording & { file: string })[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .toSorted()
    .map((file) => ({ file, ...(JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Recording) }));
}

export type Bindings = Map<string, string>;

/** Plays one exchange or batch. @returns the replies, with the ids that were bound replaced by their names. */
export async function playExchange(
  wire: Wire,
  exchange: Exchange | Exchange[],
  bindings: Bindings,
): Promise<{ result?: unknown; error?: unknown }[]> {
  const list = Array.isArray(exchange) ? exchange : [exchange];
  const calls = list.map(({ method, params }) => [method, fill(params, bindings)] as const);
  const replies = Array.isArray(exchange)
    ? await wire.batch(calls)
    : [await wire.request(...(calls[0] as readonly [string, unknown]))];
  return replies.map(({ result, error }, i) => {
    bind(list[i]?.result, result, bindings);
    return error === undefined ? { result: name(result, bindings) } : { error: name(error, bindings) };
  });
}

const placeholder = /^\$[a-z]+\d*$/;

function fill(value: unknown, bindings: Bindings): unknown {
  return map(value, (text) => (placeholder.test(text) ? (bindings.get(text) ?? text) : text));
}

function name(value: unknown, bindings: Bindings): unknown {
  const names = new Map([...bindings].map(([placeholder, id]) => [id, placeholder]));
  return map(value, (text) => {
    for (const [id, known] of names) text = text.replaceAll(id, known);
    return text;
  });
}

function bind(expected: unknown, got: unknown, bindings: Bindings): void {
  if (typeof expected === "string") {
    if (placeholder.test(expected) && !bindings.has(expected) && typeof got === "string") bindings.set(expected, got);
  } else if (isObject(expected) && isObject(got)) {
    for (const [key, item] of Object.entries(expected)) bind(item, got[key], bindings);
  }
}

function map(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => map(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, map(item, change)]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
