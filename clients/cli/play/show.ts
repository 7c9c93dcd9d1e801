/** What does a person see of an episode? */

import { encode, type ToolSpec } from "trailgym/protocol";

/** Text as it is, a tool's reply as its content, everything else as JSON. */
export function showObservation(observation: unknown): string {
  if (typeof observation === "string") return observation;
  if (isToolReply(observation)) {
    const { content, isError } = observation;
    const text = typeof content === "string" ? content : JSON.stringify(encode(content));
    return isError ? `(error) ${text}` : text;
  }
  return JSON.stringify(encode(observation));
}

function isToolReply(value: unknown): value is { content: unknown; isError: boolean } {
  return typeof value === "object" && value !== null && "content" in value && "isError" in value;
}

export function showTools(tools: readonly ToolSpec[]): string {
  return tools.map(showTool).join("\n");
}

function showTool({ name, description, inputSchema }: ToolSpec): string {
  const properties = (inputSchema.properties ?? {}) as Record<string, { type?: unknown; description?: unknown }>;
  const required = new Set(Array.isArray(inputSchema.required) ? inputSchema.required : []);
  const params = Object.entries(properties).map(([key, { type }]) => {
    const kind = type === undefined ? "" : `:${([type].flat() as string[]).join("|")}`;
    return required.has(key) ? `${key}${kind}` : `[${key}${kind}]`;
  });
  const first = description.trim().split("\n")[0] ?? "";
  return `  ${[name, ...params].join(" ")}\n      ${first}`;
}
