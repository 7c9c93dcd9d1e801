/** What is wrong with a dataset, each in a line of its own and of a kind that a program can tell apart? */

import type { SchemaProblemKind } from "./schema/schema.ts";

export type DatasetProblemKind =
  /** A file of the dataset is missing or cannot be read. */
  | "file"
  /** A line is not JSON, or not a task. */
  | "line"
  | "duplicate_task"
  | "duplicate_tool"
  /** A tool is called STOP. */
  | "reserved_tool"
  /** A task names a tool that its dataset does not describe. */
  | "unknown_tool"
  /** There is no task. */
  | "empty"
  | SchemaProblemKind;

export interface DatasetProblem {
  kind: DatasetProblemKind;
  /** File and line, or file and tool. */
  at: string;
  message: string;
}

/** Said in the message; all are in `problems`. */
const SHOWN = 10;

/** A dataset is served whole or not at all: a task that is silently missing would change every number. */
export class DatasetError extends Error {
  override readonly name = "DatasetError";
  readonly problems: readonly DatasetProblem[];
  constructor(problems: readonly DatasetProblem[]) {
    const shown = problems.slice(0, SHOWN).map(({ at, message }) => `${at}: ${message}`);
    const more = problems.length > SHOWN ? [`… and ${problems.length - SHOWN} more`] : [];
    super([...shown, ...more].join("\n"));
    this.problems = problems;
  }
}
