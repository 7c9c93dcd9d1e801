/**
 * How is the TensorFlow backend that `trailgym setup tensorflow` built loaded? Its JavaScript is @tensorflow/tfjs-node's, but
 * not its entry: that one would load a second tfjs and look for its binding elsewhere.
 */

import * as tf from "@tensorflow/tfjs-core";
// For what it does when it is loaded: on Node tfjs-core itself comes without gradients.
import "@tensorflow/tfjs-layers";
import { createRequire } from "node:module";
import path from "node:path";
import util from "node:util";

/** Under which name on `globalThis` the package that was built finds this process's tfjs-core. */
export const coreSymbol = "trailgym.tfjs-core";

/** What tfjs-node adds to a tfjs backend. */
export interface TensorflowBackend extends tf.KernelBackend {
  readonly isUsingGpuDevice: boolean;
  executeSingleOutput(op: string, attributes: OpAttribute[], inputs: tf.TensorInfo[]): tf.Tensor;
  executeMultipleOutputs(op: string, attributes: OpAttribute[], inputs: tf.TensorInfo[], outputs: number): tf.Tensor[];
}

export interface OpAttribute {
  name: string;
  /** A number of TensorFlow's `TF_AttrType`, as {@link attributes} makes them. */
  type: number;
  value: unknown;
}

/** Registers the backend `tensorflow`; does not choose it. @param folder a finished build, see `setup.ts`. */
export function registerTensorflow(folder: string): void {
  if (tf.findBackendFactory("tensorflow") !== null) return;
  // tfjs-node calls what Node removed.
  const old = util as unknown as Record<string, unknown>;
  old.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
  old.isArray = Array.isArray;
  // Two lines about oneDNN, and one about the processor's instructions.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "2";
  (globalThis as Record<symbol, unknown>)[Symbol.for(coreSymbol)] = tf;
  const require = createRequire(path.join(folder, "package", "package.json"));
  require("./dist/register_all_kernels.js");
  const { NodeJSKernelBackend } = require("./dist/nodejs_kernel_backend.js") as {
    NodeJSKernelBackend: new (binding: unknown, name: string) => TensorflowBackend;
  };
  const binding: unknown = require("./lib/napi-v8/tfjs_binding.node");
  tf.registerBackend("tensorflow", () => new NodeJSKernelBackend(binding, "@tensorflow/tfjs-node"), 3);
}

/** The backend in use when it is TensorFlow's. */
export function tensorflowBackend(): TensorflowBackend | undefined {
  return tf.getBackend() === "tensorflow" ? (tf.backend() as TensorflowBackend) : undefined;
}

// TensorFlow's c_api.h.
const attrType = { int: 1, float: 2, bool: 3, type: 4 } as const;
const dataType = { float32: 1, int32: 3 } as const;

export const attributes = {
  type: (name: string, dtype: keyof typeof dataType): OpAttribute => ({
    name,
    type: attrType.type,
    value: dataType[dtype],
  }),
  bool: (name: string, value: boolean): OpAttribute => ({ name, type: attrType.bool, value }),
  int: (name: string, value: number): OpAttribute => ({ name, type: attrType.int, value }),
};
