/** What does the text of an option stand for? Parsers for commander, which prints what they throw. */

import { InvalidArgumentError } from "commander";

/** A whole number within bounds. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const bound = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`give a whole number ${bound}.`);
  };
}

export function decimal(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("give a number.");
}

export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError("give a JSON object, such as '{\"start\": 9}'.");
}
