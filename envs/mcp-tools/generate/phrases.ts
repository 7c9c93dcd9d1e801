/** How would somebody ask for one call? From the book's own phrases, else from the tool's name and description. */

import type { Rng } from "trailgym/env";
import type { Chosen } from "./arguments.ts";
import type { BookTool } from "./toolbook.ts";

/** An imperative without a full stop, in lower case: "renew the loan for 3 weeks". */
export function clauseFor(tool: BookTool, { arguments: args, carried }: Chosen, rng: Rng): string {
  const all = new Map(Object.entries(args));
  const asked = new Map([...all].filter(([key]) => !carried.has(key)));
  // Better to say what an output has said already than to ask in a way that nobody would.
  for (const known of [asked, all]) {
    const fitting = tool.phrases.map((phrase) => filled(phrase, known)).filter((phrase) => phrase !== undefined);
    if (fitting.length > 0) return rng.choice(fitting);
  }
  return derived(tool, asked, rng);
}

/** @returns undefined when a value is needed that is not to be named. */
function filled(phrase: string, known: ReadonlyMap<string, unknown>): string | undefined {
  const whole = phrase.replace(/\[([^\]]*)\]/g, (_, part: string) => slots(part, known) ?? "");
  return slots(whole, known);
}

function slots(text: string, known: ReadonlyMap<string, unknown>): string | undefined {
  let complete = true;
  const result = text.replace(/\{(\w+)\}/g, (_, key: string) => {
    complete &&= known.has(key);
    return spoken(known.get(key));
  });
  return complete ? result : undefined;
}

function spoken(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    const items = value.map(spoken);
    return items.length < 2 ? (items[0] ?? "nothing") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
  }
  return typeof value === "boolean" ? (value ? "yes" : "no") : JSON.stringify(value ?? null);
}

/** Other words for the verbs that tools' names begin with. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  get: ["get", "fetch", "look up", "pull up", "bring me"],
  fetch: ["fetch", "get", "download"],
  read: ["read", "open", "go through", "have a look at"],
  list: ["list", "show me", "give me an overview of"],
  search: ["search for", "look for", "find", "hunt for"],
  find: ["find", "look for", "track down"],
  create: ["create", "set up", "make", "start"],
  add: ["add", "put in", "include"],
  write: ["write", "put down", "save"],
  update: ["update", "change", "adjust"],
  edit: ["edit", "change", "rework"],
  delete: ["delete", "remove", "get rid of"],
  remove: ["remove", "take out", "drop"],
  send: ["send", "pass on", "dispatch"],
  run: ["run", "execute", "start"],
  check: ["check", "verify", "have a look at"],
  download: ["download", "fetch", "save a copy of"],
  move: ["move", "shift", "relocate"],
  copy: ["copy", "duplicate"],
  convert: ["convert", "turn"],
};

function derived(tool: BookTool, known: ReadonlyMap<string, unknown>, rng: Rng): string {
  const words = tool.name
    .replace(/^[^-:.]*[-:.]\s*/, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const at = words.findIndex((word) => imperatives.has(word));
  const [verb, things] = at < 0 ? ["use", [...words, "tool"]] : [words[at] as string, words.slice(at + 1)];
  const spelled = `${rng.choice(synonyms[verb] ?? [verb])} ${things.length > 0 ? `the ${things.join(" ")}` : "it"}`;
  const sentence = imperative(tool.description.split(/[.\n]/)[0] ?? "");
  const isFit = sentence.length >= 12 && sentence.length <= 120;
  const what = isFit && rng.float() < 0.4 ? sentence : spelled;
  const named = [...known].map(([key, value]) => [key.replaceAll("_", " "), spoken(value)] as const);
  const short = named.filter(([, value]) => value.length <= 60).slice(0, 2);
  const how = short.map(([key, value]) => `${key} ${value}`).join(" and ");
  return how === "" ? what : `${what} ${rng.choice(["with", "for", "using"])} ${how}`;
}

const imperatives = new Set([
  ...Object.keys(synonyms),
  ..."retrieve return show tell provide give open set order report log assign estimate close renew extract execute".split(
    " ",
  ),
  ..."generate calculate compute save upload modify apply perform use navigate click wait take change mark".split(" "),
]);

/** "Searches the archive" as a request: "search the archive". */
function imperative(sentence: string): string {
  const [first = "", ...rest] = sentence.trim().split(/\s+/);
  const verb = first.toLowerCase();
  const stems = [verb.replace(/s$/, ""), verb.replace(/es$/, ""), verb.replace(/ies$/, "y")];
  return [stems.find((stem) => imperatives.has(stem)) ?? verb, ...rest].join(" ");
}
