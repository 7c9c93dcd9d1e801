/** Which trajectories are in files of a format, what is wrong with the others, and which are not wanted? */

import { hashName } from "../hash.ts";
import { taskLine } from "../task.ts";
import { reasonOf } from "../trajectory.ts";
import { isApiError } from "./api-errors.ts";
import { documentsOf, type ImportFile } from "./documents.ts";
import type { Draft, Format, Place, RawTool } from "./draft.ts";
import { toolsIn } from "./tool-files.ts";

/** Which trajectories of a format are wanted. */
export interface Kept {
  /** Leave out trajectories with an output that is an API's error, whatever its status says. */
  strict?: boolean;
  /** Keep trajectories that did not solve their task. */
  keepFailed?: boolean;
}

/** A document that was left out. `line` counts from 1, and is 0 for a whole file. */
export interface Problem extends Place {
  reason: string;
}

/** The trajectories of files, in their order; what is wrong with them is noted in the first pass alone. */
export class Reader {
  readonly problems: Problem[] = [];
  readonly left = { failed: 0, apiErrors: 0 };
  readonly #format: Format;
  readonly #files: readonly ImportFile[];
  readonly #kept: Kept;

  constructor(format: Format, files: readonly ImportFile[], kept: Kept) {
    this.#format = format;
    this.#files = files;
    this.#kept = kept;
  }

  /** What a file says of tools. */
  async tools(file: ImportFile): Promise<RawTool[]> {
    const tools: RawTool[] = [];
    const report = (line: number, reason: string) => this.problems.push({ file: file.name, line, reason });
    try {
      for await (const found of documentsOf(file, { whole: true })) {
        const read = "value" in found ? toolsIn(found.value, file.name) : undefined;
        if (read !== undefined) tools.push(...read);
        else report(found.line, "problem" in found ? found.problem : "describes no tools in a form that is known");
      }
    } catch (error) {
      if (!isReading(error)) throw error;
      report(0, (error as Error).message);
    }
    return tools;
  }

  async gather(): Promise<void> {
    if (this.#format.gather === undefined) return;
    for await (const { value, place } of this.#documents(() => undefined)) this.#format.gather(value, place);
  }

  async *drafts(isFirst: boolean): AsyncGenerator<Draft & { id: string }> {
    const ids = new Set<string>();
    const seen = new Map<string, Place>();
    const report = isFirst
      ? (place: Place, reason: string) => this.problems.push({ ...place, reason })
      : () => undefined;
    for await (const { value, place } of this.#documents(report)) {
      let drafts: Draft[];
      try {
        if (this.#format.gather?.(value, place) === true) continue;
        drafts = this.#format.read(value, place);
      } catch (error) {
        report(place, (error as Error).message);
        continue;
      }
      for (const draft of drafts) {
        const reason = wrongWith(draft) ?? repeats(draft, place, seen);
        if (reason !== undefined) report(place, reason);
        else if (!this.#isWanted(draft, isFirst)) continue;
        else yield { ...draft, id: unique(draft.id ?? `${place.file.replace(/^.*[/\\]/, "")}/${place.line}`, ids) };
      }
    }
  }

  #isWanted(draft: Draft, isFirst: boolean): boolean {
    const { keepFailed = false, strict = false } = this.#kept;
    const hasFailed = draft.success === false && !keepFailed;
    const isError =
      !hasFailed && strict && draft.steps.some(({ output }) => output !== undefined && isApiError(output));
    if (isFirst && hasFailed) this.left.failed++;
    if (isFirst && isError) this.left.apiErrors++;
    return !hasFailed && !isError;
  }

  async *#documents(report: (place: Place, reason: string) => void): AsyncGenerator<{ value: unknown; place: Place }> {
    for (const file of this.#files) {
      try {
        for await (const found of documentsOf(file, { whole: this.#format.whole === true })) {
          const place = { file: file.name, line: found.line };
          if ("problem" in found) report(place, found.problem);
          else yield { value: found.value, place };
        }
      } catch (error) {
        if (!isReading(error)) throw error;
        report({ file: file.name, line: 0 }, (error as Error).message);
      }
    }
  }
}

/** A disk's word, not a fault of whoever takes the documents. */
const isReading = (error: unknown): boolean => typeof (error as { code?: unknown }).code === "string";

/** Held against what a dataset's reader will hold it against. */
function wrongWith({ id, task, steps, source, chain, family }: Draft): string | undefined {
  if (steps.length === 0) return "no tool is called";
  const read = taskLine.safeParse({ id: id ?? "x", task, reference: steps, source, chain, family });
  return read.success ? undefined : reasonOf(read.error);
}

function repeats({ task, steps }: Draft, place: Place, seen: Map<string, Place>): string | undefined {
  const key = hashName(JSON.stringify([task, steps.map(({ tool, arguments: args }) => [tool, args])]));
  const before = seen.get(key);
  if (before !== undefined)
    return `the same as ${before.file === place.file ? "line " : `${before.file}:`}${before.line}`;
  seen.set(key, place);
  return undefined;
}

function unique(wanted: string, ids: Set<string>): string {
  let id = wanted.slice(0, 240);
  for (let n = 2; ids.has(id); n++) id = `${wanted.slice(0, 240)}-${n}`;
  ids.add(id);
  return id;
}
