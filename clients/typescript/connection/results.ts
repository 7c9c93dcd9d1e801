/** Is this the result that the method promises, and what are the values in it? */

import { decode, methods, type Json, type MethodName, type ResultOf, type Role } from "trailgym/protocol";
import { ProtocolViolation } from "../errors.ts";

/** The fields that hold values of the codec; the others are plain JSON, such as a JSON Schema with a key `$type`. */
const valueFields = ["observation", "info", "finalObservation", "finalInfo"] as const;

/** What the shapes leave open for the sake of agents. Whoever trains without it would learn from nothing. */
const told: { readonly [N in MethodName]?: readonly string[] } = {
  "env/step": ["reward", "info"],
  "env/observe": ["episodeReturn", "info"],
  "env/restore": ["episodeReturn", "info"],
  "session/attach": ["episodeReturn", "info"],
};

/** @throws ProtocolViolation when the server's result does not have the shape that the method promises to this role. */
export function readResult<N extends MethodName>(method: N, raw: unknown, role: Role): ResultOf<N> {
  const parsed = methods[method].result.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw broken(method, raw, `${issue?.path.join(".")}: ${issue?.message}`);
  }
  const untold = role === "agent" ? undefined : told[method]?.find((field) => !Object.hasOwn(parsed.data, field));
  if (untold !== undefined) throw broken(method, raw, `${untold}: withheld, though not from an agent`);
  try {
    const result = parsed.data as Record<string, unknown>;
    decodeFields(result);
    if (method === "env/tasks") result["tasks"] = decode(result["tasks"] as Json, "tasks");
    if (method === "session/attach" && isObject(result["lastReply"])) {
      result["lastReply"] = { ...result["lastReply"] };
      decodeFields(result["lastReply"] as Record<string, unknown>);
    }
  } catch (error) {
    throw new ProtocolViolation(`the result of ${method} holds a malformed value`, raw, { cause: error });
  }
  return parsed.data as ResultOf<N>;
}

function broken(method: string, raw: unknown, how: string): ProtocolViolation {
  return new ProtocolViolation(`the result of ${method} is not what it promises (${how})`, raw);
}

function decodeFields(result: Record<string, unknown>): void {
  for (const field of valueFields) {
    const json = result[field];
    if (typeof json === "object" && json !== null) result[field] = decode(json as Json, field);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
