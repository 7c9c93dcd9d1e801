/** What does a process's answer, or its end, mean for the call that it was given? */

import type { InterpreterOutcome } from "trailgym/env";
import { describeExit, type Exit } from "./child.ts";
import { OUT_OF_MEMORY_SIGNAL, type ReplyHead } from "./messages.ts";

export interface Outcome {
  outcome: InterpreterOutcome;
  /** The process is not to be trusted any more. */
  retire: boolean;
}

/** Not an outcome yet: the process is to be asked again, with the program's text, or for a fresh call. */
export interface Wish {
  wants: "program" | "fresh";
}

/** A program may have taken over the code that writes the answers; then nothing of it is believed. */
export const lies: Outcome = {
  outcome: { status: "crashed", message: "the program broke the code that runs it" },
  retire: true,
};

/** What a process answered. */
export function read([head, value, state]: readonly Buffer[]): Outcome | Wish {
  try {
    const reply = JSON.parse(head!.toString()) as ReplyHead;
    if (reply.status === "unknownProgram") return { wants: "program" };
    if (reply.status === "again") return { wants: "fresh" };
    const outcome = outcomeOf(reply, value!, state!) as InterpreterOutcome | undefined;
    if (outcome === undefined) throw new TypeError(`unknown status ${String((reply as ReplyHead).status)}`);
    return { outcome, retire: reply.retire === true };
  } catch {
    return lies;
  }
}

type Final = Exclude<ReplyHead, { status: "unknownProgram" | "again" }>;

function outcomeOf(head: Final, value: Buffer, state: Buffer): InterpreterOutcome {
  const { status } = head;
  switch (status) {
    case "ok":
      // The state outlives the frame that it came in, which may be much larger.
      return {
        status,
        value: JSON.parse(value.toString()) as unknown,
        state: new Uint8Array(state),
        output: head.output,
      };
    case "raised":
      return { status, error: head.error, output: head.output };
    case "unencodable":
    case "crashed":
      return { status, message: head.message };
    case "timeout":
    case "outOfMemory":
    case "outputTooLarge":
    case "stateTooLarge":
      return { status };
  }
}

/** Signals by which V8 or a program that broke it ends a process. Any other came from outside. */
const crashes: ReadonlySet<string> = new Set(["SIGABRT", "SIGSEGV", "SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE"]);

/** @returns undefined when the end is not the program's doing */
export function outcomeOfExit(exit: Exit): InterpreterOutcome | undefined {
  const { signal, stderr } = exit;
  if (signal !== null && signal !== OUT_OF_MEMORY_SIGNAL && !crashes.has(signal)) return undefined;
  const outOfMemory =
    signal === OUT_OF_MEMORY_SIGNAL || /out of memory|invalid table size|allocation failed/i.test(stderr);
  return outOfMemory ? { status: "outOfMemory" } : { status: "crashed", message: describeExit(exit) };
}
