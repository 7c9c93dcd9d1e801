/** `trailgym setup tensorflow`: says what it will download, builds, and says where. */

import path from "node:path";
import { setupTensorflow } from "trailgym/trainer";
import { type Io, note, print, printJson } from "./terminal/io.ts";

export interface SetupTensorflowOptions {
  gpu: boolean;
  force: boolean;
  folder?: string;
  json: boolean;
}

export async function setup(io: Io, { gpu, force, folder, json }: SetupTensorflowOptions): Promise<void> {
  const result = await setupTensorflow({
    variant: gpu ? "gpu" : "cpu",
    force,
    signal: io.signal,
    say: (line) => note(io, line),
    ...(folder === undefined ? {} : { folder: path.resolve(folder) }),
  });
  if (json) printJson(io, result);
  else print(io, `${result.built ? "built" : "found"} TensorFlow for ${result.gpu ? "GPU" : "CPU"}: ${result.folder}`);
}
