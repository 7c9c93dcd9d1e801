/** When does a caller stop waiting for its call? */

import { WireError } from "trailgym/protocol";
import type { Call } from "./call.ts";
import { DeadlinePassed } from "../errors.ts";
import type { Outbox } from "./outbox.ts";

export interface Patience {
  readonly signal: AbortSignal | undefined;
  /** The deadline that the server was told; undefined: no deadline of this side. */
  readonly timeoutMs: number | undefined;
  readonly graceMs: number;
}

/**
 * What the caller sees of `answered`. On abort the server is told with `$/cancel`, and then its answer decides, because the
 * call may have been committed before the cancel came: a result is returned as if nothing had been aborted (a committed
 * step that its caller never hears of would be a hole in the trajectory), and CANCELLED becomes the signal's reason.
 * Only when no answer comes within `graceMs` the caller is let go with the reason, and `call.abandoned` says so.
 * A `read` call has no outcome to wait for and ends at once; so does a call that was never written.
 */
export function withPatience<T>(call: Call, answered: Promise<T>, outbox: Outbox, patience: Patience): Promise<T> {
  const { signal, timeoutMs, graceMs } = patience;
  if (signal === undefined && timeoutMs === undefined) return answered;
  return new Promise<T>((resolve, reject) => {
    let grace: ReturnType<typeof setTimeout> | undefined;
    const letGo = (reason: unknown) => {
      call.abandoned = true;
      settled();
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's
      reject(reason);
    };
    const onAbort = () => {
      outbox.cancel(call, signal?.reason);
      if (call.failure !== undefined) return;
      if (call.delivery === "read") letGo(signal?.reason);
      else grace = setTimeout(letGo, graceMs, signal?.reason);
    };
    // The server enforces the deadline and says DEADLINE; this one is for when nothing is heard from it.
    const deadline =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => {
            const passed = new DeadlinePassed(call.method, timeoutMs);
            outbox.cancel(call, passed);
            if (call.failure === undefined) letGo(passed);
          }, timeoutMs + graceMs);
    const settled = () => {
      clearTimeout(grace);
      clearTimeout(deadline);
      signal?.removeEventListener("abort", onAbort);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    answered.then(
      (result) => {
        settled();
        resolve(result);
      },
      (error: unknown) => {
        settled();
        const ours = signal?.aborted === true && error instanceof WireError && error.name === "CANCELLED";
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's
        reject(ours ? signal.reason : error);
      },
    );
  });
}
