/** A small dataset whose every number can be worked out by hand. */

import env from "../../../envs/mcp-tools/mcp-tools.env.ts";
import { loadTasks, type McpTask } from "../../../envs/mcp-tools/task.ts";
import { play, taskFiles, type ContextParts, type Player } from "../context.ts";

const object = (properties: object, required: string[] = []) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

export const tools = [
  {
    name: "shop-find_tea",
    description: "Finds teas.",
    inputSchema: object({ kind: { type: "string" }, most: { type: "integer", minimum: 1 } }, ["kind"]),
  },
  { name: "shop-buy", description: "Buys a tea.", inputSchema: object({ tea_id: { type: "string" } }, ["tea_id"]) },
  { name: "desk-tell", description: "Tells somebody.", inputSchema: object({ text: { type: "string" } }, ["text"]) },
  {
    name: "desk-calc_sum",
    description: "Adds.",
    inputSchema: object({ a: { type: "number" }, b: { type: "number" } }),
  },
];

const step = (tool: string, args: object, output: unknown, isError?: boolean) => ({
  tool,
  arguments: args,
  output,
  ...(isError === undefined ? {} : { isError }),
});

const tea = step("shop-find_tea", { kind: "green" }, '{"teas":[{"tea_id":"t-1"}]}', false);

export const lines = [
  {
    id: "tea",
    task: "Find a green tea, buy it and tell Ada.",
    reference: [
      tea,
      step("shop-buy", { tea_id: "t-1" }, "bought"),
      step("desk-tell", { text: "bought" }, "told", false),
    ],
  },
  {
    id: "other",
    task: "Buy the tea t-9.",
    reference: [step("shop-buy", { tea_id: "t-9" }, "bought nine", false), step("desk-calc_sum", { a: 1, b: 2 }, "3")],
  },
  {
    id: "failing",
    task: "Buy the tea t-0.",
    success: false,
    reference: [
      step("shop-buy", { tea_id: "t-0" }, "sold out", true),
      step("shop-buy", { tea_id: "t-00" }, "no error was found"),
    ],
  },
  {
    id: "long",
    task: "Tell it four times.",
    split: "test",
    reference: ["a", "b", "c", "d"].map((text) => step("desk-tell", { text }, `told ${text}`, false)),
  },
];

export const jsonl = (items: readonly unknown[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join("");

export const files = (overrides: Record<string, string> = {}) =>
  taskFiles(
    {
      "dataset.json": '{"env":"mcp-tools-v1","name":"small"}',
      "tools.json": JSON.stringify(tools),
      "tasks.jsonl": jsonl(lines),
      ...overrides,
    },
    "small",
  );

const source = await loadTasks([files()]);

export function task(id: string): McpTask {
  const found = source.get(id);
  if (found === undefined) throw new Error(`no task ${id}`);
  return found;
}

export const call = (tool: string, args: Record<string, unknown> = {}) => ({ tool, arguments: args });

export interface Played extends Player {
  do(action: unknown): Promise<{ reward: number; info: Record<string, unknown>; content: unknown; isError: boolean }>;
}

/** @param id of the task. */
export async function start(
  id: string,
  options: Record<string, unknown> = {},
  parts: Partial<ContextParts<unknown>> = {},
): Promise<Played> {
  const player = await play(env, { ...parts, task: task(id) }, options);
  return Object.assign(player, {
    async do(action: unknown) {
      const { reward = 0, info = {}, observation } = await player.step(action);
      return { reward, info, ...(observation as { content: unknown; isError: boolean }) };
    },
  });
}
