/** ATIF, the Agent Trajectory Interchange Format of Harbor (Terminal-Bench), versions 1.0 to 1.7: one trajectory a document. */

import type { RecordedStep } from "../../trajectory.ts";
import { argumentsIn, type Draft, type Format, isObject, requestOf, textIn } from "../draft.ts";
import { toolsIn } from "../tool-files.ts";

export const atif: Format = {
  summary: "ATIF trajectories of Harbor and Terminal-Bench: trajectory.json files, or one a line",

  read(value, { file }): Draft[] {
    if (!isObject(value) || typeof value.schema_version !== "string" || !value.schema_version.startsWith("ATIF-v1.")) {
      throw new Error("there is no schema_version of ATIF-v1");
    }
    if (!Array.isArray(value.steps)) throw new Error("there are no steps");
    const asked: string[] = [];
    const steps: RecordedStep[] = [];
    for (const step of value.steps as unknown[]) {
      if (!isObject(step)) throw new Error("a step is not an object");
      if (step.source === "user") asked.push(textIn(step.message));
      if (step.source === "agent") steps.push(...callsOf(step, Math.max(0, asked.length - 1)));
    }
    const agent = isObject(value.agent) ? value.agent : {};
    const extra = isObject(value.extra) ? value.extra : {};
    const tools = Array.isArray(agent.tool_definitions) ? toolsIn(agent.tool_definitions) : undefined;
    const id = value.trajectory_id ?? value.session_id;
    return [
      {
        id: typeof id === "string" && id !== "" ? id : file,
        source: `atif/${typeof agent.name === "string" ? agent.name : "agent"}`,
        task: requestOf(asked),
        steps,
        tools: tools ?? [],
        isComplete: tools !== undefined,
        success: typeof extra.success === "boolean" ? extra.success : undefined,
      },
    ];
  },
};

/** Results belong to calls by id; one without an id to the call in its place. */
function callsOf(step: Record<string, unknown>, turn: number): RecordedStep[] {
  const calls: unknown[] = Array.isArray(step.tool_calls) ? step.tool_calls : [];
  const { results } = isObject(step.observation) ? step.observation : {};
  const given: unknown[] = Array.isArray(results) ? results : [];
  return calls.map((call, i) => {
    if (!isObject(call) || typeof call.function_name !== "string") throw new Error("a call names no function");
    const named = given.filter(isObject).find(({ source_call_id: id }) => id === call.tool_call_id && id !== undefined);
    const placed = given[i];
    const result = named ?? (isObject(placed) && (placed.source_call_id ?? null) === null ? placed : undefined);
    const isError: unknown = result?.is_error ?? (isObject(result?.extra) ? result.extra.is_error : undefined);
    return {
      tool: call.function_name,
      arguments: argumentsIn(call.arguments),
      ...(result?.content === undefined || result.content === null ? {} : { output: textIn(result.content) }),
      ...(typeof isError === "boolean" ? { isError } : {}),
      turn,
    };
  });
}
