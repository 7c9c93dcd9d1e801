/** Do the four ways to ask a task source (list, pick, get, size) agree, and does what it shows keep its secrets? */

import { canonical } from "trailgym/protocol";
import type { AnyEnv } from "../define.ts";
import type { PublicTask, TaskFiles, TaskSource } from "../tasks.ts";
import { type Findings, messageOf } from "./finding.ts";

/** Tasks looked at one by one; the rest is only counted. */
const CLOSELY = 50;
const PAGE = 100;
/** Pages walked, so that a listing without end is found out. */
const PAGES = 100;

/** @returns the source; undefined when there is none or it cannot be used, which is then a finding. */
export async function checkTasks(
  definition: AnyEnv,
  files: readonly TaskFiles[],
  findings: Findings,
): Promise<TaskSource | undefined> {
  if (definition.tasks === undefined) return undefined;
  const bare = definition.tasks.length > 0 && files.length === 0;
  try {
    const source = await definition.tasks(files);
    const splits = source.splits();
    const empty = splits.filter((split) => source.size(split) === 0);
    if (bare && empty.length === splits.length) {
      findings.warning("not-played", "there are no tasks without dataset folders: pass `files`");
      return undefined;
    }
    if (splits.length === 0) findings.error("tasks", "there are no splits: name one, even if it is the only one");
    for (const split of empty) findings.error("tasks", `the split "${split}" is empty: leave it out`);
    if (new Set(splits).size < splits.length) findings.error("tasks", "a split is listed twice");
    for (const split of splits) checkSplit(source, split, findings);
    checkPages(source, findings);
    checkUnknown(source, findings);
    return empty.length < splits.length ? source : undefined;
  } catch (error) {
    if (bare) findings.warning("not-played", `the tasks need dataset folders (${messageOf(error)}): pass \`files\``);
    else findings.error("tasks", `the tasks cannot be read: ${messageOf(error)}`);
    return undefined;
  }
}

function checkSplit(source: TaskSource, split: string, findings: Findings): void {
  const size = source.size(split);
  const { tasks, total } = source.list(split, undefined, CLOSELY);
  if (total !== size) {
    findings.error("task-pages", `split "${split}": list counts ${total} tasks, size says ${size}`);
  }
  for (const shown of tasks) {
    const task = source.get(shown.id);
    if (task === undefined)
      findings.error("task-pages", `split "${split}" lists a task that get does not know: ${shown.id}`);
    else checkSecrets(shown, task, findings);
    try {
      canonical(shown);
    } catch (error) {
      findings.error("codec", `the public fields of a task cannot cross the wire: ${messageOf(error)}`, {
        task: shown.id,
      });
    }
  }
  for (let index = 0; index < Math.min(size, CLOSELY); index++) {
    const id = source.pick(split, index);
    if (id === undefined || source.get(id) === undefined) {
      findings.error(
        "task-pages",
        `split "${split}": pick(${index}) of ${size} gives ${id ?? "nothing"}, which get does not know`,
      );
    }
  }
  if (size > 0 && source.pick(split, size - 1) === undefined) {
    findings.error("task-pages", `split "${split}": pick gives nothing for its last task`);
  }
  if (source.pick(split, size) !== undefined) {
    findings.error("task-pages", `split "${split}": pick gives a task beyond the last`);
  }
}

function checkPages(source: TaskSource, findings: Findings): void {
  const seen = new Set<string>();
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let total = 0;
  do {
    const page = source.list(undefined, cursor, PAGE);
    total = page.total;
    for (const { id } of page.tasks) {
      if (seen.has(id))
        return findings.error("task-pages", `the pages of list show "${id}" twice: ids are unique over all splits`);
      seen.add(id);
    }
    if (page.tasks.length > PAGE) return findings.error("task-pages", "a page of list holds more than its limit");
    cursor = page.nextCursor;
    if (cursor !== undefined && cursors.has(cursor))
      return findings.error("task-pages", "list comes back to a cursor: its pages do not end");
    if (cursor !== undefined) cursors.add(cursor);
  } while (cursor !== undefined && cursors.size < PAGES);
  if (cursor === undefined && seen.size !== total) {
    findings.error("task-pages", `the pages of list hold ${seen.size} tasks, total says ${total}`);
  }
}

function checkUnknown(source: TaskSource, findings: Findings): void {
  const unknown = "no such name";
  if (source.get(unknown) !== undefined)
    findings.error("task-pages", "get gives a task for an id that is none: answer undefined");
  if (
    source.list(unknown, undefined, 1).tasks.length > 0 ||
    source.size(unknown) !== 0 ||
    source.pick(unknown, 0) !== undefined
  ) {
    findings.error("task-pages", "an unknown split is not empty");
  }
}

const telling = /answer|solution|secret|hidden|gold|expected|reference/i;

/** By name and by value; a guess, so it only warns. */
function checkSecrets(shown: PublicTask, task: unknown, findings: Findings): void {
  for (const [key, value] of Object.entries(shown)) {
    if (telling.test(key) && typeof value !== "number" && typeof value !== "boolean" && value !== null) {
      findings.warning(
        "task-secret",
        `agents can read the public field "${key}": leave it out if it gives the answer away`,
      );
    }
  }
  if (typeof task !== "object" || task === null) return;
  const visible = stringsOf(shown).join("\n");
  for (const [key, value] of Object.entries(task)) {
    if (Object.hasOwn(shown, key)) continue;
    if (stringsOf(value).some((text) => text.length >= 16 && visible.includes(text))) {
      findings.warning(
        "task-secret",
        `the public fields repeat a text of "${key}", which is not public itself: is it the answer?`,
      );
    }
  }
}

function stringsOf(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || depth > 8) return [];
  return Object.values(value).flatMap((item) => stringsOf(item, depth + 1));
}

/** The tasks to play: the first, the last and those between, evenly, of each split. */
export function pickTasks(source: TaskSource, perSplit: number): string[] {
  const ids = source.splits().flatMap((split) => {
    const size = source.size(split);
    const count = Math.min(size, perSplit);
    const places = Array.from({ length: count }, (_, i) =>
      count === 1 ? 0 : Math.round((i * (size - 1)) / (count - 1)),
    );
    return places.flatMap((place) => source.pick(split, place) ?? []);
  });
  return [...new Set(ids)];
}
