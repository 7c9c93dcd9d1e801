/**
 * How does one call into a JavaScript program run? Each program has an isolate of its own (heap and memory limit), and each
 * call a context of its own in it: nothing that a call leaves in globals, closures or promise jobs can reach the next call,
 * because there is nothing that both can reach. The next context is prepared after the reply, when nobody waits for it.
 *
 * Calls of a plain program (plain.ts) share a context that no call can change (harden.ts). When an outcome is not certain to
 * be what a new context would have given, the answer is `again`, and the server asks for the same call in a new one.
 */

import type ivm from "isolated-vm";
import type { Engine } from "../serve.ts";
import type { Reply, ReplyHead, RequestHead } from "../messages.ts";
import {
  entryOf,
  type Home,
  invoke,
  open,
  prepare,
  type Prepared,
  prepareToKeep,
  ProgramError,
  release,
} from "./contexts.ts";
import { type Plain, plainness } from "./plain.ts";
import { isAllocationFailure, isTimeout, unpack } from "./reply.ts";

/** Programs whose isolates are kept. An isolate without garbage takes about 3 MB, one with garbage its limit. */
const MAX_WARM = 8;
/** Programs whose texts are kept. */
const MAX_KNOWN = 256;
/** A program that takes longer to load is loaded in the call that needs it, on that call's time. */
const MAX_REST_MS = 5;
/** A program that is called once, say to describe its tools, is not looked at. */
const MIN_CALLS = 2;
/** Calls made again before a program is no longer taken for plain; hundred good ones make up for one. */
const TRUST = 8;
/** Bytes of a state that is held on to. */
const MAX_SAME = 262_144;

interface Known {
  program: readonly string[];
  calls: number;
  /** Or why it is not plain; undefined before anybody looked. */
  plain: Plain | string | undefined;
  trust: number;
}

interface Warm extends Home {
  /** For one call that has not come yet. */
  next: Prepared | undefined;
  prepareMs: number;
  kept: Kept | undefined;
}

/** A context for many calls. */
interface Kept extends Prepared {
  entries: Map<string, ivm.Reference>;
  /** What the last call returned, if its context still holds the object: the next step of a session need not read it. */
  state: Buffer | undefined;
}

export class IsolateEngine implements Engine {
  readonly #known = new Map<string, Known>();
  readonly #warm = new Map<string, Warm>();
  #last: { known: Known; warm: Warm } | undefined;

  call(head: RequestHead, args: Buffer, state: Buffer | undefined): Reply {
    const known = this.#knownOf(head);
    if (!known) return { head: { status: "unknownProgram" } };
    const deadline = performance.now() + head.limits.timeMs;
    const left = () => Math.max(1, Math.ceil(deadline - performance.now()));
    known.calls++;
    this.#last = undefined;
    let warm: Warm | undefined;
    try {
      warm = this.#open(head, known.program);
      this.#last = { known, warm };
      const { outputBytes, stateBytes } = head.limits;
      const { kept } = warm;
      const isKept = kept !== undefined && !head.fresh;
      const stateText = isKept && state && kept.state?.equals(state) ? true : (state?.toString() ?? "");
      const values = [++warm.calls, head.entry, args.toString(), stateText, outputBytes, stateBytes];
      if (isKept) {
        kept.state = undefined;
        const run = keptEntry(warm, kept, head.entry);
        const packed = invokeKept(warm, kept, [run.derefInto(), warm.encode.derefInto(), ...values], left());
        return this.#judge(packed, head, known, warm, kept);
      }
      const ready = warm.next ?? prepareTimed(warm, left());
      warm.next = undefined;
      const run = entryOf(warm, head.entry).runSync(ready.context, { reference: true });
      const references = [run.derefInto({ release: true }), warm.encode.derefInto()];
      const packed = invoke(warm, ready, [...references, ...values], left());
      release(ready);
      return unpack(packed, head);
    } catch (error) {
      return this.#failed(error as Error, head.key, warm);
    }
  }

  rest(): void {
    if (!this.#last) return;
    const { known, warm } = this.#last;
    if (warm.isolate.isDisposed || warm.kept) return;
    if (known.calls >= MIN_CALLS) this.#keep(known, warm);
    if (warm.kept || warm.next || warm.prepareMs > MAX_REST_MS) return;
    try {
      warm.next = prepareTimed(warm, 100);
    } catch {
      // The program did the same under a call's eyes before, or ran out of memory; the next call meets it and says so.
      warm.next = undefined;
    }
  }

  /** Whether calls of a program share a context by now, or why they never will. */
  shares(key: string): boolean | string {
    const plain = this.#known.get(key)?.plain;
    return typeof plain === "string" ? plain : this.#warm.get(key)?.kept !== undefined;
  }

  #knownOf({ key, program }: RequestHead): Known | undefined {
    let known = this.#known.get(key);
    if (!known && program) known = { program, calls: 0, plain: undefined, trust: TRUST };
    if (known) touch(this.#known, key, known, MAX_KNOWN);
    return known;
  }

  #open({ key, limits }: RequestHead, program: readonly string[]): Warm {
    let warm = this.#warm.get(key);
    if (!warm || warm.isolate.isDisposed)
      warm = { ...open(program, limits.memoryMb), next: undefined, prepareMs: 0, kept: undefined };
    for (const old of touch(this.#warm, key, warm, MAX_WARM)) if (!old.isolate.isDisposed) old.isolate.dispose();
    return warm;
  }

  #keep(known: Known, warm: Warm): void {
    known.plain ??= plainness(known.program);
    if (typeof known.plain === "string") return;
    try {
      warm.kept = { ...prepareToKeep(warm, known.plain, 100), entries: new Map(), state: undefined };
    } catch (error) {
      known.plain = `cannot be kept: ${(error as Error).message}`;
      return;
    }
    if (warm.next) release(warm.next);
    warm.next = undefined;
  }

  /** @param packed what came out of a context that is kept */
  #judge(packed: string, head: RequestHead, known: Known, warm: Warm, kept: Kept): Reply {
    const reply = packed === "doubtful" || packed === "spoilt" ? undefined : unpack(packed, head);
    const isCertain = reply !== undefined && certain(reply.head, known.plain as Plain);
    known.trust = isCertain ? Math.min(TRUST, known.trust + TRUST / 100) : known.trust - 1;
    if (known.trust <= 0) known.plain = "is plain by its text, but not by what it does";
    if (packed === "spoilt" || typeof known.plain === "string") {
      release(kept);
      warm.kept = undefined;
    }
    if (reply?.same && reply.state!.length <= MAX_SAME) kept.state = reply.state as Buffer;
    return isCertain ? reply : { head: { status: "again" } };
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

function prepareTimed(warm: Warm, timeout: number): Prepared {
  const start = performance.now();
  const prepared = prepare(warm, timeout);
  warm.prepareMs = performance.now() - start;
  return prepared;
}

function keptEntry(warm: Warm, { context, entries }: Kept, entry: string): ivm.Reference {
  let run = entries.get(entry);
  if (!run) {
    run = entryOf(warm, entry).runSync(context, { reference: true });
    if (entries.size < 64) entries.set(entry, run);
  }
  return run;
}

function invokeKept(warm: Warm, kept: Prepared, args: Parameters<typeof invoke>[2], timeout: number): string {
  try {
    return kept.invoke.applySync(undefined, args, { timeout });
  } catch (error) {
    if (warm.isolate.isDisposed || isTimeout(error) || isAllocationFailure(error)) throw error;
    // Something ran on after the call.
    return "spoilt";
  }
}

/** Would a new context have given the same, word for word? */
function certain(head: ReplyHead, { sloppyThis }: Plain): boolean {
  if (head.status === "ok") return true;
  // How deep a stack may be is for V8 to say, and it says it differently for code that it knows well.
  if (head.status !== "raised" || /^Maximum call stack/.test(head.error.message)) return false;
  return head.error.type !== "TypeError" || (!sloppyThis && harmless.test(head.error.message));
}

/** Anything else may mean that something frozen was written to, or that strict mode throws where sloppy mode does not. */
const harmless = new RegExp(
  [
    "^Cannot (read|set) properties of (undefined|null)\\b",
    "^Cannot destructure property ",
    "^Cannot convert undefined or null to object",
    "^Cannot use 'in' operator to search for ",
    "^Cannot (mix BigInt|convert a BigInt|convert a Symbol)",
    "^Reduce of empty array",
    "^(?!Cannot ).* is not (a function|a constructor|iterable)( \\(cannot read property Symbol\\(Symbol\\.iterator\\)\\))?$",
  ].join("|"),
);

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
