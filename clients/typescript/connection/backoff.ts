/** How long to wait before the next attempt, and how to wait so that a signal ends it? */

import type { ReconnectOptions } from "../options.ts";

/** @param attempt from 1. @param random in [0, 1). @returns ms: half of the exponential wait is certain, half random. */
export function backoffMs(attempt: number, options: ReconnectOptions, random: number): number {
  const full = Math.min(options.maxDelayMs, options.minDelayMs * 2 ** (attempt - 1));
  return full / 2 + (full / 2) * random;
}

/** @throws the signal's reason. Leaves no timer and no listener behind. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** `promise`, or the signal's reason if that comes first. */
export function before<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}
