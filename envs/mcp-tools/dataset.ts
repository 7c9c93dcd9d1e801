/** How does a dataset folder look as texts? One tool and one task a line, so that two versions can be compared. */

import { ENV_ID, type TaskLine } from "./task.ts";
import { toolEntry, type ToolEntry } from "./trajectory.ts";

export interface DatasetHead {
  name: string;
  description?: string | undefined;
}

export function headText({ name, description }: DatasetHead): string {
  return `${JSON.stringify({ env: ENV_ID, name, ...(description ? { description } : {}) }, null, 2)}\n`;
}

/** Only what a task's reader needs of a tool; a generator knows more. */
export function toolsText(tools: Iterable<ToolEntry>): string {
  const lines = [...tools].map((tool) => `  ${JSON.stringify(toolEntry.parse(tool))}`);
  return lines.length === 0 ? "[]\n" : `[\n${lines.join(",\n")}\n]\n`;
}

export const taskText = (line: TaskLine): string => `${JSON.stringify(line)}\n`;
