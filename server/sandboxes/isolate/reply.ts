/** What does the server hear of what V8 said? */

import type { Reply, ReplyHead, RequestHead } from "../messages.ts";

/** V8's own words, which no program can throw across the boundary from inside a call; while it loads it can, and hurts itself. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && /^Script execution timed out/.test(error.message);
}

export function isAllocationFailure(error: unknown): boolean {
  return error instanceof RangeError && /allocation failed/i.test(error.message);
}

export function loadError(error: unknown): ReplyHead {
  // A program may throw anything; isolated-vm hands on what is not an Error as it is, or as undefined.
  if (!(error instanceof Error)) {
    return {
      status: "raised",
      error: { type: typeof error, message: String(error).slice(0, 4_000), trace: "" },
      output: "",
    };
  }
  // isolated-vm adds the place of a syntax error to its message.
  const message = error.message.slice(0, 4_000);
  const trace = String(error.stack ?? "")
    .split("\n")
    .filter((line) => !/^\s+at /.test(line) || /\bprogram(-\d+)?\.js:/.test(line))
    .join("\n")
    .slice(0, 16_000);
  return { status: "raised", error: { type: error.name, message, trace }, output: "" };
}

interface Packed {
  valueLength?: number;
  same?: boolean;
}

/**
 * The codec's one string: the reply's head and the lengths of what follows it, a line feed, the value, the state.
 * @returns also whether the state is what reading it again would give
 */
export function unpack(packed: string, { limits }: RequestHead): Reply & { same?: boolean } {
  const end = packed.indexOf("\n");
  const { valueLength, same = false, ...head } = JSON.parse(packed.slice(0, end)) as ReplyHead & Packed;
  if (head.status === "raised") {
    const { type, message } = head.error;
    if (type === "RangeError" && /^Array buffer allocation failed/.test(message))
      return { head: { status: "outOfMemory" } };
    return Buffer.byteLength(head.output) > limits.outputBytes ? { head: { status: "outputTooLarge" } } : { head };
  }
  if (head.status !== "ok") return { head };
  const value = packed.slice(end + 1, end + 1 + valueLength!);
  const state = Buffer.from(packed.slice(end + 1 + valueLength!));
  if (state.length > limits.stateBytes) return { head: { status: "stateTooLarge" } };
  if (Buffer.byteLength(value) + Buffer.byteLength(head.output) > limits.outputBytes) {
    return { head: { status: "outputTooLarge" } };
  }
  return { head, value, state, same };
}
