/** What do the tasks of one dataset share? Its tools, and every output that was recorded. */

import type { ToolSpec } from "trailgym/protocol";
import { hash } from "./hash.ts";
import { looksFailed } from "./status.ts";
import { patternOf, STOP, type RecordedStep, type ToolEntry, type Trajectory } from "./trajectory.ts";

/** Outputs kept of one invocation pattern of a tool. */
const KEPT = 32;

interface Recorded {
  output: unknown;
  task: string;
}

export interface Pooled {
  output: unknown;
  /** What the output's call has in common with the one that is answered. */
  by: "pattern" | "tool";
}

/** Immutable once it is made. A class, so that nobody takes it for a part of a task's data. */
export class World {
  readonly #tools = new Map<string, ToolEntry>();
  readonly #byTool = new Map<string, Recorded[]>();
  readonly #byPattern = new Map<string, Recorded[]>();
  #specs: readonly ToolSpec[] | undefined;

  constructor(tools: Iterable<ToolEntry>, trajectories: Iterable<Pick<Trajectory, "id" | "reference">>) {
    for (const tool of tools) this.#tools.set(tool.name, tool);
    for (const { id, reference } of trajectories) for (const step of reference) this.#keep(id, step);
  }

  tool(name: string): ToolEntry | undefined {
    return this.#tools.get(name);
  }

  /** All tools, STOP last. */
  get specs(): readonly ToolSpec[] {
    return (this.#specs ??= specsOf(this.#tools.values()));
  }

  /**
   * An output that was recorded in another task for the same invocation pattern, else for the same tool.
   * @param key decides which, where there are several.
   */
  pooled(task: string, call: { tool: string; arguments: Record<string, unknown> }, key: string): Pooled | undefined {
    const same = chosen(this.#byPattern.get(patternKey(call)), task, key);
    if (same !== undefined) return { output: same.output, by: "pattern" };
    const near = chosen(this.#byTool.get(call.tool), task, key);
    return near && { output: near.output, by: "tool" };
  }

  #keep(task: string, step: RecordedStep): void {
    if (step.output === undefined || (step.isError ?? looksFailed(step.output))) return;
    const recorded = { output: step.output, task };
    for (const [table, key] of [
      [this.#byTool, step.tool],
      [this.#byPattern, patternKey(step)],
    ] as const) {
      const list = table.get(key) ?? [];
      if (list.length < KEPT) list.push(recorded);
      table.set(key, list);
    }
  }
}

export function specsOf(tools: Iterable<ToolEntry>): ToolSpec[] {
  const specs = [...tools].map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return [...specs, stopSpec];
}

const stopSpec: ToolSpec = {
  name: STOP,
  description: "Ends the episode: the request is done, or nothing more can be done for it.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
};

/** A task's own outputs stay out of it: they answer the reference's calls and nothing else. */
function chosen(list: readonly Recorded[] | undefined, task: string, key: string): Recorded | undefined {
  const others = list?.filter((recorded) => recorded.task !== task) ?? [];
  return others[hash(key) % others.length];
}

function patternKey(call: { tool: string; arguments: Readonly<Record<string, unknown>> }): string {
  return `${call.tool}\n${patternOf(call)}`;
}
