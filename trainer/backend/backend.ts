/** On what does this process compute: TensorFlow where `trailgym setup tensorflow` built it, else WebAssembly, else JavaScript? */

import * as tf from "@tensorflow/tfjs-core";
// For what it does when it is loaded: on Node tfjs-core itself comes without gradients.
import "@tensorflow/tfjs-layers";
import { registerSegmentSum } from "./segment-sum.ts";
import { findTensorflow } from "./setup.ts";
import { registerTensorflow, tensorflowBackend } from "./tensorflow.ts";

export type BackendName = "tensorflow" | "wasm" | "cpu";

export interface Backend {
  name: BackendName;
  gpu: boolean;
  /** Which and why, for a person. */
  line: string;
}

export class BackendUnavailable extends Error {
  override readonly name = "BackendUnavailable";
  readonly backend: BackendName;
  constructor(backend: BackendName, reason: string) {
    super(`the backend ${backend} is not available: ${reason}`);
    this.backend = backend;
  }
}

/**
 * Once in a process: tensors of one backend do not outlive a change to another.
 * @param wanted `auto`: the fastest that starts.
 * @param folder where `trailgym setup tensorflow` builds; default the user's cache.
 * @throws BackendUnavailable when a backend that was named does not start, or none does.
 */
export async function useBackend(wanted: BackendName | "auto" = "auto", folder?: string): Promise<Backend> {
  if (wanted !== "auto") return start(wanted, folder);
  const reasons: string[] = [];
  for (const name of ["tensorflow", "wasm", "cpu"] as const) {
    try {
      const backend = await start(name, folder);
      return { ...backend, line: [backend.line, ...reasons].join("; ") };
    } catch (error) {
      if (!(error instanceof BackendUnavailable)) throw error;
      reasons.push(error.message.replace("the backend ", ""));
    }
  }
  throw new BackendUnavailable("cpu", reasons.join("; "));
}

async function start(name: BackendName, folder: string | undefined): Promise<Backend> {
  try {
    await register(name, folder);
    if (!(await tf.setBackend(name))) throw new Error("it does not start");
  } catch (error) {
    throw error instanceof BackendUnavailable ? error : new BackendUnavailable(name, (error as Error).message);
  }
  const gpu = tensorflowBackend()?.isUsingGpuDevice === true;
  // Checks of every value and name on every operation.
  tf.enableProdMode();
  const lines = {
    tensorflow: `backend tensorflow (${gpu ? "GPU" : "CPU"})`,
    wasm: `backend wasm (WebAssembly, one thread)`,
    cpu: "backend cpu (plain JavaScript, slow)",
  };
  return { name, gpu, line: lines[name] };
}

async function register(name: BackendName, base: string | undefined): Promise<void> {
  switch (name) {
    case "tensorflow": {
      const folder = await findTensorflow(base);
      if (folder === undefined) throw new BackendUnavailable(name, "`trailgym setup tensorflow` builds it");
      registerTensorflow(folder);
      break;
    }
    case "wasm":
      await import("@tensorflow/tfjs-backend-wasm");
      registerSegmentSum();
      break;
    case "cpu":
      await import("@tensorflow/tfjs-backend-cpu");
  }
}
