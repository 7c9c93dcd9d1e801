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
  // What is already in order, JSON.stringify writes in the same way and several times faster.
  return inOrder(json) ? JSON.stringify(json) : write(json);
}

/** Whether every object's keys stand in canonical order. */
function inOrder(json: Json): boolean {
  if (typeof json === "number") return checkFinite(json);
  if (typeof json !== "object" || json === null) return true;
  if (Array.isArray(json)) return json.every(inOrder);
  const keys = Object.keys(json);
  return isSorted(keys) && keys.every((key) => json[key] === undefined || inOrder(json[key]));
}

function isSorted(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] as string) > (keys[i] as string)) return false;
  return true;
}

function write(json: Json): string {
  if (typeof json === "number") return checkFinite(json) ? String(json) : "";
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  let text = "";
  if (Array.isArray(json)) {
    for (const item of json) text += `${text === "" ? "" : ","}${write(item)}`;
    return `[${text}]`;
  }
  const keys = Object.keys(json);
  if (!isSorted(keys)) keys.sort();
  for (const key of keys) {
    const value = json[key];
    if (value !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${write(value)}`;
  }
  return `{${text}}`;
}

function checkFinite(value: number): true {
  if (!Number.isFinite(value)) throw new ValueError("", `${value} is not a JSON number`);
  return true;
}
