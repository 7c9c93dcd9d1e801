/** Under which name does a child keep a program warm? A digest of its texts, found again without reading them. */

import { createHash } from "node:crypto";
import type { InterpreterCall } from "trailgym/env";

export type ProgramText = Pick<InterpreterCall, "program" | "modules">;

/** One step from text to text: V8 keeps a string's hash with the string, so a known program of 50 kB costs a few look-ups. */
interface Node {
  next: Map<string, Node>;
  digest: string | undefined;
}

const MAX_REMEMBERED = 8_192;
let root: Node = { next: new Map(), digest: undefined };
let remembered = 0;

export function programKey({ program, modules = {} }: ProgramText, memoryMb: number): string {
  if (remembered > MAX_REMEMBERED) {
    root = { next: new Map(), digest: undefined };
    remembered = 0;
  }
  // The number of texts keeps a text from being taken for a module's.
  let node = step(root, `${memoryMb} ${program.length}`);
  for (const text of program) node = step(node, text);
  for (const name in modules) node = step(step(node, `module ${name}`), modules[name]!);
  node.digest ??= createHash("sha256")
    .update(JSON.stringify([program, modules, memoryMb]))
    .digest("base64url");
  return node.digest;
}

function step(from: Node, text: string): Node {
  let node = from.next.get(text);
  if (!node) {
    node = { next: new Map(), digest: undefined };
    from.next.set(text, node);
    remembered++;
  }
  return node;
}
