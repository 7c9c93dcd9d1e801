/** Every tool of an import, under a name that model APIs take, with a schema that is one. */

import type { JsonSchema } from "trailgym/env";
import { hash } from "../hash.ts";
import { checkOf } from "../schema/schema.ts";
import type { RecordedStep, ToolEntry } from "../trajectory.ts";
import type { RawTool } from "./draft.ts";
import { safeName } from "./names.ts";
import { soundSchema, widened } from "./sound-schema.ts";

export interface Repairs {
  /** Tools whose schema could not be repaired: they take any arguments. Each with the reason. */
  replaced: { tool: string; reason: string }[];
  /** Tools whose schema refused calls that had worked. */
  widened: string[];
}

export class ToolRegistry {
  readonly #tools = new Map<string, ToolEntry>();
  readonly #replaced = new Map<string, string>();
  readonly #widened = new Set<string>();
  #names: string[] | undefined;

  /** The first word of a tool counts; later ones add what it left out. @returns its name here. */
  add(raw: string | RawTool): string {
    const tool: RawTool = typeof raw === "string" ? { name: raw } : raw;
    const name = safeName(tool.name);
    const known = this.#tools.get(name);
    if (known === undefined) {
      this.#names = undefined;
      this.#tools.set(name, this.#entry(name, tool));
    } else if (
      (known.description === "" && tool.description) ||
      (isOpen(known.inputSchema) && tool.schema !== undefined)
    ) {
      const entry = this.#entry(name, { ...tool, description: known.description || tool.description });
      this.#tools.set(name, isOpen(entry.inputSchema) ? { ...entry, inputSchema: known.inputSchema } : entry);
    }
    return name;
  }

  /** @param step with its name here. */
  hasWorked({ tool: name, arguments: args }: RecordedStep): void {
    const tool = this.#tools.get(name);
    if (tool === undefined || checkOf(tool.inputSchema)(args) === undefined) return;
    this.#tools.set(name, { ...tool, inputSchema: { ...widened(tool.inputSchema, args) } });
    this.#widened.add(name);
  }

  /**
   * Tools that are shown beside those needed, so that the list does not give the solution away. Half of them of the same
   * servers, where there are so many. The same key gives the same ones.
   */
  distractors(needed: readonly string[], count: number, key: string): string[] {
    const names = (this.#names ??= [...this.#tools.keys()].sort());
    const servers = new Set(needed.map((name) => this.#tools.get(name)?.server));
    const isNeeded = new Set(needed);
    const ranked = names.filter((name) => !isNeeded.has(name)).map((name) => [hash(`${key}\n${name}`), name] as const);
    const others = ranked.sort(([a], [b]) => a - b).map(([, name]) => name);
    const near = others.filter((name) => servers.has(this.#tools.get(name)?.server)).slice(0, Math.ceil(count / 2));
    return [...new Set([...near, ...others])].slice(0, count);
  }

  get tools(): ToolEntry[] {
    return [...this.#tools.values()]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((tool) => ({ ...tool, description: tool.description || (tool.title ?? tool.name).replace(/[_.-]+/g, " ") }));
  }

  get repairs(): Repairs {
    return {
      replaced: [...this.#replaced].map(([tool, reason]) => ({ tool, reason })),
      widened: [...this.#widened].sort(),
    };
  }

  #entry(name: string, { name: title, description = "", schema, outputSchema, server }: RawTool): ToolEntry {
    const { schema: inputSchema, replaced } = soundSchema(schema);
    if (replaced === undefined) this.#replaced.delete(name);
    else this.#replaced.set(name, replaced);
    const output = outputSchema === undefined ? undefined : soundSchema(outputSchema);
    return {
      name,
      ...(title === name ? {} : { title }),
      description: description.trim(),
      inputSchema: { ...inputSchema },
      ...(output === undefined || output.replaced !== undefined ? {} : { outputSchema: { ...output.schema } }),
      ...(server === undefined ? {} : { server }),
    };
  }
}

/** It says nothing of arguments. */
const isOpen = (schema: JsonSchema): boolean => Object.keys(schema).every((keyword) => keyword === "type");
