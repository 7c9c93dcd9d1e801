/** What is kept of an episode between its steps? As little as can be: it is checked, encoded and hashed with every step. */

import { z } from "zod";
import { type Options, options } from "./options.ts";
import { type Source, sources } from "./simulator/source.ts";
import { type Status, status, textOf } from "./status.ts";

/** Characters of an output that a model is shown with later calls. */
const KEPT_OUTPUT = 150;

export const state = z.object({
  /** As JSON; empty: the defaults. */
  options: z.string(),
  /** ξ: the name in each call so far; "" where the call could not be read. */
  tools: z.array(z.string()),
  /** Of the latest calls, the newest last; the beginning of each. Empty where there is no model to be shown them. */
  outputs: z.array(z.string()),
  /** How each call ended, and who answered it: a letter a call. */
  statuses: z.string(),
  sources: z.string(),
  ended: z.enum(["terminated", "truncated"]).nullable(),
});
export type State = z.output<typeof state>;

export interface Called {
  /** As the policy wrote it. */
  tool: string;
  content: unknown;
  status: Status;
  source: Source;
}

const defaults = JSON.stringify(options.parse({}));

export function firstState(chosen: Options): State {
  const json = JSON.stringify(chosen);
  return { options: json === defaults ? "" : json, tools: [], outputs: [], statuses: "", sources: "", ended: null };
}

/** @param hasModel outputs are kept for it. */
export function nextState(
  before: State,
  { simulator, horizon }: Options,
  { tool, content, status: ended, source }: Called,
  hasModel: boolean,
): State {
  const tools = [...before.tools, tool];
  const isKept = hasModel && simulator.history > 0 && simulator.sources.includes("model");
  const outputs = isKept ? [...before.outputs, textOf(content).slice(0, KEPT_OUTPUT)].slice(-simulator.history) : [];
  return {
    options: before.options,
    tools,
    outputs,
    statuses: before.statuses + letterOf(status.options, ended),
    sources: before.sources + letterOf(sources, source),
    ended: tools.length >= horizon ? "truncated" : null,
  };
}

/** The latest calls with their outputs, the newest last. */
export function historyOf({ tools, outputs }: State): { tool: string; output: string }[] {
  const first = tools.length - outputs.length;
  return outputs.map((output, i) => ({ tool: tools[first + i] ?? "", output }));
}

/** How many calls ended so, and were answered so. */
export function countsOf(of: Pick<State, "statuses" | "sources">): {
  statuses: Partial<Record<Status, number>>;
  sources: Partial<Record<Source, number>>;
} {
  return { statuses: counted(status.options, of.statuses), sources: counted(sources, of.sources) };
}

/** Parsed options of the texts that states hold; a pure function of them, so it may be forgotten at any time. */
const parsed = new Map<string, Options>();
const MAX_PARSED = 1_000;

export function optionsIn({ options: text }: State): Options {
  let chosen = parsed.get(text);
  if (chosen === undefined) {
    chosen = options.parse(text === "" ? {} : JSON.parse(text));
    if (parsed.size >= MAX_PARSED) parsed.clear();
    parsed.set(text, chosen);
  }
  return chosen;
}

const letterOf = (names: readonly string[], name: string): string => String.fromCharCode(97 + names.indexOf(name));

function counted<Name extends string>(names: readonly Name[], letters: string): Partial<Record<Name, number>> {
  const counts: Partial<Record<Name, number>> = {};
  for (const letter of letters) {
    const name = names[letter.charCodeAt(0) - 97];
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
