/** Which frames carry these calls, within the server's limits? */

import type { Call } from "./call.ts";

export interface FrameLimits {
  readonly maxMessageBytes: number;
  readonly maxBatch: number;
}

/** Neighbours of one batch share a frame, split where it would hold too many calls or bytes. Order is kept. */
export function framesOf(calls: readonly Call[], limits: FrameLimits): Call[][] {
  const frames: Call[][] = [];
  let bytes = 0;
  for (const call of calls) {
    const last = frames.at(-1);
    const fits =
      last !== undefined &&
      call.batch !== undefined &&
      last[0]?.batch === call.batch &&
      last.length < limits.maxBatch &&
      bytes + call.bytes + 1 <= limits.maxMessageBytes;
    if (fits) {
      last.push(call);
      bytes += call.bytes + 1;
    } else {
      frames.push([call]);
      bytes = call.bytes + 2;
    }
  }
  return frames;
}

export function frameText(calls: readonly Call[]): string {
  const [only] = calls;
  return calls.length === 1 && only !== undefined ? only.text : `[${calls.map((call) => call.text).join(",")}]`;
}
