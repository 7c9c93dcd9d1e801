/** Berkeley Function-Calling Leaderboard, multi-turn: questions in one file, the calls that answer them in another. */

import { type Draft, type Format, isObject, requestOf, textIn, type RawTool } from "../draft.ts";
import { parsePythonCall } from "../python.ts";
import { toolsIn } from "../tool-files.ts";

/** Of one import: what the documents so far have said. */
export function bfcl(): Format {
  const answers = new Map<string, unknown>();
  const functions = new Map<string, RawTool>();

  return {
    summary:
      "BFCL multi-turn: BFCL_v*_multi_turn_*.json, its possible_answer/ and multi_turn_func_doc/ files, in any order",

    gather(value, { file }) {
      if (!isObject(value)) return false;
      if (typeof value.id === "string" && Array.isArray(value.ground_truth)) {
        answers.set(value.id, value.ground_truth);
        return true;
      }
      const tools = typeof value.name === "string" ? toolsIn(value, file) : undefined;
      for (const tool of tools ?? []) functions.set(tool.name, tool);
      return tools !== undefined;
    },

    read(value): Draft[] {
      if (!isObject(value) || typeof value.id !== "string") throw new Error("there is no id");
      const turns = answers.get(value.id);
      if (!Array.isArray(turns))
        throw new Error(`no possible answer for ${value.id}: give the possible_answer file too`);
      if (!Array.isArray(value.question)) throw new Error("there is no question");
      const classes = texts(value.involved_classes);
      const excluded = new Set(texts(value.excluded_function));
      const tools = [...functions.values()].filter(
        ({ name, server }) =>
          server !== undefined && classes.includes(server) && !excluded.has(name.slice(server.length + 1)),
      );
      const steps = turns.flatMap((calls: unknown, turn) =>
        texts(calls).map((call) => ({ ...callOf(call, classes), turn })),
      );
      return [
        {
          id: value.id,
          source: "bfcl/multi_turn",
          task: requestOf(value.question.map((turn: unknown) => lastUser(turn))),
          steps,
          tools,
          isComplete: tools.length > 0,
          family: classes.join("+") || undefined,
        },
      ];
    },
  };

  /** A bare name is the function of the first involved class that has it; a place in a call is that of the parameters. */
  function callOf(text: string, classes: readonly string[]): { tool: string; arguments: Record<string, unknown> } {
    const { name, positional, named } = parsePythonCall(text);
    const tool = classes.map((server) => functions.get(`${server}.${name}`)).find((found) => found !== undefined);
    const parameters =
      isObject(tool?.schema) && isObject(tool.schema.properties) ? Object.keys(tool.schema.properties) : [];
    if (positional.length > parameters.length) {
      throw new Error(`${name} is called without names of parameters: give the multi_turn_func_doc files too`);
    }
    const placed = positional.map((value, i) => [parameters[i] as string, value] as const);
    return { tool: tool?.name ?? name, arguments: { ...Object.fromEntries(placed), ...named } };
  }
}

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];

function lastUser(turn: unknown): string {
  const messages = Array.isArray(turn) ? turn.filter(isObject) : [];
  return messages
    .filter(({ role }) => role === "user")
    .map(({ content }) => textIn(content))
    .join("\n");
}
