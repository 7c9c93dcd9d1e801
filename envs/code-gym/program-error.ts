/** What does a dataset's author read when a program is at fault? One sentence that names the program's file and line. */

import type { InterpreterOutcome, Language } from "trailgym/env";
import type { CodeGymTask } from "./task.ts";

type Raised = Extract<InterpreterOutcome, { status: "raised" }>["error"];

const LONGEST = 500;

/** The task is broken: no agent is to blame, and neither is the environment's infrastructure. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  /** Without the task's id, for whoever names the task already. */
  readonly sentence: string;

  /** @param what happened, as the end of a sentence. @param line of the program's file. */
  constructor({ id, program }: CodeGymTask, what: string, line?: number) {
    const place = line === undefined ? program.path : `${program.path}:${line}`;
    const sentence = `its program ${oneLine(what)} (${place})`;
    super(`task "${id}": ${sentence}`);
    this.sentence = sentence;
  }
}

/** The innermost line inside the program, whose first source text the interpreters call `program.js` or `program.py`. */
export function lineOf(language: Language, { trace, message }: Raised): number | undefined {
  // JavaScript's traces begin with the innermost frame, Python's end with it.
  const found =
    language === "python"
      ? [...trace.matchAll(/^ {2}File "program\.py", line (\d+)/gm)].at(-1)
      : (/\bprogram\.js:(\d+)/.exec(trace.replace(message, "")) ?? /\[program\.js:(\d+):\d+\]$/.exec(message));
  return found ? Number(found[1]) : undefined;
}

/** Without the interpreter's own name for the program, which syntax errors end with. */
export const plainMessage = ({ message }: Raised): string =>
  message.replace(/ \(program\.py, line \d+\)$| \[program\.js:\d+:\d+\]$/, "");

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}
