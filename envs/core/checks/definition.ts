/** Is a definition usable before anything runs: id, summary, schemas, defaults, tools, needs? */

import { encode, type ToolSpec } from "trailgym/protocol";
import { z } from "zod";
import type { AnyEnv } from "../define.ts";
import { type Findings, messageOf, type Place } from "./finding.ts";

/** As in `defineEnv`, which a definition written as a plain object has not been through. */
const idForm = /^[a-z][a-z0-9-]*(\/[a-z][a-z0-9-]*)?-v[0-9]+$/;

/** @returns whether episodes can be tried. */
export function checkDefinition(definition: AnyEnv, findings: Findings): boolean {
  if (typeof definition.id !== "string" || !idForm.test(definition.id)) {
    findings.error("definition", `id ${JSON.stringify(definition.id)} is not of the form family-vN: rename it`);
  }
  if (typeof definition.summary !== "string" || definition.summary.trim() === "") {
    findings.error("definition", "there is no summary: say in one sentence what a player has to do");
  }
  const { maxEpisodeSteps, needs = [] } = definition;
  if (maxEpisodeSteps !== undefined && !(Number.isSafeInteger(maxEpisodeSteps) && maxEpisodeSteps > 0)) {
    findings.error("definition", `maxEpisodeSteps is ${maxEpisodeSteps}: give a whole number from 1, or leave it out`);
  }
  const unknown = needs.filter((need) => !/^(interpreter:(javascript|python)|model)$/.test(need));
  for (const need of unknown) {
    findings.error(
      "definition",
      `no server knows the need "${need}": use interpreter:javascript, interpreter:python or model`,
    );
  }
  checkTools(definition.tools ?? [], findings);
  const functions = checkFunctions(definition, findings);
  return checkSchemas(definition, findings) && functions && unknown.length === 0;
}

function checkFunctions(definition: AnyEnv, findings: Findings): boolean {
  const missing = (["reset", "step"] as const).filter((name) => typeof definition[name] !== "function");
  for (const name of missing) findings.error("definition", `there is no ${name} function`);
  return missing.length === 0;
}

function checkSchemas(definition: AnyEnv, findings: Findings): boolean {
  const names = ["state", "action", "observation", "options"] as const;
  const missing = names.filter((name) => !(definition[name] instanceof z.ZodType));
  for (const name of missing) findings.error("definition", `${name} is not a zod schema`);
  if (missing.length > 0) return false;
  checkJsonSchema("action", definition.action, "input", findings);
  checkJsonSchema("observation", definition.observation, "output", findings);
  checkJsonSchema("options", definition.options, "input", findings);
  return checkOptions(definition, findings);
}

/** Clients learn the shapes from JSON Schema; what has none there is shown to them as "anything". */
function checkJsonSchema(name: string, schema: z.ZodType, io: "input" | "output", findings: Findings): void {
  try {
    z.toJSONSchema(schema, { io, unrepresentable: "any" });
  } catch (error) {
    findings.error("json-schema", `the ${name} schema cannot be published (${messageOf(error)}): use plain zod types`);
    return;
  }
  try {
    z.toJSONSchema(schema, { io });
  } catch (error) {
    findings.warning(
      "json-schema",
      `clients are not told all of the ${name} schema (${messageOf(error)}): use types that JSON Schema has, or describe it in words`,
    );
  }
}

function checkOptions({ options }: AnyEnv, findings: Findings): boolean {
  try {
    const parsed = options.safeParse({});
    if (!parsed.success) {
      findings.error(
        "options-defaults",
        `reset without options fails (${issues(parsed.error)}): give every key a default`,
      );
      return false;
    }
    encode(parsed.data, "options");
    return true;
  } catch (error) {
    findings.error("options-defaults", `the defaults of the options cannot be used: ${messageOf(error)}`);
    return false;
  }
}

/** @param at where they were shown, when a reset showed them. */
export function checkTools(tools: readonly ToolSpec[], findings: Findings, at?: Place): void {
  const names = new Set<string>();
  for (const { name, description, inputSchema } of tools) {
    if (names.has(name)) findings.error("tools", `two tools are named "${name}": a call could mean either`, at);
    names.add(name);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
      findings.warning(
        "tools",
        `model APIs refuse the tool name "${name}": use 1 to 64 of letters, digits, "_" and "-"`,
        at,
      );
    }
    if (description.trim() === "")
      findings.warning("tools", `the tool "${name}" has no description for the policy`, at);
    if (inputSchema.type !== "object") {
      findings.error(
        "tools",
        `the inputSchema of tool "${name}" is not of type object: arguments are passed by name`,
        at,
      );
    }
  }
}

export function issues(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.map(String).join(".")}: ${message}` : message))
    .join("; ");
}
