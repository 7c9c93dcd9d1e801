/**
 * What does the WebAssembly backend lack for the gradient of `gather`? The kernel UnsortedSegmentSum (tensorflow/tfjs#8082):
 * out[s] = Σ x[i] over the rows i with segmentIds[i] = s.
 */

import * as tf from "@tensorflow/tfjs-core";
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";

export function registerSegmentSum(): void {
  if (tf.getKernel("UnsortedSegmentSum", "wasm") !== undefined) return;
  tf.registerKernel({
    kernelName: "UnsortedSegmentSum",
    backendName: "wasm",
    kernelFunc: ({ inputs, attrs, backend }) => {
      const wasm = backend as BackendWasm;
      const { x, segmentIds } = inputs as { x: tf.TensorInfo; segmentIds: tf.TensorInfo };
      const { numSegments } = attrs as unknown as { numSegments: number };
      const out = wasm.makeOutput([numSegments, ...x.shape.slice(segmentIds.shape.length)], x.dtype);
      // Views of the heap, taken after the last allocation: one that grows the heap would detach them.
      const [to, from, ids] = [out, x, segmentIds].map((info) => wasm.typedArrayFromHeap(info)) as [
        Float32Array,
        Float32Array,
        Int32Array,
      ];
      to.fill(0);
      const width = ids.length === 0 ? 0 : from.length / ids.length;
      for (const [row, id] of ids.entries()) {
        if (id < 0 || id >= numSegments) continue;
        for (let i = 0; i < width; i++) to[id * width + i]! += from[row * width + i]!;
      }
      return out;
    },
  });
}
