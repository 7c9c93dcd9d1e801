/** What is a tool called here, when its own name is one that model APIs refuse? */

import { hashName } from "../hash.ts";
import { STOP } from "../trajectory.ts";

/** Model APIs take letters, digits, "_" and "-"; MCP the dot as well, and both at least this many characters. */
const MAX = 64;

/** The same name for the same name, and (but for one chance in 2^52) another for another. */
export function safeName(name: string): string {
  if (name !== STOP && /^[A-Za-z0-9_.-]+$/.test(name) && name.length <= MAX) return name;
  const plain = name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_.-]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return `${plain.slice(0, MAX - 9)}_${hashName(name).slice(0, 8)}`;
}
