/** One text for one value, whatever order its keys were written in: RFC 8785 (JSON Canonicalization Scheme). */

import { encode, type Json, ValueError } from "./values.ts";

/** The canonical text of a value's tagged JSON form. Digests (`stateDigest`) are SHA-256 of its UTF-8 bytes. */
export function canonical(value: unknown): string {
  return canonicalJson(encode(value));
}

/**
 * RFC 8785 of a JSON value: keys by UTF-16 code unit, numbers and strings as ECMAScript writes them, no white space.
 * @throws ValueError for a number that JSON cannot write (a parsed 1e999): as `null` two values would share a text.
 */
export function canonicalJson(json: Json): string {
  if (typeof json === "number" && !Number.isFinite(json)) throw new ValueError("", `${json} is not a JSON number`);
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  if (Array.isArray(json)) return `[${json.map(canonicalJson).join(",")}]`;
  const keys = Object.keys(json).filter((key) => json[key] !== undefined);
  keys.sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(json[key] as Json)}`).join(",")}}`;
}
