/**
 * How are many decisions inferred at once without a backend? By one matrix product in WebAssembly with 128-bit SIMD, four rows
 * by eight columns at a time, assembled here from its instructions; where SIMD is missing the same sums are made in JavaScript.
 *
 * Weights are packed in panels of eight columns: panel p holds w[k][8p … 8p+7] for k = 0 … K-1, one after another.
 */

/** The part of WebAssembly used here; its types are a browser's, which this project does not load. */
interface Wasm {
  Memory: new (limits: { initial: number }) => { buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, (...args: number[]) => void> };
  validate(bytes: Uint8Array): boolean;
}

const wasm = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly;

/** Float32 memory that the product works on; everything that it reads and writes lies here. */
export interface Kernel {
  readonly simd: boolean;
  /** Zeroed. @param rows, columns a matrix; rows are rounded up to 4. Freed with the kernel. */
  allocate(size: number): Float32Array;
  /**
   * c = x W + bias, then max(0, ·) with `relu`. Writes rows rounded up to a multiple of 4.
   * @param x [rows, inputs]. @param c [rows, w.columns]
   */
  product(x: Float32Array, w: Packed, c: Float32Array, rows: number, relu?: boolean): void;
}

export interface Packed {
  inputs: number;
  /** Rounded up to a multiple of 8; columns beyond the real ones give 0. */
  columns: number;
  panels: Float32Array;
  bias: Float32Array;
}

export const rowBlock = 4;
export const columnBlock = 8;

export function roundUp(value: number, block: number): number {
  return Math.ceil(value / block) * block;
}

/** @param bytes of memory in all. */
export function createKernel(bytes: number, simd = hasSimd()): Kernel {
  const pages = Math.ceil(bytes / 65536) + 1;
  const memory = new wasm.Memory({ initial: pages });
  let next = 0;
  const allocate = (size: number): Float32Array => {
    const at = next;
    next = roundUp(next + size * 4, 64);
    if (next > memory.buffer.byteLength) throw new RangeError(`${bytes} bytes are not enough`);
    return new Float32Array(memory.buffer, at, size);
  };
  if (!simd) return { simd, allocate, product: plainProduct };
  const instance = new wasm.Instance(compiled(), { e: { m: memory } });
  const call = instance.exports.p as (...args: number[]) => void;
  return {
    simd,
    allocate,
    product(x, w, c, rows, relu = false) {
      const padded = roundUp(rows, rowBlock);
      if (x.length < padded * w.inputs || c.length < padded * w.columns) throw new RangeError("a buffer is too short");
      call(
        ...[x, w.panels, w.bias, c].map((array) => array.byteOffset),
        ...[padded, w.inputs, w.columns, relu ? 1 : 0],
      );
    },
  };
}

/** @param weights [inputs, columns]. @param bias [columns]. @returns in the kernel's memory. */
export function pack(
  kernel: Kernel,
  weights: Float32Array,
  bias: Float32Array | undefined,
  inputs: number,
  columns: number,
): Packed {
  const padded = roundUp(columns, columnBlock);
  const packed = {
    inputs,
    columns: padded,
    panels: kernel.allocate(inputs * padded),
    bias: kernel.allocate(padded),
  };
  if (bias) packed.bias.set(bias);
  for (let j = 0; j < columns; j++) {
    const panel = Math.floor(j / columnBlock) * inputs * columnBlock + (j % columnBlock);
    for (let k = 0; k < inputs; k++) packed.panels[panel + k * columnBlock] = weights[k * columns + j] as number;
  }
  return packed;
}

function plainProduct(x: Float32Array, w: Packed, c: Float32Array, rows: number, relu = false): void {
  const { inputs, columns, panels, bias } = w;
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j += 4) {
      const panel = Math.floor(j / columnBlock) * inputs * columnBlock + (j % columnBlock);
      let [a, b, d, e] = [bias[j]!, bias[j + 1]!, bias[j + 2]!, bias[j + 3]!];
      for (let k = 0, at = panel; k < inputs; k++, at += columnBlock) {
        const value = x[i * inputs + k]!;
        a += value * panels[at]!;
        b += value * panels[at + 1]!;
        d += value * panels[at + 2]!;
        e += value * panels[at + 3]!;
      }
      const out = i * columns + j;
      c[out] = relu && a < 0 ? 0 : a;
      c[out + 1] = relu && b < 0 ? 0 : b;
      c[out + 2] = relu && d < 0 ? 0 : d;
      c[out + 3] = relu && e < 0 ? 0 : e;
    }
  }
}

let module: object | undefined;

function compiled(): object {
  module ??= new wasm.Module(Uint8Array.from(assembled()));
  return module;
}

export function hasSimd(): boolean {
  return wasm.validate(Uint8Array.from(assembled()));
}

/** The module: memory e.m imported, p(x, panels, bias, c, rows, inputs, columns, relu) exported. */
function assembled(): number[] {
  const i32 = 0x7f;
  const v128 = 0x7b;
  const section = (id: number, body: number[]) => [id, ...leb(body.length), ...body];
  const code = product();
  // 8 parameters, then pointers and counters, then 8 sums and 3 operands.
  const locals = [2, ...leb(pointers), i32, ...leb(11), v128];
  const body = [...locals, ...code, 0x0b];
  return [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 8, ...new Array<number>(8).fill(i32), 0]),
    ...section(2, [1, 1, 0x65, 1, 0x6d, 2, 0, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, 1, 0x70, 0, 0]),
    ...section(10, [1, ...leb(body.length), ...body]),
  ];
}

const pointers = 9;

function product(): number[] {
  const [x, panels, bias, c, rows, inputs, columns, relu] = [0, 1, 2, 3, 4, 5, 6, 7];
  const [i, j, k, px, pw, pb, pc, stride, width] = [8, 9, 10, 11, 12, 13, 14, 15, 16];
  const sum = (r: number, half: number) => 17 + r * 2 + half;
  const [w0, w1, splat] = [25, 26, 27];
  const four = [0, 1, 2, 3];
  const halves = [0, 1];

  const get = (local: number) => [0x20, ...leb(local)];
  const set = (local: number) => [0x21, ...leb(local)];
  const constant = (value: number) => [0x41, ...sleb(value)];
  const add = 0x6a;
  const multiply = 0x6c;
  const vector = (op: number) => [0xfd, ...leb(op)];
  const load = (offset: number) => [...vector(0), 2, ...leb(offset)];
  const loadSplat = [...vector(9), 2, 0];
  const store = (offset: number) => [...vector(11), 2, ...leb(offset)];
  const vectorAdd = vector(228);
  const vectorMultiply = vector(230);
  // f32x4.pmax(sum, 0) = 0 < sum ? … keeps −0 out, as max(0, x) does.
  const vectorMax = vector(233);
  const zero = [...vector(12), ...new Array<number>(16).fill(0)];
  const increase = (local: number, by: number[]) => [...get(local), ...by, add, ...set(local)];
  /** Runs at least once. */
  const loop = (body: number[], counter: number, by: number, limit: number) => [
    ...[0x03, 0x40],
    ...body,
    ...increase(counter, constant(by)),
    ...[...get(counter), ...get(limit), 0x48, 0x0d, 0, 0x0b],
  ];
  /** The address of row r of the block that starts at px. */
  const rowAddress = (base: number, pitch: number, r: number) => [
    ...get(base),
    ...(r === 0 ? [] : [...get(pitch), ...constant(r), multiply, add]),
  ];

  const inner = [
    ...get(pw),
    ...load(0),
    ...set(w0),
    ...get(pw),
    ...load(16),
    ...set(w1),
    ...four.flatMap((r) => [
      ...rowAddress(px, stride, r),
      ...loadSplat,
      ...set(splat),
      ...halves.flatMap((half) => [
        ...get(sum(r, half)),
        ...get(splat),
        ...get(half === 0 ? w0 : w1),
        ...vectorMultiply,
        ...vectorAdd,
        ...set(sum(r, half)),
      ]),
    ]),
    ...increase(px, constant(4)),
    ...increase(pw, constant(columnBlock * 4)),
  ];
  const positive = [
    ...get(relu),
    ...[0x04, 0x40],
    ...four.flatMap((r) =>
      halves.flatMap((half) => [...get(sum(r, half)), ...zero, ...vectorMax, ...set(sum(r, half))]),
    ),
    0x0b,
  ];
  const block = [
    ...four.flatMap((r) => halves.flatMap((half) => [...get(pb), ...load(half * 16), ...set(sum(r, half))])),
    ...[...get(x), ...get(i), ...get(stride), multiply, add, ...set(px)],
    ...[...constant(0), ...set(k)],
    ...loop(inner, k, 1, inputs),
    ...positive,
    ...[...get(c), ...get(i), ...get(width), multiply, add, ...get(j), ...constant(4), multiply, add, ...set(pc)],
    ...four.flatMap((r) =>
      halves.flatMap((half) => [...rowAddress(pc, width, r), ...get(sum(r, half)), ...store(half * 16)]),
    ),
    ...increase(pb, constant(columnBlock * 4)),
  ];
  const rowOfBlocks = [
    ...[...get(bias), ...set(pb), ...get(panels), ...set(pw), ...constant(0), ...set(j)],
    ...loop(block, j, columnBlock, columns),
  ];
  return [
    ...[...get(inputs), ...constant(4), multiply, ...set(stride)],
    ...[...get(columns), ...constant(4), multiply, ...set(width)],
    ...[...constant(0), ...set(i)],
    ...loop(rowOfBlocks, i, rowBlock, rows),
  ];
}

function leb(value: number): number[] {
  const low = value & 0x7f;
  return value > 0x7f ? [low | 0x80, ...leb(value >>> 7)] : [low];
}

/** Signed, of small numbers that are not negative. */
function sleb(value: number): number[] {
  const low = value & 0x7f;
  return value > 0x3f ? [low | 0x80, ...sleb(value >>> 7)] : [low];
}
