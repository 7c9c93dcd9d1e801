/** Waiting for what happens, and clocks that only move when told. */

/** Resolves once `happened` is true; for what has no event to wait for. @throws Error after `timeoutMs` */
export async function until(happened: () => boolean | Promise<boolean>, timeoutMs = 8000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await happened())) {
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${happened.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export interface ManualClock {
  now: () => number;
  advance(ms: number): void;
}

export function manualClock(): ManualClock {
  let time = 0;
  return { now: () => time, advance: (ms) => (time += ms) };
}

export interface Gate {
  /** Resolves with the gate's opening. */
  readonly opened: Promise<void>;
  open(): void;
  fail(error: Error): void;
}

export function gate(): Gate {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  promise.catch(() => undefined);
  return { opened: promise, open: resolve, fail: reject };
}
