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

export async function bootPython(): Promise<Python> {
  // Node's permission model, which keeps this process from files, processes and add-ons, refuses an old call by which
  // Emscripten asks for the numbers of file flags.
  Object.assign(process, { binding: () => ({ fs: constants }) });

  const memory = new Memory();
  const gates = new Gates(memory);
  const release = takeOver(memory, gates);
  const { loadPyodide } = (await import("pyodide")) as { loadPyodide: typeof LoadPyodide };
  const pyodide = await loadPyodide({
    jsglobals: {},
    env: { HOME: "/", PYTHONHASHSEED: "0", LANG: "en_US.UTF-8", TZ: "UTC", PYTHONDONTWRITEBYTECODE: "1" },
    stdout: () => {},
    stderr: () => {},
  });
  release();
  const module = (pyodide as unknown as { _module: CPython })._module;

  const source = readFileSync(fileURLToPath(new URL("./bridge.py", import.meta.url)), "utf8");
  const addresses = pyodide.runPython(
    `import types as _t
import builtins as _b
_bridge = _t.ModuleType("trailgym_bridge")
# Builtins of its own: a program that replaces one replaces its own.
_bridge.__dict__["__builtins__"] = dict(vars(_b))
exec(compile(${JSON.stringify(source)}, "trailgym_bridge.py", "exec"), _bridge.__dict__)
import sys as _s
_s.modules["trailgym_bridge"] = _bridge
" ".join(str(id(x)) for x in (_bridge.load, _bridge.call, _bridge.settle))`,
  ) as string;
  const [load, call, settle] = addresses.split(" ").map(Number) as [number, number, number];
  module.HEAPU8[module._Py_EMSCRIPTEN_SIGNAL_HANDLING] = 1;
  gates.locked = true;
  return { module, memory, gates, load, call, settle };
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
