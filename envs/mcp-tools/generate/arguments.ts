/** Which arguments has the next call? What earlier outputs have said, else what such an argument usually is. */

import { type JsonSchema, problemWith, type Rng, sampleAction } from "trailgym/env";
import { checkOf } from "../schema/schema.ts";
import type { BookTool, Toolbook } from "./toolbook.ts";

/** How likely an argument is given that need not be. */
const OPTIONAL = 0.4;
/** How likely a value that an output has said is taken where another would do. */
const CARRIED = 0.5;

export interface Chosen {
  arguments: Record<string, unknown>;
  /** Those that whoever asks cannot know, each with the step whose output says it. */
  carried: ReadonlyMap<string, number>;
}

interface Heard {
  value: unknown;
  step: number;
  /** It was an argument: whoever asks can say it again. */
  isAsked: boolean;
}

/** What has been said so far: arguments and scalar fields of outputs, by name the latest, with the step that said it first. */
export class Said {
  readonly #values = new Map<string, Heard>();

  /** Outputs that are texts of JSON are read. Of a list the first item speaks. */
  hear({ arguments: args, carried }: Chosen, output: unknown, step: number): void {
    for (const [key, value] of Object.entries(args)) if (!carried.has(key)) this.#note(key, value, step, true);
    this.#walk(typeof output === "string" ? parsed(output) : output, step, 0);
  }

  get(name: string): Heard | undefined {
    return this.#values.get(name);
  }

  /** What is only repeated stays whose it was. */
  #note(key: string, value: unknown, step: number, isAsked: boolean): void {
    if (this.#values.get(key)?.value !== value) this.#values.set(key, { value, step, isAsked });
  }

  #walk(value: unknown, step: number, depth: number): void {
    if (typeof value !== "object" || value === null || depth > 4) return;
    if (Array.isArray(value)) return this.#walk(value[0], step, depth + 1);
    for (const [key, item] of Object.entries(value)) {
      if (typeof item === "string" || typeof item === "number") this.#note(key, item, step, false);
      else this.#walk(item, step, depth + 1);
    }
  }
}

/** Prose says nothing that has a name. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns undefined when a required argument is one that only an output could say, and none has, or when nothing fits. */
export function chooseArguments(tool: BookTool, book: Toolbook, said: Said, rng: Rng): Chosen | undefined {
  const { properties = {}, required = [] } = tool.inputSchema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  const args: Record<string, unknown> = {};
  const carried = new Map<string, number>();
  for (const [key, schema] of Object.entries(properties)) {
    if (!required.includes(key) && rng.float() >= OPTIONAL) continue;
    const heard = said.get(key);
    const free = tool.values[key] !== undefined || isChoice(schema) || !producedBy(book).has(key);
    // Another tool's field of the same name may hold something else.
    const isFit = heard !== undefined && problemWith(schema, heard.value) === undefined;
    if (isFit && (!free || rng.float() < CARRIED)) {
      args[key] = heard.value;
      if (!heard.isAsked) carried.set(key, heard.step);
    } else if (free) args[key] = usual(tool, key, schema, rng);
    else if (required.includes(key)) return undefined;
  }
  return checkOf(tool.inputSchema)(args) === undefined ? { arguments: args, carried } : undefined;
}

const isChoice = (schema: JsonSchema): boolean => Array.isArray(schema.enum) || schema.type === "boolean";

function usual({ values }: BookTool, key: string, schema: JsonSchema, rng: Rng): unknown {
  const known = values[key];
  if (known !== undefined) return rng.choice(known);
  const type = schema.type ?? (Array.isArray(schema.enum) ? "string" : undefined);
  // A random text reads like a mistake; the argument's own name with a number reads like a value.
  if (type === undefined || (type === "string" && schema.enum === undefined && schema.format === undefined)) {
    return `${key.replaceAll("_", "-")}-${rng.int(1, 40)}`;
  }
  return sampleAction(schema, rng);
}

const produced = new WeakMap<Toolbook, ReadonlySet<string>>();

/** Names of the fields in the book's output templates. */
function producedBy(book: Toolbook): ReadonlySet<string> {
  let names = produced.get(book);
  if (names === undefined) {
    const found = new Set<string>();
    const walk = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, item] of Object.entries(value)) {
        if (!Array.isArray(value)) found.add(key);
        walk(item);
      }
    };
    for (const { output } of book.tools.values()) walk(output);
    names = found;
    produced.set(book, names);
  }
  return names;
}
