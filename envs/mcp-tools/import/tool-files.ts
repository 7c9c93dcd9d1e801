/** Which tools does a document describe? Lists of MCP and of model APIs, tables by name, and what benchmarks publish. */

import { isObject, type RawTool } from "./draft.ts";

/** @returns undefined when the document is none of these. @param file some formats say a tool's server by it alone. */
export function toolsIn(document: unknown, file = ""): RawTool[] | undefined {
  if (Array.isArray(document)) {
    const lists = document.map((item) => toolsIn(item, file));
    return document.length > 0 && lists.every((list) => list !== undefined) ? lists.flat() : undefined;
  }
  if (!isObject(document)) return undefined;
  return (
    single(document, file) ??
    servers(document) ??
    (Array.isArray(document.tools) ? toolsIn(document.tools, file) : table(document))
  );
}

function single(document: Record<string, unknown>, file: string): RawTool[] | undefined {
  const entry = isObject(document.function) ? document.function : document;
  const traject = trajectTool(entry);
  if (traject !== undefined) return [traject];
  const { name, description } = entry;
  const schema = entry.inputSchema ?? entry.input_schema ?? entry.parameters;
  if (typeof name !== "string" || !(isObject(schema) || typeof description === "string")) return undefined;
  if (isObject(document.tools)) return undefined;
  const server = bfclClass(file) ?? (typeof entry.server === "string" ? entry.server : undefined);
  return [
    {
      name: bfclClass(file) === undefined ? name : `${bfclClass(file)}.${name}`,
      description: typeof description === "string" ? description : undefined,
      schema,
      outputSchema: entry.outputSchema ?? entry.response,
      server,
    },
  ];
}

/** LiveMCPBench: each entry a package, its servers by name, each with its tools. */
function servers({ tools }: Record<string, unknown>): RawTool[] | undefined {
  if (!isObject(tools)) return undefined;
  return Object.entries(tools).flatMap(([server, entry]) => {
    const list = isObject(entry) ? toolsIn(entry.tools ?? []) : undefined;
    return (list ?? []).map((tool) => ({ ...tool, name: `${server}.${tool.name}`, server }));
  });
}

/** `{"name": {"description", "inputSchema"}}` */
function table(document: Record<string, unknown>): RawTool[] | undefined {
  const entries = Object.entries(document).map(([name, entry]) =>
    isObject(entry) ? single({ name, ...entry }, "") : undefined,
  );
  return entries.length > 0 && entries.every((entry) => entry !== undefined) ? entries.flat() : undefined;
}

/** TRAJECT-Bench: "Provider: endpoint", parameters as two lists. */
export function trajectTool(entry: Record<string, unknown>): RawTool | undefined {
  const [parent, api] = [textAt(entry, "parent tool name"), textAt(entry, "API name")];
  const name =
    textAt(entry, "tool name") ?? (parent !== undefined && api !== undefined ? `${parent}: ${api}` : undefined);
  if (name === undefined) return undefined;
  const required = parametersAt(entry, "required parameters");
  const optional = parametersAt(entry, "optional parameters");
  return {
    name,
    description: textAt(entry, "tool description") ?? textAt(entry, "description"),
    schema: {
      type: "object",
      properties: Object.fromEntries([...required, ...optional].map(({ name: key, ...schema }) => [key, schema])),
      required: required.map(({ name: key }) => key),
    },
    server: parent ?? /^([^:]+):/.exec(name)?.[1],
  };
}

/** Spelt with blanks or underscores, in any letter case. */
export function at(entry: Record<string, unknown>, key: string): unknown {
  const plain = (text: string) => text.toLowerCase().replaceAll("_", " ");
  return Object.entries(entry).find(([name]) => plain(name) === key.toLowerCase())?.[1];
}

export const textAt = (entry: Record<string, unknown>, key: string): string | undefined => {
  const value = at(entry, key);
  return typeof value === "string" && value !== "" ? value : undefined;
};

function parametersAt(
  entry: Record<string, unknown>,
  key: string,
): { name: string; type?: unknown; description?: unknown }[] {
  const list = at(entry, key);
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).flatMap(({ name, type, description }) => {
    if (typeof name !== "string") return [];
    return [
      { name, ...(type === undefined ? {} : { type }), ...(typeof description === "string" ? { description } : {}) },
    ];
  });
}

/** BFCL documents each class of functions in a file of its own, and calls the class by another name. */
const bfclClasses: Readonly<Record<string, string>> = {
  gorilla_file_system: "GorillaFileSystem",
  math_api: "MathAPI",
  message_api: "MessageAPI",
  posting_api: "TwitterAPI",
  ticket_api: "TicketAPI",
  trading_bot: "TradingBot",
  travel_booking: "TravelAPI",
  vehicle_control: "VehicleControlAPI",
};

function bfclClass(file: string): string | undefined {
  return bfclClasses[file.replace(/^.*[/\\]/, "").replace(/\.[a-z]+$/i, "")];
}
