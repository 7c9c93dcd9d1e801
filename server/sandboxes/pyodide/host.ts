/** How does CPython come up inside this process, with every door to the process closed? */

import { constants, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { loadPyodide as LoadPyodide } from "pyodide";
import { Gates } from "./gates.ts";
import { MARKS, withMarks } from "./marks.ts";
import { Memory } from "./memory.ts";

/** The part of CPython's C interface that carries a call. Pointers are numbers. */
export interface CPython {
  _PyBytes_FromStringAndSize(bytes: number, size: number): number;
  _PyBytes_AsString(object: number): number;
  _PyBytes_Size(object: number): number;
  _PyObject_Vectorcall(callable: number, args: number, count: number, names: number): number;
  _Py_DecRef(object: number): void;
  _malloc(size: number): number;
  _free(pointer: number): void;
  _sbrk(increment: number): number;
  stackSave(): number;
  stackRestore(pointer: number): void;
  /** Address of the flag that makes CPython look for signals. */
  _Py_EMSCRIPTEN_SIGNAL_HANDLING: number;
  HEAPU8: Uint8Array;
  FS: { streams: unknown[]; closeStream: (this: void, fd: number) => void };
}

type Imports = Record<string, Record<string, unknown>>;

/** What is used of it; the types of Node declare it without values. */
interface WebAssemblyNamespace {
  instantiate: (source: unknown, imports?: Imports) => Promise<{ instance?: { exports: Record<string, unknown> } }>;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports?: Imports) => object;
}

export interface Python {
  module: CPython;
  memory: Memory;
  gates: Gates;
  /** Addresses of the bridge's functions. */
  load: number;
  call: number;
  settle: number;
}

/**
 * What CPython's memory is once it has started and imported what programs commonly use: the same bytes in each process.
 * Takes some seconds, where {@link bootPython} needs a fraction of one.
 */
export async function makeSnapshot(): Promise<Uint8Array> {
  const memory = new Memory();
  const pyodide = await start(memory, new Gates(memory), { _makeSnapshot: true });
  const source = readFileSync(fileURLToPath(new URL("./bridge.py", import.meta.url)), "utf8");
  pyodide.runPython(
    `import builtins, sys, types
bridge = sys.modules["trailgym_bridge"] = types.ModuleType("trailgym_bridge")
# Builtins of its own: a program that replaces one replaces its own.
bridge.__dict__["__builtins__"] = dict(vars(builtins))
exec(compile(${JSON.stringify(source)}, "trailgym_bridge.py", "exec"), bridge.__dict__)
del bridge, builtins, sys, types`,
  );
  return pyodide.makeMemorySnapshot();
}

/** @param snapshot of {@link makeSnapshot}, from a process with the same files */
export async function bootPython(snapshot: Uint8Array): Promise<Python> {
  const memory = new Memory();
  const gates = new Gates(memory);
  const pyodide = await start(memory, gates, { _loadSnapshot: snapshot });
  const module = pyodide._module;
  const addresses = pyodide.runPython('__import__("trailgym_bridge").ready()') as string;
  const [load, call, settle] = addresses.split(" ").map(Number) as [number, number, number];
  module.HEAPU8[module._Py_EMSCRIPTEN_SIGNAL_HANDLING] = 1;
  gates.locked = true;
  return { module, memory, gates, load, call, settle };
}

interface Pyodide {
  _module: CPython;
  runPython(source: string): unknown;
  makeMemorySnapshot(): Uint8Array;
}

async function start(
  memory: Memory,
  gates: Gates,
  how: { _makeSnapshot: true } | { _loadSnapshot: Uint8Array },
): Promise<Pyodide> {
  // Node's permission model, which keeps this process from files, processes and add-ons, refuses an old call by which
  // Emscripten asks for the numbers of file flags.
  Object.assign(process, { binding: () => ({ fs: constants }) });
  const release = takeOver(memory, gates);
  // Emscripten would write the names of this program and its arguments to the memory.
  const { argv } = process;
  process.argv = argv.slice(0, 1);
  try {
    const { loadPyodide } = (await import("pyodide")) as { loadPyodide: typeof LoadPyodide };
    const pyodide = await loadPyodide({
      jsglobals: {},
      env: { HOME: "/", PYTHONHASHSEED: "0", LANG: "en_US.UTF-8", TZ: "UTC", PYTHONDONTWRITEBYTECODE: "1" },
      stdout: () => {},
      stderr: () => {},
      ...how,
    });
    return pyodide as unknown as Pyodide;
  } finally {
    process.argv = argv;
    release();
  }
}

/** Until it is released, whatever WebAssembly is compiled with a memory gets marks, and CPython itself its gates. */
function takeOver(memory: Memory, gates: Gates): () => void {
  const wasm = (globalThis as unknown as { WebAssembly: WebAssemblyNamespace }).WebAssembly;
  const { instantiate, Module, Instance } = wasm;
  let marks: unknown;
  wasm.instantiate = async (source, imports) => {
    if (imports?.["wasi_snapshot_preview1"] === undefined) return instantiate(source, imports);
    gates.close(imports);
    const result = await instantiate(withMarks(new Uint8Array(source as ArrayBuffer)), imports);
    const { exports } = result.instance!;
    marks = exports[MARKS];
    memory.attach(exports);
    return result;
  };
  // Beside CPython's own module there is one more that stores to its memory: a trampoline for calls of any signature.
  wasm.Module = new Proxy(Module, {
    construct: (target, [bytes]: [Uint8Array]) => new target(withMarks(bytes)),
  });
  wasm.Instance = new Proxy(Instance, {
    construct: (target, [module, imports]: [object, Imports?]) =>
      new target(module, imports && { ...imports, env: { ...imports["env"], [MARKS]: marks } }),
  });
  return () => void Object.assign(wasm, { instantiate, Module, Instance });
}
