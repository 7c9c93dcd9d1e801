/** Does a built TensorFlow backend work? Run as a process of its own, so that a library that crashes takes nothing along. */

import * as tf from "@tensorflow/tfjs-core";
import { registerTensorflow, tensorflowBackend } from "./tensorflow.ts";

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: check.ts FOLDER");
registerTensorflow(folder);
if (!(await tf.setBackend("tensorflow"))) throw new Error("the backend tensorflow does not start");

const product = tf.matMul(tf.tensor2d([1, 2, 3, 4], [2, 2]), tf.tensor2d([5, 6, 7, 8], [2, 2]));
expect("a matrix product", await product.data(), [19, 22, 43, 50]);
const rows = tf.tensor1d([0, 2, 2], "int32");
const gradient = tf.grad((x: tf.Tensor) => tf.sum(tf.square(tf.gather(x, rows))))(tf.tensor1d([1, 2, 3]));
expect("the gradient of gather", await gradient.data(), [2, 0, 12]);
process.stdout.write(`${JSON.stringify({ gpu: tensorflowBackend()?.isUsingGpuDevice === true })}\n`);

function expect(what: string, found: ArrayLike<number>, expected: readonly number[]): void {
  if (Array.from(found).join() !== expected.join()) {
    throw new Error(`${what} gives ${Array.from(found).join()} instead of ${expected.join()}`);
  }
}
