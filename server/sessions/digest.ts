/** Digests of committed values. */

import { hash } from "node:crypto";

/** SHA-256 of a value's canonical text (see `canonicalJson`), first 16 bytes in hex. */
export function digestOf(canonicalText: string): string {
  return hash("sha256", canonicalText, "hex").slice(0, 32);
}
