/**
 * How does one call into a Python program run? The process holds one program at a time, loaded into a pristine CPython.
 * Another program gets a pristine CPython again: the whole memory is copied back, so there is nothing that one program can do
 * to another, and after each call the same is done to what its own program has become. The state is always loaded from its
 * bytes.
 */

import type { Reply, ReplyHead, RequestHead } from "../messages.ts";
import type { Engine } from "../serve.ts";
import { Expired } from "./gates.ts";
import type { Python } from "./host.ts";
import { MemoryImage, type Difference } from "./memory.ts";

/** Programs whose loaded memory is kept, as its difference from the base: some hundred kB each. */
const MAX_WARM = 24;
const MAX_KNOWN = 256;
/** A memory that once grew by more than this is given back to the system, with its process. */
const MAX_KEPT_GROWTH = 64 * 1_048_576;
const MAX_IMPORTS = 200;
const LINE_FEED = 10;
const PLUS = 43;

interface Warm {
  /** Absent when the program does not load. */
  loaded: Difference | undefined;
  refusal: ReplyHead | undefined;
  /** Modules of the standard library that calls import, and that are loaded with the program from the next time on. */
  imports: Set<string>;
  /** A call has added to `imports`. */
  stale: boolean;
}

export class PyodideEngine implements Engine {
  readonly #python: Python;
  readonly #base: MemoryImage;
  readonly #baseBytes: number;
  readonly #seed: Buffer;
  readonly #files: Set<number>;
  readonly #stack: number;
  readonly #texts = new Map<string, Pick<RequestHead, "program" | "modules">>();
  readonly #warm = new Map<string, Warm>();
  #loaded: string | undefined;
  /** The memory is not what it was right after loading. */
  #dirty = false;
  /** Bytes that may have been written since the last restore. */
  #used = 0;

  constructor(python: Python) {
    this.#python = python;
    this.#watchAll();
    // Caches that fill at the first use fill here, and not in a program's first call.
    for (let i = 0; i < 3; i++) this.#exercise();
    this.#used = python.module._sbrk(0);
    this.#base = new MemoryImage(python.memory, this.#used);
    this.#baseBytes = python.memory.bytes().length;
    this.#files = new Set(python.module.FS.streams.flatMap((stream, fd) => (stream ? [fd] : [])));
    this.#seed = this.#random();
    this.#stack = python.module.stackSave();
    python.watchers.changed = false;
  }

  call(head: RequestHead, args: Buffer, state: Buffer | undefined): Reply {
    const text = head.program ? { program: head.program, modules: head.modules ?? {} } : this.#texts.get(head.key);
    if (!text) return { head: { status: "unknownProgram" } };
    touch(this.#texts, head.key, text, MAX_KNOWN);
    try {
      this.#python.gates.deadline = performance.now() + head.limits.timeMs;
      this.#python.gates.maxBytes = this.#baseBytes + head.limits.memoryMb * 1_048_576;
      const refusal = this.#open(head.key, text);
      if (refusal) return { head: refusal };
      const { outputBytes, stateBytes } = head.limits;
      this.#python.gates.resetEntropy();
      const packed = this.#invoke(this.#python.call, [
        head.entry,
        args,
        state ?? "",
        this.#seed.equals(this.#random()) ? "" : "s",
        String(outputBytes),
        String(stateBytes),
      ]);
      const { reply, imports } = unpack(packed);
      // Whatever a call touched, its program's globals or the settings of some module, ends with it: the memory goes back
      // after each call. To tell which calls need it would take knowing every place where Python keeps something.
      this.#dirty = true;
      this.#learn(head.key, imports);
      return this.#retireIfGrown(reply);
    } catch (error) {
      return { head: this.#interrupted(error) };
    }
  }

  /** What the last call changed is undone while nobody waits. */
  rest(): void {
    const warm = this.#loaded === undefined ? undefined : this.#warm.get(this.#loaded);
    if (this.#dirty && warm && !warm.stale) this.#restore(warm.loaded);
  }

  #open(key: string, text: Pick<RequestHead, "program" | "modules">): ReplyHead | undefined {
    const warm = this.#warm.get(key);
    if (warm) touch(this.#warm, key, warm, MAX_WARM);
    if (warm?.refusal) return warm.refusal;
    if (this.#loaded === key && warm && !warm.stale) {
      if (this.#dirty) this.#restore(warm.loaded);
      return undefined;
    }
    this.#loaded = undefined;
    this.#restore(warm?.stale ? undefined : warm?.loaded);
    if (!warm || warm.stale) {
      const opened = this.#load(text, warm?.imports ?? new Set());
      touch(this.#warm, key, opened, MAX_WARM);
      if (opened.refusal) {
        this.#dirty = true;
        return opened.refusal;
      }
    }
    this.#loaded = key;
    return undefined;
  }

  #load({ program, modules }: Pick<RequestHead, "program" | "modules">, imports: Set<string>): Warm {
    this.#python.gates.resetEntropy();
    const refusal = this.#invoke(this.#python.load, [JSON.stringify({ program, modules, imports: [...imports] })]);
    if (refusal.length > 0) {
      return { loaded: undefined, refusal: JSON.parse(refusal.toString()) as ReplyHead, imports, stale: false };
    }
    this.#watchAll();
    this.#used = Math.max(this.#used, this.#python.module._sbrk(0));
    this.#python.watchers.changed = false;
    return { loaded: this.#base.difference(this.#used), refusal: undefined, imports, stale: false };
  }

  #learn(key: string, imports: string[]): void {
    const warm = this.#warm.get(key);
    if (!warm) return;
    for (const name of imports.slice(0, MAX_IMPORTS)) {
      if (warm.imports.size >= MAX_IMPORTS || warm.imports.has(name)) continue;
      warm.imports.add(name);
      warm.stale = true;
    }
  }

  #restore(to: Difference | undefined): void {
    const { module, watchers } = this.#python;
    this.#used = Math.max(this.#used, module._sbrk(0));
    this.#base.restore(this.#used, to);
    this.#used = module._sbrk(0);
    this.#closeFiles();
    watchers.changed = false;
    this.#dirty = false;
  }

  /** Open files are the one thing that Emscripten keeps outside the memory. @returns whether there were any. */
  #closeFiles(): boolean {
    const { streams, closeStream } = this.#python.module.FS;
    let any = false;
    for (let fd = 0; fd < streams.length; fd++) {
      if (!streams[fd] || this.#files.has(fd)) continue;
      closeStream(fd);
      any = true;
    }
    return any;
  }

  /**
   * An exception of JavaScript has run through CPython's frames (time is up, a gate refused, V8's stack was too small, memory
   * was corrupted) and left its memory in the middle of something. Copying the memory back mends all of that: an end of this
   * kind costs milliseconds, and not a process.
   */
  #interrupted(error: unknown): ReplyHead {
    this.#python.module.stackRestore(this.#stack);
    this.#dirty = true;
    if (error instanceof Expired) return { status: "timeout" };
    return { status: "crashed", message: String(error).slice(0, 500) };
  }

  #watchAll(): void {
    this.#python.watchers.watch(this.#invoke(this.#python.watched, []).toString());
  }

  #exercise(): void {
    const program = [
      "import re\nclass A:\n    def __init__(self): self.x = [1, {'a': 2.5}]\ndef f(s, x=1):\n    print(x, re.sub('a', 'b', 'aa'))\n    if x == 2: raise ValueError('x')\n    return [f'{x}', s or A()]",
    ];
    this.#invoke(this.#python.load, [JSON.stringify({ program, modules: {}, imports: [] })]);
    for (const args of ["[1]", "[2]", "[3]"]) {
      const { reply } = unpack(this.#invoke(this.#python.call, ["f", args, "", "s", "1000", "1000"]));
      if (reply.state) this.#invoke(this.#python.call, ["f", args, reply.state, "s", "1000", "1000"]);
    }
  }

  /** Calls a function of the bridge with bytes. @returns its bytes, copied. */
  #invoke(callable: number, parts: readonly (string | Uint8Array)[]): Buffer {
    const { module } = this.#python;
    const objects = parts.map((part) => {
      const bytes = typeof part === "string" ? Buffer.from(part) : part;
      const pointer = module._malloc(bytes.length + 1);
      if (pointer === 0) throw new RangeError("no memory for the call");
      module.HEAPU8.set(bytes, pointer);
      const object = module._PyBytes_FromStringAndSize(pointer, bytes.length);
      module._free(pointer);
      return object;
    });
    const vector = module._malloc(4 * Math.max(1, objects.length));
    const view = this.#python.memory.view();
    objects.forEach((object, i) => view.setUint32(vector + 4 * i, object, true));
    const result = module._PyObject_Vectorcall(callable, vector, objects.length, 0);
    module._free(vector);
    for (const object of objects) module._Py_DecRef(object);
    if (result === 0) throw new Error("the bridge raised");
    const start = module._PyBytes_AsString(result);
    const bytes = Buffer.from(module.HEAPU8.slice(start, start + module._PyBytes_Size(result)));
    module._Py_DecRef(result);
    return bytes;
  }

  /** The Mersenne Twister's own memory: any draw changes it. */
  #random(): Buffer {
    const start = this.#python.random + 8;
    return Buffer.from(this.#python.memory.bytes().subarray(start, start + 2_500));
  }

  #retireIfGrown(reply: Reply): Reply {
    const growth = this.#python.memory.bytes().length - this.#baseBytes;
    return growth > MAX_KEPT_GROWTH ? { ...reply, head: { ...reply.head, retire: true } } : reply;
  }
}

function unpack(packed: Buffer): { reply: Reply; restore: boolean; imports: string[] } {
  const start = packed.indexOf(LINE_FEED) + 1;
  const restore = packed[0] === PLUS;
  const imports = packed
    .toString("utf8", 1, start - 1)
    .split(" ")
    .filter(Boolean);
  const end = packed.indexOf(LINE_FEED, start);
  const text = packed.toString("utf8", start, end);
  const { valueLength, ...head } = JSON.parse(text) as ReplyHead & { valueLength?: number };
  if (head.status !== "ok") return { reply: { head }, restore, imports };
  const value = packed.toString("utf8", end + 1, end + 1 + valueLength!);
  return { reply: { head, value, state: packed.subarray(end + 1 + valueLength!) }, restore, imports };
}

function touch<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
