/** How is a tool call read out of what a policy wrote: an object in one of the usual spellings, or a model's raw text? */

import { encode, ValueError } from "trailgym/protocol";
import { z } from "zod";

const argumentsOf = z
  .union([z.record(z.string(), z.unknown()), z.string()])
  .nullable()
  .optional();

const spelled = z.union([
  z.looseObject({ tool: z.string(), arguments: argumentsOf }),
  z.looseObject({ name: z.string(), arguments: argumentsOf, parameters: argumentsOf }),
  z.looseObject({ function: z.looseObject({ name: z.string(), arguments: argumentsOf }) }),
]);

/**
 * `{tool, arguments}` is the plain form. Also read: `{name, parameters}` (CodeGym), `{name, arguments}` (MCP), `{function:
 * {name, arguments}}` (OpenAI; arguments may be JSON text), a list of exactly one of these, and a string: a model's text that
 * holds one of these as JSON, bare, fenced, or between call markers. Text that holds none is answered by an observation.
 */
export const toolAction = z.union([
  z.string(),
  spelled,
  // Its elements are read below: a schema for each would list a complaint for each, and a policy may write a million.
  z.array(z.unknown()).describe("a list of one call"),
]);
export type ToolAction = z.output<typeof toolAction>;

export interface ToolCall {
  tool: string;
  arguments: Record<string, unknown>;
}

export type Parsed = { call: ToolCall } | { problem: string };

/** Never throws: what cannot be read is a problem that the policy is told about. */
export function parseCall(action: ToolAction): Parsed {
  if (typeof action === "string") return parseText(action);
  return readCall(action);
}

const markers: readonly (readonly [string, string])[] = [
  ["<|FunctionCallBegin|>", "<|FunctionCallEnd|>"],
  ["<tool_call>", "</tool_call>"],
  ["```json", "```"],
  ["```", "```"],
];

function parseText(text: string): Parsed {
  const [first, ...others] = marked(text);
  if (others.length > 0) return { problem: "the text holds more than one call; write one call per step" };
  const json = parseJson(first ?? text);
  return "problem" in json ? json : readCall(json.value);
}

/** What stands between the first kind of markers that the text has; a missing end marker means "to the end". */
function marked(text: string): string[] {
  for (const [begin, end] of markers) {
    if (text.includes(begin)) {
      const parts = text.split(begin).slice(1);
      // A fence that ends is followed by text that no longer belongs to a call: every other part is outside.
      const calls = begin === end ? parts.filter((_, i) => i % 2 === 0) : parts;
      return calls.map((part) => part.split(end, 1)[0] as string);
    }
  }
  return [];
}

function readCall(value: unknown): Parsed {
  if (Array.isArray(value)) {
    if (value.length !== 1) return { problem: `write one call per step, not a list of ${value.length}` };
    return readCall(value[0]);
  }
  if (!isRecord(value)) return { problem: "a call is a JSON object" };
  if (isRecord(value.function)) return readCall(value.function);
  const tool = value.tool ?? value.name;
  if (typeof tool !== "string") return { problem: 'a call has a "tool" with the name of one' };
  const given = value.arguments ?? value.parameters ?? {};
  const args = typeof given === "string" ? parseJson(given.trim() === "" ? "{}" : given) : { value: given };
  if ("problem" in args) return { problem: `the arguments: ${args.problem}` };
  if (!isRecord(args.value)) return { problem: '"arguments" is an object that maps names to values' };
  return { call: { tool, arguments: args.value } };
}

function parseJson(text: string): { value: unknown } | { problem: string } {
  try {
    const value: unknown = /\d{16}/.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
    // Its depth check is wanted here, before anything recurses into what a policy wrote.
    encode(value);
    return { value };
  } catch (error) {
    if (error instanceof ValueError) return { problem: error.message };
    return { problem: `not valid JSON (${(error as Error).message})` };
  }
}

/** Integers beyond 2^53 stay exact, as bigints: programs in Python compute with them. */
function exactInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !/^-?\d+$/.test(context?.source ?? "")) return value;
  const integer = BigInt(context?.source as string);
  return BigInt.asIntN(64, integer) === integer ? integer : value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
