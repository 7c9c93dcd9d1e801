/** Digests of committed values. */

import { hash } from "node:crypto";
import { canonicalJson, type Json } from "trailgym/protocol";

/** SHA-256 of the canonical text (RFC 8785) of a tagged value, first 16 bytes in hex. */
export function digest(json: Json): string {
  return hash("sha256", canonicalJson(json), "hex").slice(0, 32);
}
