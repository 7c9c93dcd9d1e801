/** How do isolates and contexts come about, and how is a function in one of them called? */

import ivm from "isolated-vm";
import type { ReplyHead } from "../messages.ts";
import { codec } from "./codec.ts";
import { harden } from "./harden.ts";
import type { Plain } from "./plain.ts";
import { realm } from "./realm.ts";
import { isAllocationFailure, isTimeout, loadError } from "./reply.ts";

/** What is the same for all contexts of a program. */
export interface Home {
  isolate: ivm.Isolate;
  realm: ivm.Script;
  program: readonly ivm.Script[];
  encode: ivm.Reference;
  take: ivm.Reference<(call: number) => string>;
  calls: number;
  /** Scripts that find an entry, by its name. */
  entries: Map<string, ivm.Script>;
}

/** A context in which the program has run. */
export interface Prepared {
  context: ivm.Context;
  invoke: ivm.Reference<(...args: unknown[]) => string>;
}

/** The program's own error while it loads; the isolate is as good as before. */
export class ProgramError extends Error {
  readonly head: ReplyHead;
  constructor(head: ReplyHead) {
    super(head.status);
    this.head = head;
  }
}

/** @throws ProgramError when the program does not compile */
export function open(program: readonly string[], memoryMb: number): Home {
  const isolate = new ivm.Isolate({
    memoryLimit: Math.max(8, memoryMb),
    // V8 has lost control of the whole process; only its end helps.
    onCatastrophicError: () => process.abort(),
  });
  const context = isolate.createContextSync();
  const functions = context.evalSync(`(${codec.toString()})()`, { reference: true, filename: "trailgym:codec" });
  const [encode, take] = ["encode", "take"].map((name) => functions.getSync(name, { reference: true })) as [
    ivm.Reference,
    Home["take"],
  ];
  const scripts = program.map((text, i) => {
    try {
      // A script's last value would be handed out; the program's is nobody's business.
      return isolate.compileScriptSync(`${text}\n;undefined`, { filename: filename(i) });
    } catch (error) {
      throw new ProgramError(loadError(error));
    }
  });
  const script = isolate.compileScriptSync(`(${realm.toString()})()`, { filename: "trailgym:realm" });
  return { isolate, realm: script, program: scripts, encode, take, calls: 0, entries: new Map() };
}

/** For one call. @throws ProgramError when the program throws as it loads, and what V8 throws when it stops it. */
export function prepare(home: Home, timeout: number): Prepared {
  const context = home.isolate.createContextSync();
  const invoke = home.realm.runSync(context, { reference: true }) as Prepared["invoke"];
  for (const script of home.program) {
    try {
      script.runSync(context, { timeout });
    } catch (error) {
      if (home.isolate.isDisposed || isTimeout(error) || isAllocationFailure(error)) throw error;
      throw new ProgramError(loadError(error));
    }
  }
  return { context, invoke };
}

/** For many calls. @throws whatever stands in the way */
export function prepareToKeep(
  { isolate }: Home,
  { texts, names, reworded, ordinary }: Plain,
  timeout: number,
): Prepared {
  const context = isolate.createContextSync();
  const source = `(${realm.toString()})(() => (${harden.toString()})(${reworded}, ${ordinary}))`;
  const functions = context.evalSync(source, { reference: true, filename: "trailgym:realm" });
  const invoke = functions.getSync("invoke", { reference: true }) as Prepared["invoke"];
  const keep = functions.getSync("keep", { reference: true }) as ivm.Reference<(values: unknown) => void>;
  // One line up, so that the program's first line is its first again.
  texts.forEach((text, i) => {
    context.evalSync(text, { timeout, filename: filename(i), lineOffset: -1 });
  });
  const values = context.evalSync(`[${names.join()}]`, { reference: true });
  keep.applySync(undefined, [values.derefInto({ release: true })]);
  keep.release();
  return { context, invoke };
}

export function release({ context, invoke }: Prepared): void {
  // A context lives as long as anything holds a reference into it.
  invoke.release();
  context.release();
}

/** @returns what the realm's function returned. @throws what V8 throws when it stops the program */
export function invoke(
  home: Home,
  { invoke }: Prepared,
  args: (ivm.Transferable | ivm.Dereference<unknown>)[],
  timeout: number,
): string {
  try {
    return invoke.applySync(undefined, args, { timeout });
  } catch (error) {
    if (home.isolate.isDisposed || isTimeout(error)) throw error;
    // A promise that the program left was rejected, after the call had its result.
    const packed = home.take.applySync(undefined, [home.calls]);
    if (packed === "") throw error;
    return packed;
  }
}

/** A script that finds the entry: unlike a property of the global object, it also sees a `const` and a class. */
export function entryOf(home: Home, entry: string): ivm.Script {
  let script = home.entries.get(entry);
  if (!script) {
    const source = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(entry)
      ? `typeof ${entry} === "function" && ${entry}`
      : "false";
    script = home.isolate.compileScriptSync(source, { filename: "trailgym:entry" });
    if (home.entries.size < 64) home.entries.set(entry, script);
  }
  return script;
}

function filename(index: number): string {
  return index === 0 ? "program.js" : `program-${index + 1}.js`;
}
