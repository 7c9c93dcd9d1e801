/** What did a person mean by what they typed: an action, or something about the game? */

import type { ToolSpec } from "trailgym/protocol";
import { splitWords } from "../eval/agents/words.ts";

export type Typed =
  | { kind: "action"; action: unknown }
  | { kind: "command"; name: string; rest: string }
  | { kind: "nothing" }
  | { kind: "mistake"; message: string };

/**
 * JSON is the action as it is. Where actions are tool calls, `tool key=value …` is one too; elsewhere `key=value …` is an
 * object. Values are JSON, or text where they are none or where the tool asks for text.
 */
export function readTyped(line: string, tools: readonly ToolSpec[]): Typed {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  if (text.startsWith(":")) {
    const [name = "", ...rest] = text.slice(1).split(/\s+/);
    return { kind: "command", name, rest: rest.join(" ") };
  }
  try {
    return { kind: "action", action: JSON.parse(text) };
  } catch (error) {
    if (/^[[{"]/.test(text)) return { kind: "mistake", message: `not valid JSON: ${(error as Error).message}` };
  }
  try {
    return fromWords(splitWords(text.replace(/\\(?!["' ])/g, "\\\\")), tools);
  } catch {
    return { kind: "mistake", message: "a quote does not end" };
  }
}

function fromWords(words: readonly string[], tools: readonly ToolSpec[]): Typed {
  if (tools.length === 0) {
    const pairs = pairsOf(words, {});
    return typeof pairs === "string" ? { kind: "mistake", message: pairs } : { kind: "action", action: pairs };
  }
  const [name = "", ...rest] = words;
  const tool = tools.find((one) => one.name === name) ?? tools.find((one) => lower(one.name) === lower(name));
  const args = pairsOf(rest, (tool?.inputSchema.properties ?? {}) as Properties);
  if (typeof args === "string") return { kind: "mistake", message: args };
  return { kind: "action", action: { tool: tool?.name ?? name, arguments: args } };
}

type Properties = Readonly<Record<string, { readonly type?: unknown } | undefined>>;

function pairsOf(words: readonly string[], properties: Properties): Record<string, unknown> | string {
  const entries: [string, unknown][] = [];
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1) return `"${word}" is not of the form key=value; :help shows how an action is typed`;
    const key = word.slice(0, at);
    const text = word.slice(at + 1);
    entries.push([key, properties[key]?.type === "string" ? text : valueOf(text)]);
  }
  return Object.fromEntries(entries);
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const lower = (text: string) => text.toLowerCase();
