/** Is a task sound? Its schemas compile, and its reference's calls fit them. */

import { checkOf, compiledOf } from "./schema/schema.ts";
import type { McpTask } from "./task.ts";

/** @returns what is wrong, as sentences. That the reference earns what it promises is found by playing it. */
export function checkTask(task: McpTask): readonly string[] {
  const problems: string[] = [];
  const tools = new Map(task.tools.map((tool) => [tool.name, tool]));
  for (const { name, inputSchema } of task.tools) {
    const compiled = compiledOf(inputSchema);
    if ("problem" in compiled) problems.push(`the inputSchema of ${name} cannot be used: ${compiled.problem.message}`);
  }
  for (const [t, { tool, arguments: args, isError }] of task.reference.entries()) {
    // A call that failed may have failed for that very reason.
    const entry = isError === true ? undefined : tools.get(tool);
    const problem = entry && checkOf(entry.inputSchema)(args);
    if (problem !== undefined) problems.push(`step ${t + 1} of the reference calls ${tool}, and ${problem}`);
  }
  return problems;
}
