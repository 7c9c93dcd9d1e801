/** Which tools has an episode, and does a call name one of them and fit its schema? Said as an MCP server says it. */

import type { ToolSpec } from "trailgym/protocol";
import type { Options } from "./options.ts";
import { checkOf } from "./schema/schema.ts";
import type { Status } from "./status.ts";
import type { McpTask } from "./task.ts";
import type { ToolEntry } from "./trajectory.ts";
import { specsOf } from "./world.ts";

type Toolset = Options["toolset"];

const specs = new WeakMap<McpTask, readonly ToolSpec[]>();
const entries = new WeakMap<McpTask, ReadonlyMap<string, ToolEntry>>();

/** STOP is the last one. */
export function toolsShown(task: McpTask, toolset: Toolset): readonly ToolSpec[] {
  if (toolset === "dataset") return task.world.specs;
  return memo(specs, task, () => specsOf(task.tools));
}

export function findTool(task: McpTask, toolset: Toolset, name: string): ToolEntry | undefined {
  if (toolset === "dataset") return task.world.tool(name);
  return memo(entries, task, () => new Map(task.tools.map((tool) => [tool.name, tool]))).get(name);
}

export interface Refusal {
  status: Extract<Status, "unknown_tool" | "schema_error">;
  content: string;
}

/** Both are what JSON-RPC calls invalid params; current servers send them as results with `isError`. */
const code = "MCP error -32602";

export function unknownTool(name: string): Refusal {
  return { status: "unknown_tool", content: `${code}: Tool ${name} not found` };
}

export function unreadable(problem: string): Refusal {
  const form = '{"tool": "…", "arguments": {…}}';
  return { status: "schema_error", content: `${code}: The call could not be read: ${problem}. Its form is ${form}.` };
}

/** @returns undefined when the arguments fit. */
export function badArguments(tool: ToolEntry, args: Readonly<Record<string, unknown>>): Refusal | undefined {
  const problem = checkOf(tool.inputSchema)(args);
  if (problem === undefined) return undefined;
  return { status: "schema_error", content: `${code}: Invalid arguments for tool ${tool.name}: ${problem}` };
}

function memo<K extends WeakKey, V>(cache: WeakMap<K, V>, key: K, make: () => V): V {
  let value = cache.get(key);
  if (value === undefined) {
    value = make();
    cache.set(key, value);
  }
  return value;
}
