/** What task does one row of the released training data hold? */

import { z } from "zod";
import { readPayload } from "./literal.ts";
import { meaningOf, type Names } from "./names.ts";
import { DEFAULT_MAX_CALLS, type TaskLine } from "./task.ts";

/** Parquet's int64 come as bigints. */
const count = z.union([z.int(), z.bigint().transform(Number)]).nullish();

const instance = z.object({
  ability: z.string(),
  prompt: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  plugin_call_max_round: count,
  extra_info: z
    .object({
      index: z.union([z.string(), z.number(), z.bigint()]).nullish(),
      gym_env: z.string().nullish(),
      solve_fc_round: count,
    })
    .nullish(),
});

export interface Instance {
  /** `{code_id}__{EnvName}`: which program. */
  key: string;
  className: string;
  /** The program, where the row brings it. */
  source: string | undefined;
  index: string | undefined;
  /** Names of the tools as the prompt shows them, in order. */
  shownTools: readonly string[];
  task: Omit<TaskLine, "id" | "program">;
}

/** @throws Error with the reason why the row is no task. */
export function readInstance(row: unknown): Instance {
  const parsed = instance.safeParse(row);
  if (!parsed.success) {
    throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
  }
  const { ability, prompt, plugin_call_max_round: maxCalls, extra_info: extra } = parsed.data;
  const { key, payload } = readAbility(ability);
  const [codeId, className] = splitKey(key);
  return {
    key,
    className,
    source: extra?.gym_env || undefined,
    index: extra?.index === null || extra?.index === undefined ? undefined : String(extra.index),
    shownTools: shownTools(prompt),
    task: {
      question: questionOf(prompt),
      ...readPayload(payload),
      family: codeId.replace(/_\d+(_[A-Za-z0-9]+)?$/, "") || codeId,
      class: className,
      ...(extra?.solve_fc_round ? { referenceCalls: extra.solve_fc_round } : {}),
      ...(maxCalls && maxCalls !== DEFAULT_MAX_CALLS ? { maxCalls } : {}),
    },
  };
}

/** `codegym_v1@{code_id}__{EnvName}@{payload}`, the first part optional; the payload may hold further "@". */
function readAbility(ability: string): { key: string; payload: string } {
  const match = /^(?:[^@_]+(?:_[^@_]+)*@)?([^@]*__[^@]*)@([\s\S]*)$/.exec(ability);
  if (!match) throw new Error("ability is not of the form codegym_v1@{code_id}__{EnvName}@{payload}");
  return { key: match[1] as string, payload: match[2] as string };
}

/** The key becomes a file's name, so nothing in it may be a path. */
export function splitKey(key: string): [codeId: string, className: string] {
  const [, codeId, className] = /^([A-Za-z0-9][\w.-]*)__([A-Za-z_][A-Za-z0-9]*)$/.exec(key) ?? [];
  if (codeId === undefined || className === undefined || key.length > 200) {
    throw new Error(`"${key.slice(0, 200)}" is not of the form {code_id}__{EnvName}`);
  }
  return [codeId, className];
}

type Prompt = readonly { role: string; content: string }[];

/** The first user message alone: what follows it may be the solution, played. Its rules of the calls are not ours. */
function questionOf(prompt: Prompt): string {
  const content = prompt.find(({ role }) => role === "user")?.content;
  if (!content?.trim()) throw new Error("prompt has no user message");
  const [, question] = /^[#* \t]*(?:Question|问题|题目)[* \t]*[:：][* \t]*\n([\s\S]+)$/im.exec(content) ?? [];
  return (question?.trim() ? question : content).trim();
}

function shownTools(prompt: Prompt): string[] {
  const user = prompt.findIndex(({ role }) => role === "user");
  const docs = prompt
    .slice(0, user)
    .map(({ content }) => content)
    .join("\n");
  return [...docs.matchAll(/^def (\w+)\(/gm)].map(([, name]) => name as string);
}

/** Under which names the prompt shows Observe and Done; undefined when under their own. */
export function renames(source: string, shown: readonly string[]): Names | undefined {
  const [, mapping = ""] = /func_mapping\s*(?::[^=\n]*)?=\s*\{([\s\S]*?)\}/.exec(source) ?? [];
  const labels = [...mapping.matchAll(/["'](\w+)["']\s*:/g)].map(([, label]) => label as string);
  const names: Names = Object.fromEntries(
    (["Observe", "Done"] as const).flatMap((tool) => {
      if (shown.length === 0 || shown.includes(tool) || !labels.includes(tool)) return [];
      const isNew = (name: string | undefined) => name !== undefined && !labels.includes(name);
      const inPlace = shown.length === labels.length ? shown[labels.indexOf(tool)] : undefined;
      const name = isNew(inPlace) ? inPlace : shown.find((other) => isNew(other) && meaningOf(other) === tool);
      return name === undefined ? [] : [[tool, name]];
    }),
  );
  return Object.keys(names).length > 0 ? names : undefined;
}
