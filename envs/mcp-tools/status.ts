/** How did a call end? One list for recordings, simulators and live servers; and what to say when there is only a text. */

import { z } from "zod";

/**
 * `ok` and `tool_error` are the tool's own word. `schema_error`: the arguments do not fit, or the call could not be read.
 * `unknown_tool`: there is none of that name. The first four are the policy's doing; `timeout`, `transport` and
 * `server_crash` are not, and nothing may be learnt from them.
 */
export const status = z.enum([
  "ok",
  "tool_error",
  "schema_error",
  "unknown_tool",
  "timeout",
  "transport",
  "server_crash",
]);
export type Status = z.infer<typeof status>;

const infrastructure: ReadonlySet<Status> = new Set(["timeout", "transport", "server_crash"]);

/** Is the policy to be judged by it? */
export const isPolicys = (ended: Status): boolean => !infrastructure.has(ended);

/** What outputs of failed calls tend to hold. The authors' list; in any letter case. */
export const errorPatterns = [
  "error",
  "failed",
  "exception",
  "invalid",
  "not found",
  "permission denied",
  "timeout",
  "connection refused",
  "unauthorized",
  "forbidden",
  "bad request",
  "rate limit",
  "quota exceeded",
  "internal server error",
  "service unavailable",
];

/** Only a guess: "no errors found" holds a pattern too. For outputs whose sender did not say how the call ended. */
export function looksFailed(content: unknown, patterns: readonly string[] = errorPatterns): boolean {
  const text = textOf(content).toLowerCase();
  return patterns.some((pattern) => text.includes(pattern.toLowerCase()));
}

/** An output as text: as it is, or as JSON. */
export function textOf(content: unknown): string {
  return typeof content === "string" ? content : (JSON.stringify(content) ?? "");
}
