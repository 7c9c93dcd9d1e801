/** What is a model asked that stands in for a tool, and how is its reply read? */

import type { ModelMessage } from "trailgym/env";
import { textOf } from "../status.ts";
import type { ToolEntry } from "../trajectory.ts";

/** Raise it when the prompt changes: it is part of what a cached reply is a reply to. */
const VERSION = 1;

/** Alone on the last line: the model believes that the request is done. */
const END = "<<END>>";

const system = [
  "You stand in for a tool server. You are given one call of one of its tools, the request that the caller works on, and",
  "the latest calls before it. Write what that tool would return for exactly these arguments, and nothing else: no",
  "explanation, no quotation marks around it, no code fence. Keep to the names, ids and numbers that earlier outputs have",
  "set. If the arguments could not work, write the message that the tool would fail with. Stay under 400 characters.",
  `If the request is completely done with this call, add a last line that holds only ${END}.`,
  `(simulator ${VERSION})`,
].join("\n");

export interface SimulatedCall {
  tool: ToolEntry;
  arguments: Readonly<Record<string, unknown>>;
  /** The request. */
  task: string;
  /** The calls before, the newest last, with the beginnings of their outputs. */
  history: readonly { tool: string; output: string }[];
}

/** Each part is cut (outputs have been already), so that equal situations that differ far back ask the same. */
export function promptOf({ tool, arguments: args, task, history }: SimulatedCall): ModelMessage[] {
  const lines = [
    `Request: ${task.slice(0, 400)}`,
    "",
    ...(history.length > 0 ? ["Calls before:"] : []),
    ...history.map(({ tool: name, output }) => `- ${name} returned: ${output}`),
    "",
    `Tool: ${tool.name}`,
    `What it does: ${tool.description.slice(0, 300)}`,
    "Arguments:",
    ...Object.entries(args)
      .slice(0, 15)
      .map(([key, value]) => `- ${key}: ${textOf(value).slice(0, 150)}`),
  ];
  return [
    { role: "system", content: system },
    { role: "user", content: lines.join("\n") },
  ];
}

/** The reply without what models like to put around it, at most `limit` characters long. */
export function readReply(reply: string, limit: number): { output: string; complete: boolean } {
  const lines = reply.trim().split("\n");
  const complete = lines.at(-1)?.trim() === END;
  const text = lines
    .slice(0, complete ? -1 : undefined)
    .join("\n")
    .trim()
    .replace(/^(tool output|simulated output|output|result|return):\s*/i, "")
    .replace(/^```[a-z]*\n([\s\S]*?)\n?```$/i, "$1")
    .trim();
  return { output: text.length > limit ? `${text.slice(0, limit)}…` : text, complete };
}
