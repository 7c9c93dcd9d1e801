/** What does a caller see of a result? Agents learn nothing from the wire that their policy must not know. */

import { nestedResults, withheld } from "trailgym/protocol";
import type { Principal } from "./principals.ts";
import { JsonText } from "./sessions/session.ts";

/** `result` as `caller` may see it: the same object or text for everybody but agents. */
export function disclosed(caller: Principal, result: unknown): unknown {
  if (caller.role !== "agent") return result;
  const seen = (value: unknown) => visible(value, caller);
  return result instanceof JsonText ? new JsonText(JSON.stringify(seen(JSON.parse(result.text)))) : seen(result);
}

function visible(result: unknown, caller: Principal): unknown {
  if (typeof result !== "object" || result === null) return result;
  const entries = Object.entries(result).flatMap(([field, value]) => {
    const needed = Object.hasOwn(withheld, field) ? withheld[field] : undefined;
    if (needed !== undefined && !caller.discloses.includes(needed)) return [];
    return [[field, nestedResults.includes(field) ? visible(value, caller) : (value as unknown)] as const];
  });
  return Object.fromEntries(entries);
}
