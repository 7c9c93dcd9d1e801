/** May a session's next mutating call be made now, and which `seq` does it have? */

import type { Call } from "./connection/call.ts";
import { LateCommit, SessionBusy } from "./errors.ts";

interface Running {
  readonly call: Call;
  readonly settled: Promise<void>;
  readonly resolve: () => void;
}

/**
 * One reset, step or restore at a time. A second one is a bug of the caller (its action was chosen for a state that is about
 * to change), so it throws instead of waiting. Behind a call that its caller has let go of, the next one waits: only the
 * answer tells which `seq` is next.
 */
export class Turn {
  readonly #session: string;
  #seq: number;
  #running: Running | undefined;
  #late: LateCommit | undefined;

  constructor(session: string, seq: number) {
    this.#session = session;
    this.#seq = seq;
  }

  get seq(): number {
    return this.#seq;
  }

  /**
   * @returns undefined when the call may be made now; else what to await before asking again.
   * @throws SessionBusy; LateCommit, once, for a step.
   */
  admit(method: string): Promise<void> | undefined {
    const running = this.#running;
    if (running?.call.abandoned === true) return running.settled;
    if (running !== undefined) throw new SessionBusy(this.#session, method);
    if (method === "session/attach") return undefined;
    const late = this.#late;
    this.#late = undefined;
    if (late !== undefined && method === "env/step") throw late;
    return undefined;
  }

  begin(call: Call): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = { call, settled: promise, resolve };
  }

  /** A failed call does not consume its seq. @param committed reads the result of one that did. */
  settle(call: Call, committed: (() => unknown) | undefined): void {
    if (committed !== undefined) {
      this.#seq++;
      if (call.abandoned) this.#late = new LateCommit(call.method, committed());
    }
    this.#running?.resolve();
    this.#running = undefined;
  }

  /** Takes the server's word for the next seq: what lies between is given up knowingly. */
  resync(seq: number): void {
    this.#seq = seq;
    this.#late = undefined;
  }
}
