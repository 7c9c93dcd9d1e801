/** Is what a reset or step returned something that a server can commit and send? */

import { canonical, decode, encode, type Json, type ToolSpec, type Value } from "trailgym/protocol";
import type { z } from "zod";
import type { AnyEnv } from "../define.ts";
import { checkTools, issues } from "./definition.ts";
import { type Findings, messageOf, type Place, type Rule } from "./finding.ts";

export interface Committed {
  /** The object itself, as the engine would keep it. */
  state: unknown;
  /** The same after a journal and a restart. */
  restored(): Value;
  observation: unknown;
  reward: number;
  ended: boolean;
  tools: readonly ToolSpec[] | undefined;
  /** One text for all of it: what a replay must repeat. */
  text: string;
}

/** @returns undefined when the engine would answer ENV_FAULT, which is then a finding. */
export function commit(definition: AnyEnv, outcome: unknown, findings: Findings, at: Place): Committed | undefined {
  const call = at.step === 0 ? "reset" : "step";
  if (typeof outcome !== "object" || outcome === null || !("state" in outcome) || !("observation" in outcome)) {
    findings.error("outcome", `${call} does not return an object with state and observation`, at);
    return undefined;
  }
  const { reward = 0, terminated = false, truncated = false, info = {}, tools } = outcome as Record<string, unknown>;
  if (typeof reward !== "number" || !Number.isFinite(reward)) {
    findings.error("reward", `the reward is ${String(reward)}: give a finite number`, at);
    return undefined;
  }
  if (typeof terminated !== "boolean" || typeof truncated !== "boolean") {
    findings.error("outcome", "terminated and truncated are true, false or left out", at);
    return undefined;
  }
  if (Array.isArray(tools)) checkTools(tools as ToolSpec[], findings, at);

  const state = conform("state", definition.state, outcome.state, findings, at);
  const observation = conform("observation", definition.observation, outcome.observation, findings, at);
  const noted = codec("info", info, findings, at);
  if (state === undefined || observation === undefined || noted === undefined) return undefined;
  const seen = { state: state.json, observation: observation.json, info: noted, reward, terminated, truncated };
  return {
    state: state.value,
    restored: () => decode(JSON.parse(state.text) as Json),
    observation: observation.value,
    reward,
    ended: terminated || truncated,
    tools: tools as readonly ToolSpec[] | undefined,
    text: canonical({ ...seen, tools: tools === undefined ? null : JSON.stringify(tools) }),
  };
}

function conform(
  what: "state" | "observation",
  schema: z.ZodType,
  value: unknown,
  findings: Findings,
  at: Place,
): { value: unknown; json: Json; text: string } | undefined {
  const rule: Rule = `${what}-schema`;
  const parsed = attempt(() => schema.safeParse(value));
  if (parsed instanceof Error) {
    findings.error(rule, `the ${what} schema cannot be used: ${parsed.message}`, at);
    return undefined;
  }
  if (!parsed.success) {
    findings.error(rule, `the ${what} is not what its schema says (${issues(parsed.error)})`, at);
    return undefined;
  }
  const raw = codec(what, value, findings, at);
  const json = codec(what, parsed.data, findings, at);
  if (raw === undefined || json === undefined) return undefined;
  if (canonical(value) !== canonical(parsed.data)) {
    const message = `the ${what} schema changes the ${what} (it drops a key, fills one in, or transforms): what is committed is not what was returned`;
    findings.error(rule, message, at);
    return undefined;
  }
  return { value: parsed.data, json, text: JSON.stringify(json) };
}

/** The JSON form; undefined when the value would not come back from it, which is then a finding. */
function codec(what: string, value: unknown, findings: Findings, at: Place): Json | undefined {
  try {
    const json = encode(value, what);
    if (canonical(decode(JSON.parse(JSON.stringify(json)) as Json)) === canonical(value)) return json;
    findings.error("codec", `the ${what} comes back from its JSON form as another value`, at);
  } catch (error) {
    findings.error("codec", `the ${what} does not survive the value codec (${messageOf(error)}): use plain data`, at);
  }
  return undefined;
}

function attempt<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
