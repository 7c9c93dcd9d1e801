/** Binds a test to the promises that it holds; their sentences are the test's name. */

import { test } from "vitest";
import { requirements, type RequirementId } from "./requirements.ts";

/** @param timeoutMs where the default is too short for a busy machine. */
export function verifies(
  id: RequirementId | readonly RequirementId[],
  body: () => Promise<void> | void,
  timeoutMs?: number,
): void {
  const ids = typeof id === "string" ? [id] : id;
  test(ids.map((each) => requirements[each].promise).join("; "), body, timeoutMs);
}
