/** What one wire method is; `methods/` holds one file each, and everything else is derived from them. */

import type { z } from "zod";
import type { ErrorName } from "./errors.ts";

/** `trainer` may call everything; `agent` plays one episode (no reset, and see `withheld`); `observer` only reads. */
export const roles = ["trainer", "agent", "observer"] as const;
export type Role = (typeof roles)[number];

export interface Method<
  Name extends string = string,
  Params extends z.ZodType = z.ZodType,
  Result extends z.ZodType = z.ZodType,
> {
  readonly name: Name;
  readonly summary: string;
  /** What the summary does not say: obligations, defaults, what happens the second time. */
  readonly description?: string;
  /** Strict: an unknown key is INVALID_PARAMS. */
  readonly params: Params;
  /** Loose: a newer server may add fields. */
  readonly result: Result;
  /** Errors beside those that any call may get (see `anyCall` in `index.ts`). */
  readonly errors: readonly ErrorName[];
  readonly roles: readonly Role[];
}

export interface Notification<Name extends string = string, Params extends z.ZodType = z.ZodType> {
  readonly name: Name;
  readonly summary: string;
  readonly direction: "clientToServer" | "serverToClient";
  readonly params: Params;
}

export function method<const Name extends string, Params extends z.ZodType, Result extends z.ZodType>(
  definition: Method<Name, Params, Result>,
): Method<Name, Params, Result> {
  return definition;
}

export function notification<const Name extends string, Params extends z.ZodType>(
  definition: Notification<Name, Params>,
): Notification<Name, Params> {
  return definition;
}
