/** The server is full: is it worth asking again? */

import { WireError } from "trailgym/protocol";
import { sleep } from "./connection/backoff.ts";
import type { CallOptions } from "./connection/connection.ts";

export interface CapacityOptions extends CallOptions {
  /**
   * On CAPACITY, wait as long as the server says (`retryAfterMs`) and ask again, until there is room or `signal` aborts.
   * Default false: CAPACITY is thrown. Bound it with `AbortSignal.timeout(ms)`. No other error is retried.
   */
  retryCapacity?: boolean | undefined;
}

export async function whenThereIsRoom<T>(options: CapacityOptions, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (options.retryCapacity !== true || !(error instanceof WireError) || error.name !== "CAPACITY") throw error;
      const { retryAfterMs } = error.data;
      // Up to half as long again: many clients that were refused together should not come back together.
      const waitMs = (typeof retryAfterMs === "number" ? retryAfterMs : 1000) * (1 + Math.random() / 2);
      await sleep(waitMs, options.signal);
    }
  }
}
