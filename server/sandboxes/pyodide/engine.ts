/**
 * How does one call into a Python program run? The process holds one program at a time, loaded into a pristine CPython.
 * Another program gets a pristine CPython again: whatever was written to the memory is copied back, so there is nothing that
 * one program can do to another, and after each call the same is done to what its own program has become. The state is
 * always loaded from its bytes.
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
const LINE_FEED = 10;

type Text = Pick<RequestHead, "program" | "modules">;

interface Warm {
  /** From the pristine memory to the one with the program, and back while the program is loaded. */
  difference: Difference | undefined;
  /** Why it cannot be loaded. */
  refusal: ReplyHead | undefined;
}

export class PyodideEngine implements Engine {
  readonly #python: Python;
  readonly #image: MemoryImage;
  readonly #baseBytes: number;
  readonly #files: Set<number>;
  readonly #stack: number;
  readonly #texts = new Map<string, Text>();
  readonly #warm = new Map<string, Warm>();
  #loaded: Warm | undefined;

  constructor(python: Python) {
    this.#python = python;
    // Caches that fill at the first use fill here, and not in a program's first call.
    for (let i = 0; i < 3; i++) this.#exercise();
    this.#invoke(python.settle, []);
    this.#image = new MemoryImage(python.memory, python.module._sbrk(0));
    this.#baseBytes = python.memory.bytes().length;
    this.#files = new Set(python.module.FS.streams.flatMap((stream, fd) => (stream ? [fd] : [])));
    this.#stack = python.module.stackSave();
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
        String(outputBytes),
        String(stateBytes),
      ]);
      return this.#retireIfGrown(unpack(packed));
    } catch (error) {
      return { head: interrupted(error) };
    }
  }

  /** What the last call changed is undone while nobody waits. */
  rest(): void {
    this.#restore();
  }

  #open(key: string, text: Text): ReplyHead | undefined {
    const warm = this.#warm.get(key);
    if (warm) touch(this.#warm, key, warm, MAX_WARM);
    if (warm?.refusal) return warm.refusal;
    if (!warm || warm !== this.#loaded) {
      this.#exchange(this.#loaded);
      this.#exchange(warm);
      this.#loaded = warm;
    }
    this.#restore();
    return warm ? undefined : this.#load(key, text);
  }

  #load(key: string, { program, modules }: Text): ReplyHead | undefined {
    this.#python.gates.resetEntropy();
    const answer = this.#invoke(this.#python.load, [JSON.stringify({ program, modules })]);
    const refusal = answer.length > 0 ? (JSON.parse(answer.toString()) as ReplyHead) : undefined;
    const warm: Warm = { difference: refusal ? undefined : this.#image.adopt(), refusal };
    this.#closeFiles();
    touch(this.#warm, key, warm, MAX_WARM);
    if (!refusal) this.#loaded = warm;
    return refusal;
  }

  #exchange(warm: Warm | undefined): void {
    if (warm?.difference) this.#image.exchange(warm.difference);
  }

  /**
   * Whatever the memory has been through, it is now what it was right after loading. An exception of JavaScript may have run
   * through CPython's frames (time is up, a gate refused, V8's stack was too small) and left it in the middle of something:
   * an end of this kind costs no process either.
   */
  #restore(): void {
    this.#image.restore();
    this.#python.module.stackRestore(this.#stack);
    this.#closeFiles();
  }

  /** Open files are the one thing that Emscripten keeps outside the memory. */
  #closeFiles(): void {
    const { streams, closeStream } = this.#python.module.FS;
    for (let fd = 0; fd < streams.length; fd++) if (streams[fd] && !this.#files.has(fd)) closeStream(fd);
  }

  #exercise(): void {
    const program = [
      "import re\nclass A:\n    def __init__(self): self.x = [1, {'a': 2.5}]\ndef f(s, x=1):\n    print(x, re.sub('a', 'b', 'aa'))\n    if x == 2: raise ValueError('x')\n    return [f'{x}', s or A()]",
    ];
    this.#invoke(this.#python.load, [JSON.stringify({ program, modules: {} })]);
    for (const args of ["[1]", "[2]", "[3]"]) {
      const { state } = unpack(this.#invoke(this.#python.call, ["f", args, "", "1000", "1000"]));
      if (state) this.#invoke(this.#python.call, ["f", args, state, "1000", "1000"]);
    }
  }

  /** Calls a function of the bridge with bytes. @returns its bytes, copied. */
  #invoke(callable: number, parts: readonly (string | Uint8Array)[]): Buffer {
    const { module, memory } = this.#python;
    const objects = parts.map((part) => {
      const bytes = typeof part === "string" ? Buffer.from(part) : part;
      const pointer = module._malloc(bytes.length + 1);
      if (pointer === 0) throw new RangeError("no memory for the call");
      memory.write(bytes, pointer);
      const object = module._PyBytes_FromStringAndSize(pointer, bytes.length);
      module._free(pointer);
      return object;
    });
    const vector = module._malloc(4 * Math.max(1, objects.length));
    memory.write(new Uint8Array(Uint32Array.from(objects).buffer), vector);
    const result = module._PyObject_Vectorcall(callable, vector, objects.length, 0);
    module._free(vector);
    for (const object of objects) module._Py_DecRef(object);
    if (result === 0) throw new Error("the bridge raised");
    const start = module._PyBytes_AsString(result);
    const bytes = Buffer.copyBytesFrom(memory.bytes(), start, module._PyBytes_Size(result));
    module._Py_DecRef(result);
    return bytes;
  }

  #retireIfGrown(reply: Reply): Reply {
    const growth = this.#python.memory.bytes().length - this.#baseBytes;
    return growth > MAX_KEPT_GROWTH ? { ...reply, head: { ...reply.head, retire: true } } : reply;
  }
}

function interrupted(error: unknown): ReplyHead {
  if (error instanceof Expired) return { status: "timeout" };
  return { status: "crashed", message: String(error).slice(0, 500) };
}

/** @param packed the head, a line feed, the value, the state. */
function unpack(packed: Buffer): Reply {
  const end = packed.indexOf(LINE_FEED);
  const { valueLength, ...head } = JSON.parse(packed.toString("utf8", 0, end)) as ReplyHead & { valueLength?: number };
  if (head.status !== "ok") return { head };
  const state = end + 1 + valueLength!;
  return { head, value: packed.toString("utf8", end + 1, state), state: packed.subarray(state) };
}

function touch<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
