/**
 * Has a call changed anything that outlives it? CPython itself tells: it calls back when a watched dict (every module's
 * namespace) or a watched class is modified, when a function's code is exchanged, and at each event of its audit. That costs
 * nothing while nothing changes, and the answer is kept on this side, where no program can reach it.
 */

import type { Memory } from "./gates.ts";

export interface WatcherExports {
  addFunction(callback: (...args: number[]) => number, signature: string): number;
  _PyDict_AddWatcher(callback: number): number;
  _PyDict_Watch(watcher: number, dict: number): number;
  _PyType_AddWatcher(callback: number): number;
  _PyType_Watch(watcher: number, type: number): number;
  _PyFunction_AddWatcher(callback: number): number;
  _PySys_AddAuditHook(callback: number, data: number): number;
  _PyErr_Clear(): void;
}

/** Events of PyFunction_WatchEvent that say nothing: a function is made, or dies. */
const FUNCTION_CREATED = 0;
const FUNCTION_DESTROYED = 1;
/** A watched dict dies. */
const DICT_DEALLOCATED = 5;

/** Audit events after which nothing is different. Any other, known or not, counts as a change. */
const HARMLESS = new Set([
  "builtins.id",
  "compile",
  "exec",
  "import",
  "marshal.loads",
  "marshal.dumps",
  "object.__getattr__",
  "open",
  "os.listdir",
  "os.scandir",
  "pickle.find_class",
  "sys._getframe",
  "sys._getframemodulename",
  "sys._current_frames",
  "sys.excepthook",
  "sys.unraisablehook",
  "code.__new__",
  "function.__new__",
  "time.sleep",
]);

export class Watchers {
  changed = false;
  readonly #module: WatcherExports;
  readonly #memory: Memory;
  readonly #dicts: number;
  readonly #types: number;

  constructor(module: WatcherExports, memory: Memory) {
    this.#module = module;
    this.#memory = memory;
    const change = () => {
      this.changed = true;
      return 0;
    };
    this.#dicts = module._PyDict_AddWatcher(
      module.addFunction((event) => (event === DICT_DEALLOCATED ? 0 : change()), "iiiii"),
    );
    this.#types = module._PyType_AddWatcher(module.addFunction(change, "ii"));
    module._PyFunction_AddWatcher(
      module.addFunction(
        (event) => (event === FUNCTION_CREATED || event === FUNCTION_DESTROYED ? 0 : change()),
        "iiii",
      ),
    );
    module._PySys_AddAuditHook(
      module.addFunction((event = 0) => (HARMLESS.has(this.#text(event)) ? 0 : change()), "iiii"),
      0,
    );
  }

  /** @param addresses of dicts, a comma, of classes. */
  watch(addresses: string): void {
    const [dicts, types] = addresses.split(",").map((list) => list.split(" ").filter(Boolean).map(Number));
    for (const dict of dicts!) this.#module._PyDict_Watch(this.#dicts, dict);
    // Static types cannot change, and some refuse to be watched.
    for (const type of types!) if (this.#module._PyType_Watch(this.#types, type) < 0) this.#module._PyErr_Clear();
  }

  #text(pointer: number): string {
    const bytes = this.#memory.bytes();
    return new TextDecoder().decode(bytes.subarray(pointer, bytes.indexOf(0, pointer)));
  }
}
