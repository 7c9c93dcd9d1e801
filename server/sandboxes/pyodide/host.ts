/** How does CPython come up inside this process, with every door to the process closed? */

import { constants, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { loadPyodide as LoadPyodide } from "pyodide";
import { Gates, type Memory } from "./gates.ts";
import { Watchers, type WatcherExports } from "./watchers.ts";

/** The part of CPython's C interface that carries a call. Pointers are numbers. */
export interface CPython extends WatcherExports {
  _PyBytes_FromStringAndSize(bytes: number, size: number): number;
  _PyBytes_AsString(object: number): number;
  _PyBytes_Size(object: number): number;
  _PyObject_Vectorcall(callable: number, args: number, count: number, names: number): number;
  _Py_DecRef(object: number): void;
  _PyErr_Clear(): void;
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

/** What is used of it; the types of Node declare it without values. */
interface WebAssemblyNamespace {
  instantiate(
    source: unknown,
    imports?: Record<string, Record<string, unknown>>,
  ): Promise<{ instance?: { exports: Record<string, unknown> } }>;
}

export interface Python {
  module: CPython;
  memory: Memory;
  gates: Gates;
  watchers: Watchers;
  /** Addresses of the bridge's functions and of the `random` module's generator. */
  load: number;
  call: number;
  watched: number;
  random: number;
}

export async function bootPython(): Promise<Python> {
  // Node's permission model, which keeps this process from files, processes and add-ons, refuses an old call by which
  // Emscripten asks for the numbers of file flags.
  Object.assign(process, { binding: () => ({ fs: constants }) });

  let raw: { buffer: ArrayBuffer } | undefined;
  // Growing gives the memory another buffer, so nobody may keep one.
  const memory: Memory = {
    bytes: () => new Uint8Array(raw!.buffer),
    view: () => new DataView(raw!.buffer),
  };
  const gates = new Gates(memory);
  const wasm = (globalThis as unknown as { WebAssembly: WebAssemblyNamespace }).WebAssembly;
  const instantiate = wasm.instantiate.bind(wasm);
  wasm.instantiate = async (source, imports) => {
    const main = imports?.["wasi_snapshot_preview1"] !== undefined;
    if (main) gates.close(imports);
    const result = await instantiate(source, imports);
    if (main) raw = result.instance!.exports["memory"] as { buffer: ArrayBuffer };
    return result;
  };
  const { loadPyodide } = (await import("pyodide")) as { loadPyodide: typeof LoadPyodide };
  const pyodide = await loadPyodide({
    jsglobals: {},
    env: { HOME: "/", PYTHONHASHSEED: "0", LANG: "en_US.UTF-8", TZ: "UTC", PYTHONDONTWRITEBYTECODE: "1" },
    stdout: () => {},
    stderr: () => {},
  });
  wasm.instantiate = instantiate;
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
" ".join(str(id(x)) for x in (_bridge.load, _bridge.call, _bridge.watched, _bridge.random._inst))`,
  ) as string;
  const [load, call, watched, random] = addresses.split(" ").map(Number) as [number, number, number, number];
  module.HEAPU8[module._Py_EMSCRIPTEN_SIGNAL_HANDLING] = 1;
  gates.locked = true;
  return { module, memory, gates, watchers: new Watchers(module, memory), load, call, watched, random };
}
