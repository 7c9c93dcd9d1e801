/** Which tools does a program have? Read from the program itself, as specs for the agent and schemas for its calls. */

import type { JsonSchema, ToolboxEntry } from "trailgym/env";
import { z } from "zod";
import { annotationSchema } from "./annotation.ts";
import { readDocstring, type Docstring } from "./docstring.ts";

export const javascriptTools = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      parameters: z.record(z.string(), z.looseObject({ optional: z.boolean().optional() })),
    }),
  ),
  done: z.record(z.string(), z.unknown()),
});

const pythonParameter = z.object({ name: z.string(), annotation: z.string().nullable(), optional: z.boolean() });
export const pythonTools = z.object({
  tools: z.array(
    z.object({ name: z.string(), doc: z.string(), parameters: z.array(pythonParameter), open: z.boolean() }),
  ),
});

/** The program's own tools in their order, then Observe and Done. */
export function fromJavaScript({ tools, done }: z.output<typeof javascriptTools>): ToolboxEntry[] {
  const taken = tools.find(({ name }) => name === "Observe" || name === "Done");
  if (taken) throw new Error(`a program gets ${taken.name} from the bridge and must not define it`);
  const own = tools.map(({ name, description, parameters }) => {
    const properties = Object.entries(parameters).map(([key, { optional: _, ...schema }]) => [key, schema] as const);
    const required = Object.keys(parameters).filter((key) => parameters[key]?.optional !== true);
    return { spec: { name, description, inputSchema: closed(properties, required) } };
  });
  const observe = "Shows what can be seen of the problem's current state.";
  const submit = "Submits the final answer. The first submission counts and ends the episode.";
  return [
    ...own,
    { spec: { name: "Observe", description: observe, inputSchema: closed([], []) } },
    { spec: { name: "Done", description: submit, inputSchema: closed([["answer", done]], ["answer"]) } },
  ];
}

/** In the order of `func_mapping`. */
export function fromPython({ tools }: z.output<typeof pythonTools>): ToolboxEntry[] {
  return tools.map(({ name, doc, parameters, open }) => {
    const { description, args } = readDocstring(doc);
    const required = parameters.filter(({ optional }) => !optional).map((parameter) => parameter.name);
    const properties = parameters.map((parameter) => [parameter.name, shown(parameter, args)] as const);
    const accepted = parameters.map((parameter) => [parameter.name, name === "Done" ? {} : loose(parameter)] as const);
    const extra = open ? { additionalProperties: true } : {};
    return {
      spec: { name, description, inputSchema: { ...closed(properties, required), ...extra } },
      accepts: { ...closed(accepted, required), ...extra },
    };
  });
}

function shown({ name, annotation }: z.output<typeof pythonParameter>, args: Docstring["args"]): JsonSchema {
  const doc = args.get(name);
  const schema = annotationSchema(annotation ?? doc?.type?.replace(/,?\s*optional\b/i, "") ?? "");
  return doc?.description ? { ...schema, description: doc.description } : schema;
}

/**
 * Annotations in generated programs are hints that nothing ever checked: the programs' own solutions pass 2.0 for an int.
 * So a call is refused only where the kind is another (text for a number), nothing is refused inside a list or on a
 * docstring's word, and Done takes anything: it is the program that compares.
 */
function loose({ annotation, optional }: z.output<typeof pythonParameter>): JsonSchema {
  const { type } = annotationSchema(annotation ?? "");
  if (type === undefined) return {};
  const types = [type]
    .flat()
    .flatMap((name) => (/integer|number|boolean/.test(name as string) ? ["number", "boolean"] : [name]));
  return { type: [...new Set([...types, ...(optional ? ["null"] : [])])] };
}

const closed = (properties: readonly (readonly [string, JsonSchema])[], required: readonly string[]) => ({
  type: "object",
  properties: Object.fromEntries(properties),
  required,
  additionalProperties: false,
});
