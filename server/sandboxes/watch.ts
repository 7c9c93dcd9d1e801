/** Who ends an interpreter process when its server is gone, or when its memory runs away? This thread. */

import { Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { LIFELINE, OUT_OF_MEMORY_SIGNAL } from "./messages.ts";

const shared = workerData as Int32Array;
const end = (signal: NodeJS.Signals) => process.kill(process.pid, signal);

// Polled, and not read by a blocking call, which would keep the process from ending for any other reason.
const lifeline = new Socket({ fd: LIFELINE, readable: true, writable: false });
lifeline.resume();
lifeline.on("close", () => end("SIGKILL"));
lifeline.on("error", () => end("SIGKILL"));

setInterval(() => {
  const limitMb = Atomics.load(shared, 0);
  if (limitMb > 0 && process.memoryUsage.rss() > limitMb * 1_048_576) end(OUT_OF_MEMORY_SIGNAL);
}, 50);

parentPort!.postMessage("started");
