/**
 * How does a template become an output? In a template's texts `=name` is the argument of that name, `#prefix` a new id,
 * `@field a|b|c` one of these and `@field 3..40` a whole number, both decided by the value of `field` in this output or
 * among the arguments: what is said of one id is said of it again by the next tool. `{"$repeat": [1, 3], "each": …}` is a
 * list. Everything else stands for itself.
 */

import { hash, hashName } from "../hash.ts";

export interface Call {
  tool: string;
  arguments: Readonly<Record<string, unknown>>;
  /** Of the episode: other seeds, other ids. */
  seed: number;
}

const absent = Symbol("absent");

export function fillTemplate(template: unknown, call: Call): unknown {
  const filled = fill(template, call, [call.arguments], "");
  return filled === absent ? null : filled;
}

/** @param known the objects around this place, the nearest first: where a field's value is looked up. */
function fill(
  template: unknown,
  call: Call,
  known: readonly Readonly<Record<string, unknown>>[],
  path: string,
): unknown {
  if (typeof template === "string") return fillText(template, call, known, path);
  if (typeof template !== "object" || template === null) return template;
  if (Array.isArray(template)) {
    return template.map((item, i) => fill(item, call, known, `${path}/${i}`)).filter((item) => item !== absent);
  }
  if ("$repeat" in template) return repeat(template as Repeat, call, known, path);
  const object: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(template)) {
    const filled = fill(value, call, [object, ...known], `${path}/${key}`);
    if (filled !== absent) object[key] = filled;
  }
  return object;
}

interface Repeat {
  $repeat: [least: number, most: number];
  each: unknown;
}

function repeat({ $repeat: [least, most], each }: Repeat, call: Call, known: Parameters<typeof fill>[2], path: string) {
  const count = least + (draw(call, path) % (most - least + 1));
  return Array.from({ length: count }, (_, i) => fill(each, call, known, `${path}/${i}`));
}

function fillText(text: string, call: Call, known: Parameters<typeof fill>[2], path: string): unknown {
  if (text.startsWith("=")) return call.arguments[text.slice(1)] ?? absent;
  if (text.startsWith("#")) return `${text.slice(1)}-${hashName(seedText(call, path)).slice(0, 5)}`;
  const [, field, choices] = /^@(\S+) (.+)$/s.exec(text) ?? [];
  if (field === undefined || choices === undefined) return text;
  const anchor = known.find((object) => Object.hasOwn(object, field))?.[field];
  const key = path.slice(path.lastIndexOf("/") + 1);
  // Where there is nothing to hold on to, the call itself decides.
  const number = anchor === undefined ? draw(call, path) : hash(`${JSON.stringify(anchor)} ${key}`);
  const [, least, most] = /^(-?\d+)\.\.(-?\d+)$/.exec(choices) ?? [];
  if (least !== undefined && most !== undefined) return Number(least) + (number % (Number(most) - Number(least) + 1));
  const options = choices.split("|");
  return options[number % options.length];
}

const draw = (call: Call, path: string): number => hash(seedText(call, path));
const seedText = ({ tool, arguments: args, seed }: Call, path: string) => JSON.stringify([seed, tool, args, path]);
