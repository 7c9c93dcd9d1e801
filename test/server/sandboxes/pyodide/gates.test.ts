/** What Emscripten writes to the memory from JavaScript leaves no marks by itself: do the gates leave them in its place? */

import { beforeEach, describe, expect, it } from "vitest";
import { Gates } from "../../../../server/sandboxes/pyodide/gates.ts";
import { MARKS } from "../../../../server/sandboxes/pyodide/marks.ts";
import { Memory } from "../../../../server/sandboxes/pyodide/memory.ts";
import { BLOCK_BITS } from "../../../../server/sandboxes/pyodide/stores.ts";

const BLOCK = 2 ** BLOCK_BITS;
const BLOCKS = 128;
const PATH = "/lib/python314.zip";
/** An address, at the end of a block, and the blocks that up to 100 bytes there lie in. */
const AT = 12 * BLOCK - 4;

let raw: Uint8Array;
let memory: Memory;
let imports: Record<string, Record<string, (...args: unknown[]) => unknown>>;

beforeEach(() => {
  raw = new Uint8Array(BLOCKS * BLOCK);
  raw.set(Buffer.from(PATH), 100);
  // A vector for fd_read: a little into block 20, and to the end of block 22.
  new DataView(raw.buffer).setUint32(200, 20 * BLOCK + 5, true);
  new DataView(raw.buffer).setUint32(204, 3 * BLOCK - 5, true);
  memory = new Memory();
  memory.attach({ memory: { buffer: raw.buffer }, [MARKS]: { buffer: new ArrayBuffer(2 ** (32 - BLOCK_BITS)) } });
  const original = () => 0;
  const named = (...names: string[]) => Object.fromEntries(names.map((name) => [name, original]));
  imports = {
    env: named(
      ...["_localtime_js", "_gmtime_js", "_mktime_js", "_timegm_js", "_tzset_js", "_Py_emscripten_runtime"],
      ...["__syscall_stat64", "__syscall_lstat64", "__syscall_newfstatat", "__syscall_fstat64", "__syscall_getcwd"],
      ...["__syscall_openat", "emscripten_resize_heap", "_Py_CheckEmscriptenSignals_Helper", "emscripten_get_now"],
      ...["hiwire_something", "__syscall_unknown"],
    ),
    wasi_snapshot_preview1: named(
      ...["clock_time_get", "clock_res_get", "random_get", "environ_get", "environ_sizes_get"],
      ...["fd_read", "fd_seek", "fd_close", "fd_write", "fd_fdstat_get", "fd_pread"],
    ),
  };
  const gates = new Gates(memory);
  gates.close(imports);
  gates.locked = true;
});

function markedBy(name: string, args: unknown[]): number[] {
  try {
    (imports["env"]![name] ?? imports["wasi_snapshot_preview1"]![name]!)(...args);
  } catch (error) {
    expect((error as Error).name).toBe("Forbidden");
  }
  const blocks: number[] = [];
  memory.takeWritten((from, to) => {
    for (let at = from; at + BLOCK <= to; at += BLOCK) blocks.push(at / BLOCK);
  });
  return blocks;
}

describe("a gate", () => {
  it.each([
    ["clock_time_get", [0, 0n, AT], [11, 12]],
    ["random_get", [AT, 3], [11]],
    ["random_get", [AT, 5], [11, 12]],
    ["_localtime_js", [0n, AT], [11, 12]],
    ["_gmtime_js", [0n, AT], [11, 12]],
    ["_mktime_js", [AT], [11, 12]],
    ["_timegm_js", [AT], [11, 12]],
    ["__syscall_stat64", [100, AT], [11, 12]],
    ["__syscall_lstat64", [100, AT], [11, 12]],
    ["__syscall_newfstatat", [0, 100, AT, 0], [11, 12]],
    ["__syscall_fstat64", [5, AT], [11, 12]],
    ["fd_seek", [5, 0n, 0, AT + 4], [12]],
    ["fd_read", [5, 200, 1, AT + 4], [12, 20, 21, 22]],
    ["fd_read", [5, 203, 1, AT + 4], [12, 20, 21, 22]],
    ["fd_write", [1, 0, 0, AT + 4], [12]],
  ])("marks what %s writes", (name, args, blocks) => {
    expect(markedBy(name, args)).toEqual(blocks);
  });

  it.each([
    ["fd_read", [5, 200, 2, 0]],
    ["__syscall_getcwd", [0, 100]],
    ["fd_fdstat_get", [5, 0]],
    ["clock_res_get", [0, 0]],
    ["environ_get", [0, 0]],
    ["environ_sizes_get", [0, 0]],
    ["_tzset_js", [0, 0, 0, 0]],
    ["_Py_emscripten_runtime", []],
  ])("takes everything for written when %s has written somewhere", (name, args) => {
    expect(markedBy(name, args)).toHaveLength(BLOCKS);
  });

  it.each([
    ["__syscall_openat", [0, 100, 0, 0]],
    ["__syscall_stat64", [0, 0]],
    ["fd_close", [5]],
    ["emscripten_resize_heap", [0]],
    ["emscripten_get_now", []],
    ["_Py_CheckEmscriptenSignals_Helper", []],
    ["fd_pread", [5, 0, 0, 0n, 0]],
    ["hiwire_something", [0]],
    ["__syscall_unknown", [0]],
  ])("has nothing to mark for %s, which writes nothing or is not let through", (name, args) => {
    expect(markedBy(name, args)).toEqual([]);
  });

  it("tells no program when its process began, in the times of a file", () => {
    markedBy("__syscall_stat64", [100, 800]);
    const view = new DataView(raw.buffer, 800);
    const times = [40, 56, 72].map((offset) => [view.getBigInt64(offset, true), view.getUint32(offset + 8, true)]);
    expect(times).toEqual(Array(3).fill([BigInt(Date.UTC(2024, 0)) / 1_000n, 0]));
  });

  it("leaves no mark out for an address beyond 2 GiB, which WebAssembly passes as a negative number", () => {
    memory.takeWritten(() => undefined);
    // From 4 bytes before 4 GiB, and not on from 0.
    expect(markedBy("random_get", [-4, 100])).toEqual([]);
    expect(raw.subarray(0, 100).every((byte) => byte === 0)).toBe(true);
  });
});
