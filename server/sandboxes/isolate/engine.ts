/**
 * How does one call into a JavaScript program run? Each program has an isolate of its own (heap and memory limit), and each
 * call a context of its own in it: nothing that a call leaves in globals, closures or promise jobs can reach the next call,
 * because there is nothing that both can reach. The next context is prepared after the reply, when nobody waits for it.
 */

import ivm from "isolated-vm";
import type { Engine } from "../serve.ts";
import type { Reply, ReplyHead, RequestHead } from "../messages.ts";
import { codec } from "./codec.ts";
import { realm } from "./realm.ts";

/** Programs whose isolates are kept. An isolate without garbage takes about 3 MB, one with garbage its limit. */
const MAX_WARM = 8;
/** Programs whose texts are kept. */
const MAX_KNOWN = 256;
/** A program that takes longer to load is loaded in the call that needs it, on that call's time. */
const MAX_REST_MS = 5;

/** A context in which the program has run and no call has. */
interface Prepared {
  context: ivm.Context;
  invoke: ivm.Reference<(...args: unknown[]) => string>;
}

interface Warm {
  isolate: ivm.Isolate;
  realm: ivm.Script;
  program: ivm.Script[];
  encode: ivm.Reference;
  take: ivm.Reference<(call: number) => string>;
  calls: number;
  entries: Map<string, ivm.Script>;
  next: Prepared | undefined;
  prepareMs: number;
}

export class IsolateEngine implements Engine {
  readonly #texts = new Map<string, readonly string[]>();
  readonly #warm = new Map<string, Warm>();
  #last: Warm | undefined;

  call(head: RequestHead, args: Buffer, state: Buffer | undefined): Reply {
    const program = this.#text(head);
    if (!program) return { head: { status: "unknownProgram" } };
    const deadline = performance.now() + head.limits.timeMs;
    const left = () => Math.max(1, Math.ceil(deadline - performance.now()));
    let warm: Warm | undefined;
    try {
      warm = this.#last = this.#open(head, program);
      const ready = warm.next ?? prepare(warm, left());
      warm.next = undefined;
      const { outputBytes, stateBytes } = head.limits;
      const run = entryOf(warm, head.entry).runSync(ready.context, { reference: true });
      const packed = invoke(
        warm,
        ready,
        [
          run.derefInto({ release: true }),
          warm.encode.derefInto(),
          ++warm.calls,
          head.entry,
          args.toString(),
          state?.toString() ?? "",
          outputBytes,
          stateBytes,
        ],
        left(),
      );
      // A context lives as long as anything holds a reference into it.
      ready.invoke.release();
      ready.context.release();
      return unpack(packed, head);
    } catch (error) {
      return this.#failed(error as Error, head.key, warm);
    }
  }

  rest(): void {
    const warm = this.#last;
    if (!warm || warm.next || warm.isolate.isDisposed || warm.prepareMs > MAX_REST_MS) return;
    try {
      warm.next = prepare(warm, 100);
    } catch {
      // The program did the same under a call's eyes before, or ran out of memory; the next call meets it and says so.
      warm.next = undefined;
    }
  }

  #text({ key, program }: RequestHead): readonly string[] | undefined {
    const text = program ?? this.#texts.get(key);
    if (text) touch(this.#texts, key, text, MAX_KNOWN);
    return text;
  }

  #open({ key, limits }: RequestHead, program: readonly string[]): Warm {
    let warm = this.#warm.get(key);
    if (!warm || warm.isolate.isDisposed) warm = open(program, limits.memoryMb);
    for (const old of touch(this.#warm, key, warm, MAX_WARM)) if (!old.isolate.isDisposed) old.isolate.dispose();
    return warm;
  }

  /** What went wrong outside the program's own code: it did not load, or V8 stopped it. */
  #failed(error: Error, key: string, warm: Warm | undefined): Reply {
    const disposed = warm?.isolate.isDisposed;
    if (error instanceof ProgramError) return { head: error.head };
    this.#warm.delete(key);
    if (warm && !disposed) warm.isolate.dispose();
    // A full heap may have left more behind than this process can know.
    if (disposed || isAllocationFailure(error)) return { head: { status: "outOfMemory", retire: true } };
    if (isTimeout(error)) return { head: { status: "timeout" } };
    return { head: { status: "crashed", message: error.message.slice(0, 500), retire: true } };
  }
}

/** The program's own error while it loads; the isolate is as good as before. */
class ProgramError extends Error {
  readonly head: ReplyHead;
  constructor(head: ReplyHead) {
    super(head.status);
    this.head = head;
  }
}

function open(program: readonly string[], memoryMb: number): Warm {
  const isolate = new ivm.Isolate({
    memoryLimit: Math.max(8, memoryMb),
    // V8 has lost control of the whole process; only its end helps.
    onCatastrophicError: () => process.abort(),
  });
  const context = isolate.createContextSync();
  const functions = context.evalSync(`(${codec.toString()})()`, { reference: true, filename: "trailgym:codec" });
  const [encode, take] = ["encode", "take"].map((name) => functions.getSync(name, { reference: true })) as [
    ivm.Reference,
    Warm["take"],
  ];
  const scripts = program.map((text, i) => {
    try {
      // A script's last value would be handed out; the program's is nobody's business.
      return isolate.compileScriptSync(`${text}\n;undefined`, {
        filename: i === 0 ? "program.js" : `program-${i + 1}.js`,
      });
    } catch (error) {
      throw new ProgramError(loadError(error));
    }
  });
  const script = isolate.compileScriptSync(`(${realm.toString()})()`, { filename: "trailgym:realm" });
  return {
    isolate,
    realm: script,
    program: scripts,
    encode,
    take,
    calls: 0,
    entries: new Map(),
    next: undefined,
    prepareMs: 0,
  };
}

function prepare(warm: Warm, timeout: number): Prepared {
  const start = performance.now();
  const context = warm.isolate.createContextSync();
  const invoke = warm.realm.runSync(context, { reference: true }) as Prepared["invoke"];
  for (const script of warm.program) {
    try {
      script.runSync(context, { timeout });
    } catch (error) {
      if (warm.isolate.isDisposed || isTimeout(error) || isAllocationFailure(error)) throw error;
      throw new ProgramError(loadError(error));
    }
  }
  warm.prepareMs = performance.now() - start;
  return { context, invoke };
}

function invoke(
  warm: Warm,
  { invoke }: Prepared,
  args: (ivm.Transferable | ivm.Dereference<unknown>)[],
  timeout: number,
): string {
  try {
    return invoke.applySync(undefined, args, { timeout });
  } catch (error) {
    if (warm.isolate.isDisposed || isTimeout(error)) throw error;
    // A promise that the program left was rejected, after the call had its result.
    const packed = warm.take.applySync(undefined, [warm.calls]);
    if (packed === "") throw error;
    return packed;
  }
}

/** A script that finds the entry: unlike a property of the global object, it also sees a `const` and a class. */
function entryOf(warm: Warm, entry: string): ivm.Script {
  let script = warm.entries.get(entry);
  if (!script) {
    const source = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(entry)
      ? `typeof ${entry} === "function" && ${entry}`
      : "false";
    script = warm.isolate.compileScriptSync(source, { filename: "trailgym:entry" });
    if (warm.entries.size < 64) warm.entries.set(entry, script);
  }
  return script;
}

/** V8's own words, which no program can throw across the boundary from inside a call; while it loads it can, and hurts itself. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && /^Script execution timed out/.test(error.message);
}

function isAllocationFailure(error: unknown): boolean {
  return error instanceof RangeError && /allocation failed/i.test(error.message);
}

function loadError(error: unknown): ReplyHead {
  // A program may throw anything; isolated-vm hands on what is not an Error as it is, or as undefined.
  if (!(error instanceof Error)) {
    return {
      status: "raised",
      error: { type: typeof error, message: String(error).slice(0, 4_000), trace: "" },
      output: "",
    };
  }
  // isolated-vm adds the place of a syntax error to its message.
  const message = error.message.slice(0, 4_000);
  const trace = String(error.stack ?? "")
    .split("\n")
    .filter((line) => !/^\s+at /.test(line) || /\bprogram(-\d+)?\.js:/.test(line))
    .join("\n")
    .slice(0, 16_000);
  return { status: "raised", error: { type: error.name, message, trace }, output: "" };
}

/** The codec's one string: the reply's head and the lengths of what follows it, a line feed, the value, the state. */
function unpack(packed: string, { limits }: RequestHead): Reply {
  const end = packed.indexOf("\n");
  const { valueLength, ...head } = JSON.parse(packed.slice(0, end)) as ReplyHead & { valueLength?: number };
  if (head.status === "raised") {
    const { type, message } = head.error;
    if (type === "RangeError" && /^Array buffer allocation failed/.test(message))
      return { head: { status: "outOfMemory" } };
    return Buffer.byteLength(head.output) > limits.outputBytes ? { head: { status: "outputTooLarge" } } : { head };
  }
  if (head.status !== "ok") return { head };
  const value = packed.slice(end + 1, end + 1 + valueLength!);
  const state = Buffer.from(packed.slice(end + 1 + valueLength!));
  if (state.length > limits.stateBytes) return { head: { status: "stateTooLarge" } };
  if (Buffer.byteLength(value) + Buffer.byteLength(head.output) > limits.outputBytes) {
    return { head: { status: "outputTooLarge" } };
  }
  return { head, value, state };
}

/** Makes `key` the newest entry. @returns what fell out. */
function touch<V>(map: Map<string, V>, key: string, value: V, max: number): V[] {
  map.delete(key);
  map.set(key, value);
  const dropped: V[] = [];
  for (const [oldest, old] of map) {
    if (map.size <= max) break;
    map.delete(oldest);
    dropped.push(old);
  }
  return dropped;
}
