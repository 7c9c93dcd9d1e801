/** Under which name does a child keep a program warm? A digest of its texts, remembered so that a call does not hash them again. */

import { createHash } from "node:crypto";
import type { InterpreterCall } from "trailgym/env";

export type ProgramText = Pick<InterpreterCall, "program" | "modules">;

const digests = new Map<string, string>();
const MAX_REMEMBERED = 4_096;

export function programKey({ program, modules }: ProgramText, memoryMb: number): string {
  // One string per program and not per call in practice: V8 keeps the hash of a string that the map has seen.
  const text = JSON.stringify([program, modules, memoryMb]);
  let digest = digests.get(text);
  if (digest === undefined) {
    digest = createHash("sha256").update(text).digest("base64url");
    if (digests.size >= MAX_REMEMBERED) digests.clear();
    digests.set(text, digest);
  }
  return digest;
}
