/** The planner's weights as inference wants them: packed for the product, with everything that depends on the tools alone made once. */

import { type PlannerConfig, plannerLayout } from "../planner.ts";
import { transposed } from "./attend.ts";
import { columnBlock, createKernel, type Kernel, pack, type Packed, roundUp, rowBlock } from "./simd.ts";

export interface InferenceOptions {
  /** [N] embeddings of the tools' descriptions. */
  tools: readonly Float32Array[];
  /** [N] place of the tool's own vector, −1: none. */
  knownRows?: readonly number[] | undefined;
  /** Episodes at once. */
  capacity: number;
}

export interface PackedLayer {
  qkv: Packed;
  out: Packed;
  up: Packed;
  down: Packed;
}

type Text = "task" | "pattern" | "output";

export interface PackedPlanner {
  kernel: Kernel;
  tools: number;
  /** Rows of one product at most. */
  rowCapacity: number;
  /** Buffers of a pass: rows of D (`x`, `normal`, `seen`), of the widest layer (`wide`), of the tools (`logits`). */
  rooms: Record<"x" | "normal" | "seen" | "wide" | "logits", Float32Array>;
  layers: PackedLayer[];
  text: Record<Text, Packed>;
  heads: Packed;
  /** [D, N+1]; STOP is the last. */
  toolKeys: Packed;
  /** [E, N]: a product with it is the cosine with every description. */
  descriptions: Packed;
  /** [N, D] what a call of each tool adds to a token. */
  calls: Float32Array;
  part: (name: string) => Float32Array;
  /** @param texts at most `rowCapacity`; undefined is zeros. @returns `wide`, which the next call overwrites */
  project: (texts: readonly (Float32Array | undefined)[], by: Packed) => Float32Array;
}

/** @param weights are kept. @param rows that a pass must have room for. */
export function packPlanner(
  config: PlannerConfig,
  weights: Float32Array,
  { tools, knownRows }: InferenceOptions,
  rows: number,
): PackedPlanner {
  const { width, embedding, layers, knownTools } = config;
  const layout = plannerLayout(config);
  const part = (name: string) => layout.part(weights, name);
  const rowCapacity = roundUp(Math.max(rows, Math.min(tools.length, 256)), rowBlock);
  const actions = roundUp(tools.length + 1, columnBlock);
  const widest = Math.max(4 * width, actions, roundUp(2 * width + 3, columnBlock));
  const buffers = rowCapacity * (3 * width + widest + actions + embedding);
  // Every matrix once, descriptions and keys beside them, and some for columns that are rounded up.
  const numbers = layout.size + (embedding + width) * actions + buffers;
  const kernel = createKernel(4 * (1.1 * numbers + 100_000));
  const rooms = {
    x: kernel.allocate(rowCapacity * width),
    normal: kernel.allocate(rowCapacity * width),
    seen: kernel.allocate(rowCapacity * width),
    wide: kernel.allocate(rowCapacity * widest),
    logits: kernel.allocate(rowCapacity * actions),
  };
  const room = kernel.allocate(rowCapacity * embedding);
  const dense = (name: string, inputs: number, outputs: number) =>
    pack(kernel, part(`${name}/weights`), part(`${name}/bias`), inputs, outputs);

  function project(texts: readonly (Float32Array | undefined)[], by: Packed): Float32Array {
    for (const [row, text] of texts.entries()) {
      if (text) room.set(text, row * embedding);
      else room.fill(0, row * embedding, (row + 1) * embedding);
    }
    kernel.product(room, by, rooms.wide, texts.length);
    return rooms.wide;
  }

  /** Descriptions projected by `name`, with each known tool's own vector; [N, D]. */
  function toolVectors(name: string, own: string): Float32Array {
    const by = dense(name, embedding, width);
    const out = new Float32Array(tools.length * width);
    for (let from = 0; from < tools.length; from += rowCapacity) {
      const some = tools.slice(from, from + rowCapacity);
      out.set(project(some, by).subarray(0, some.length * width), from * width);
    }
    if (knownTools === 0) return out;
    const vectors = part(own);
    for (let j = 0; j < tools.length; j++) {
      const row = knownRows?.[j] ?? -1;
      if (row >= 0) for (let d = 0; d < width; d++) out[j * width + d]! += vectors[row * width + d]!;
    }
    return out;
  }

  function toolKeys(): Packed {
    const keys = toolVectors("key", "known/key");
    const columns = tools.map((_, j) => keys.subarray(j * width, (j + 1) * width));
    return pack(kernel, transposed([...columns, part("stop/key")], width), undefined, width, columns.length + 1);
  }

  return {
    kernel,
    tools: tools.length,
    rowCapacity,
    rooms,
    layers: Array.from({ length: layers }, (_, layer) => ({
      qkv: dense(`trunk/${layer}/qkv`, width, 3 * width),
      out: dense(`trunk/${layer}/out`, width, width),
      up: dense(`trunk/${layer}/up`, width, 4 * width),
      down: dense(`trunk/${layer}/down`, 4 * width, width),
    })),
    text: {
      task: dense("task", embedding, width),
      pattern: dense("pattern", embedding, width),
      output: dense("output", embedding, width),
    },
    heads: dense("heads", width, 2 * width + 3),
    toolKeys: toolKeys(),
    descriptions: pack(kernel, transposed(tools, embedding), undefined, embedding, tools.length),
    calls: toolVectors("tool", "known/call"),
    part,
    project,
  };
}
