/** What would a tool answer that nobody recorded and no model plays? A plausible output that is a function of the call alone. */

import { type JsonSchema, rng, type Rng, sampleAction } from "trailgym/env";
import { hash, hashName } from "../hash.ts";
import type { ToolEntry } from "../trajectory.ts";

/** @param key everything that the output may depend on, as one text: equal keys, equal outputs. */
export function templateOutput(tool: ToolEntry, args: Readonly<Record<string, unknown>>, key: string): unknown {
  const chance = rng(hash(key));
  const fitted = tool.outputSchema === undefined ? undefined : fitting(tool.outputSchema, args, chance);
  return fitted ?? byVerb[verbOf(tool.name)](args, hashName(key).slice(0, 8), chance);
}

type Verb = "search" | "get" | "create" | "update" | "delete" | "send" | "calc" | "do";

const words: Record<Exclude<Verb, "do">, string> = {
  search: "search find list query browse lookup discover filter show all",
  get: "get read fetch retrieve view load check status describe info details open inspect",
  create: "create add insert make new write book reserve register schedule upload generate order",
  update: "update edit set modify change rename move patch append replace mark assign renew",
  delete: "delete remove clear drop cancel close archive",
  send: "send post publish share notify email message reply submit request",
  calc: "calc calculate compute sum count mean convert estimate add subtract multiply divide scale",
};

const verbs = new Map(
  Object.entries(words)
    .reverse()
    .flatMap(([verb, list]) => list.split(" ").map((word) => [word, verb as Verb] as const)),
);

/** The first word of a tool's name that is a known verb. */
export function verbOf(name: string): Verb {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  for (const part of parts) {
    const verb = verbs.get(part);
    if (verb !== undefined) return verb;
  }
  return "do";
}

type Template = (args: Readonly<Record<string, unknown>>, id: string, chance: Rng) => unknown;

const byVerb: Record<Verb, Template> = {
  search: (args, id, chance) => {
    const total = chance.int(1, 4);
    const results = Array.from({ length: total }, (_, i) => ({
      id: `${id}-${i + 1}`,
      score: chance.int(50, 99) / 100,
    }));
    return { query: args, total, results };
  },
  get: (args, id, chance) => ({ id, ...args, version: chance.int(1, 9), status: "active" }),
  create: (args, id) => ({ id, ...args, status: "created" }),
  update: (args, id, chance) => ({ id, ...args, status: "updated", version: chance.int(2, 9) }),
  delete: (args) => ({ ...args, status: "deleted" }),
  send: (args, id) => ({ message_id: id, ...args, status: "sent" }),
  calc: (args, _id, chance) => ({ ...args, result: chance.int(1, 9999) / 100 }),
  do: (args, id) => ({ id, ...args, status: "done" }),
};

/**
 * A value of the tool's own output schema, with the arguments where it has fields of their names; undefined where no value
 * fits: nobody has checked that schema.
 */
function fitting(schema: JsonSchema, args: Readonly<Record<string, unknown>>, chance: Rng): unknown {
  let sampled: unknown;
  try {
    sampled = sampleAction(schema, chance);
  } catch {
    return undefined;
  }
  if (typeof sampled !== "object" || sampled === null || Array.isArray(sampled)) return sampled;
  const known = Object.keys(sampled).filter((name) => Object.hasOwn(args, name));
  return { ...sampled, ...Object.fromEntries(known.map((name) => [name, args[name]])) };
}
