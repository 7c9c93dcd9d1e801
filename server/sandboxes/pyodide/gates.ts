/**
 * What can Python reach of its host? WebAssembly has no system calls: all that CPython can do outside its own memory goes
 * through the functions that Emscripten and Pyodide import. Once `locked`, each of them answers from here: constant clocks
 * and entropy, files of the standard library for reading, and an end of the process for everything else. Whatever a program
 * does with Python's objects, `ctypes` or memory itself, it gets no further than these functions.
 */

/* eslint-disable @typescript-eslint/no-unsafe-function-type -- the imports are functions of every kind */

import type { Memory } from "./memory.ts";

/** Thrown through all of CPython, where nothing can catch it: the program has called on its host. */
export class Forbidden extends Error {
  override readonly name = "Forbidden";
}

/** Thrown in the same way: the call's time is up. */
export class Expired extends Error {
  override readonly name = "Expired";
}

const STDLIB = "/lib/python314.zip";
/** Emscripten's numbers. */
const ENOENT = 44;
const EBADF = 8;
const ENOSYS = 52;
const ENOTTY = 59;
const EROFS = 69;
const EAI_FAIL = -4;
const O_ACCMODE = 3;
const O_CREAT_TRUNC = 0o1100;

/** 2024-01-01T00:00:00Z: time stands still at a date that no program finds odd. */
const NOW_MS = 1_704_067_200_000;

export class Gates {
  locked = false;
  /** Bytes to which the WebAssembly memory may grow. */
  maxBytes = Infinity;
  /** In the milliseconds of `performance.now()`. */
  deadline = Infinity;
  #entropy = 0;
  readonly #memory: Memory;

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** The stream of chance is the same in every call. */
  resetEntropy(): void {
    this.#entropy = 0x9e3779b9;
  }

  /** Replaces the imports in place. */
  close(imports: Record<string, Record<string, unknown>>): void {
    for (const space of ["env", "wasi_snapshot_preview1"]) {
      const functions = imports[space]!;
      for (const [name, original] of Object.entries(functions)) {
        // Emscripten's trampolines call nothing but WebAssembly's own table.
        if (name.startsWith("invoke_")) continue;
        // Emscripten keeps a function's signature on it, and needs it where the address of the function is taken.
        if (typeof original === "function") functions[name] = Object.assign(this.#gate(name, original), original);
        // Suspends the caller until a promise of the host resolves.
        else if (isSuspending(original)) functions[name] = () => this.#refuse(name);
      }
    }
  }

  #gate(name: string, unmarked: Function): Function {
    const original = this.#marking(name, unmarked);
    if (PURE.has(name)) return original;
    const policy = this.#policies[name];
    if (policy) return (...args: number[]) => policy(original as (...args: number[]) => unknown, args, this.locked);
    const kind = name.startsWith("__syscall_") ? -ENOSYS : name.startsWith("fd_") ? EBADF : undefined;
    const answer = kind === undefined ? () => this.#refuse(name) : () => kind;
    return (...args: unknown[]) => (this.locked ? answer() : (original as (...args: unknown[]) => unknown)(...args));
  }

  /** Emscripten's functions write to the memory from JavaScript, which leaves no marks by itself. */
  #marking(name: string, original: Function): Function {
    if (WRITES_NOTHING.has(name)) return original;
    return (...args: number[]) => {
      const writes = WRITES[name];
      if (writes) this.#memory.wrote(args.at(writes.argument)! >>> 0, writes.bytes);
      else if (name === "fd_read") this.#markRead(args[1]! >>> 0, args[2]!, args[3]! >>> 0);
      else if (this.locked) this.#memory.wroteAnywhere();
      const result = (original as (...args: number[]) => unknown)(...args);
      if (writes?.bytes === STAT_BYTES && result === 0) this.#stopTimes(args.at(writes.argument)! >>> 0);
      return result;
    };
  }

  /** A `struct stat` holds when the file was read and written last: when this process began. */
  #stopTimes(stat: number): void {
    const view = this.#memory.view();
    for (const offset of STAT_TIMES) {
      view.setBigInt64(stat + offset, BigInt(NOW_MS / 1_000), true);
      view.setUint32(stat + offset + 8, 0, true);
    }
  }

  #markRead(vectors: number, count: number, read: number): void {
    // What is read into the first may change where the next one lies.
    if (count !== 1) return this.#memory.wroteAnywhere();
    // Emscripten reads words, whatever the address.
    const first = vectors - (vectors % 4);
    const view = this.#memory.view();
    this.#memory.wrote(view.getUint32(first, true), view.getUint32(first + 4, true));
    this.#memory.wrote(read, 4);
  }

  #refuse(name: string): never {
    throw new Forbidden(`the program called the host's ${name}`);
  }

  #path(pointer: number): string {
    const bytes = this.#memory.bytes();
    const end = bytes.indexOf(0, pointer);
    return new TextDecoder().decode(bytes.subarray(pointer, Math.min(end, pointer + 4_096)));
  }

  #inStdlib(pointer: number): boolean {
    return this.#path(pointer) === STDLIB;
  }

  #fill(pointer: number, size: number): void {
    this.#memory.wrote(pointer, size);
    const bytes = this.#memory.bytes();
    for (let i = 0; i < size; i++) {
      // xorshift32
      this.#entropy ^= this.#entropy << 13;
      this.#entropy ^= this.#entropy >>> 17;
      this.#entropy ^= this.#entropy << 5;
      bytes[pointer + i] = this.#entropy & 255;
    }
  }

  readonly #policies: Record<
    string,
    (original: (...args: number[]) => unknown, args: number[], locked: boolean) => unknown
  > = {
    // CPython asks this every few dozen jumps and calls whether a signal has come.
    _Py_CheckEmscriptenSignals_Helper: () => {
      if (performance.now() > this.deadline) throw new Expired("the call's time is up");
      return 0;
    },
    clock_time_get: (_original, args) => {
      const pointer = args.at(-1)! >>> 0;
      this.#memory.wrote(pointer, 8);
      this.#memory.view().setBigUint64(pointer, BigInt(NOW_MS) * 1_000_000n, true);
      return 0;
    },
    emscripten_get_now: () => 0,
    emscripten_date_now: () => NOW_MS,
    random_get: (_original, [pointer, size]) => {
      this.#fill(pointer! >>> 0, size!);
      return 0;
    },
    getentropy: (_original, [pointer, size]) => {
      this.#fill(pointer! >>> 0, size!);
      return 0;
    },
    _emscripten_system: () => -1,
    getaddrinfo: (original, args, locked) => (locked ? EAI_FAIL : original(...args)),
    emscripten_resize_heap: (original, [size]) => (size! >>> 0 > this.maxBytes ? 0 : original(size!)),
    __syscall_openat: (original, args, locked) => {
      if (!locked) return original(...args);
      if (!this.#inStdlib(args[1]!)) return -ENOENT;
      return (args[2]! & O_ACCMODE) === 0 && (args[2]! & O_CREAT_TRUNC) === 0 ? original(...args) : -EROFS;
    },
    __syscall_stat64: (original, args, locked) => (!locked || this.#inStdlib(args[0]!) ? original(...args) : -ENOENT),
    __syscall_lstat64: (original, args, locked) => (!locked || this.#inStdlib(args[0]!) ? original(...args) : -ENOENT),
    __syscall_newfstatat: (original, args, locked) =>
      !locked || this.#inStdlib(args[1]!) ? original(...args) : -ENOENT,
    __syscall_ioctl: (original, args, locked) => (locked ? -ENOTTY : original(...args)),
    fd_read: (original, args, locked) => (locked && args[0]! < 3 ? EBADF : original(...args)),
    fd_seek: (original, args, locked) => (locked && args[0]! < 3 ? EBADF : original(...args)),
    fd_close: (original, args, locked) => (locked && args[0]! < 3 ? EBADF : original(...args)),
    // What a program prints it prints through sys.stdout, which is kept in its memory; this is fatal errors, and os.write.
    fd_write: (original, args, locked) => {
      if (!locked) return original(...args);
      const [fd, vectors, count, written] = args.map((arg) => arg >>> 0) as [number, number, number, number];
      if (fd !== 1 && fd !== 2) return EBADF;
      const view = this.#memory.view();
      let size = 0;
      for (let i = 0; i < count; i++) size += view.getUint32(vectors + 8 * i + 4, true);
      this.#memory.wrote(written, 4);
      view.setUint32(written, size, true);
      return 0;
    },
  };
}

/** Answer from their arguments and the WebAssembly memory alone. */
const PURE = new Set([
  "_PyEM_TrampolineCall_JS",
  "_Py_emscripten_runtime",
  "__syscall_fstat64",
  "__syscall_getcwd",
  "_gmtime_js",
  "_localtime_js",
  "_mktime_js",
  "_timegm_js",
  "_tzset_js",
  "environ_get",
  "environ_sizes_get",
  "fd_fdstat_get",
  "clock_res_get",
  "emscripten_get_heap_max",
]);

/** Of what is let through once the gates are locked. */
const WRITES_NOTHING = new Set([
  "_PyEM_TrampolineCall_JS",
  "__syscall_openat",
  "emscripten_get_heap_max",
  "emscripten_resize_heap",
  "fd_close",
]);

/** No less than the sizes of `struct stat` and `struct tm`. */
const STAT_BYTES = 128;
const DATE_BYTES = 64;
/** In a `struct stat`, of access, change and creation: seconds in 64 bits, nanoseconds in 32. */
const STAT_TIMES = [40, 56, 72];

/** Those that write a structure: where its address is, counted from the last argument, and how much it is at most. */
const WRITES: Readonly<Record<string, { argument: number; bytes: number }>> = {
  _gmtime_js: { argument: -1, bytes: DATE_BYTES },
  _localtime_js: { argument: -1, bytes: DATE_BYTES },
  _mktime_js: { argument: -1, bytes: DATE_BYTES },
  _timegm_js: { argument: -1, bytes: DATE_BYTES },
  __syscall_stat64: { argument: -1, bytes: STAT_BYTES },
  __syscall_lstat64: { argument: -1, bytes: STAT_BYTES },
  __syscall_fstat64: { argument: -1, bytes: STAT_BYTES },
  __syscall_newfstatat: { argument: -2, bytes: STAT_BYTES },
  fd_seek: { argument: -1, bytes: 8 },
};

function isSuspending(value: unknown): boolean {
  const { Suspending } = (globalThis as unknown as { WebAssembly: { Suspending?: Function } }).WebAssembly;
  return Suspending !== undefined && value instanceof Suspending;
}
