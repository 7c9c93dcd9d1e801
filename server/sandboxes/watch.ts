/** Who ends an interpreter process when its server is gone, or when its memory runs away? This thread. */

import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { CALL, GROWTH_MB, LIFELINE, OUT_OF_MEMORY_SIGNAL } from "./messages.ts";

const shared = workerData as Int32Array;
const end = (signal: NodeJS.Signals) => process.kill(process.pid, signal);

// Polled, and not read by a blocking call, which would keep the process from ending for any other reason.
const lifeline = new Socket({ fd: LIFELINE, readable: true, writable: false });
lifeline.resume();
lifeline.on("close", () => end("SIGKILL"));
lifeline.on("error", () => end("SIGKILL"));

let call = -1;
let before = 0;
setInterval(() => {
  const growthMb = Atomics.load(shared, GROWTH_MB);
  if (growthMb === 0) return;
  const memory = process.memoryUsage.rss();
  // What earlier calls left behind is not this one's.
  if (call !== Atomics.load(shared, CALL)) [call, before] = [Atomics.load(shared, CALL), memory];
  else if (memory - before > growthMb * 1_048_576) end(OUT_OF_MEMORY_SIGNAL);
}, 50);

parentPort!.postMessage("started");
