/** How many interpreter processes are there, and which of them is free? */

import { Child, type ChildCommand } from "./child.ts";

export interface ProcessOptions {
  command: ChildCommand;
  /**
   * Processes that stand ready for calls. None starts before the first call. One whose call takes long does not stand
   * ready, and another may start in its place, up to {@link MAX_FACTOR} times as many in all; they end again when they are
   * too many and have nothing to do.
   */
  size: number;
  /** A process that had nothing to do for so long is ended; 0 keeps it. */
  idleMs: number;
  /** How long a process may take to start. */
  startMs: number;
}

export interface Slot {
  readonly child: Child;
  state: "starting" | "idle" | "busy" | "dead";
  /** What runs in it takes long, or is likely to. */
  long: boolean;
  /** What runs in it, if anything, is likely not to. */
  quick: boolean;
  /** Programs whose text the child has been sent; the last one is loaded. */
  readonly known: Set<string>;
  last: string | undefined;
  idleSince: number;
  idle: NodeJS.Timeout | undefined;
  linger: NodeJS.Timeout | undefined;
}

/** Bounds what calls that take long can cost in memory. */
export const MAX_FACTOR = 4;
/** Processes that are too many are kept for so long: who made them necessary will often do so again. */
const LINGER_MS = 2_000;

export class Processes implements AsyncDisposable {
  readonly max: number;
  readonly #options: ProcessOptions;
  readonly #onGone: () => void;
  readonly #slots = new Set<Slot>();
  #tooManySince: number | undefined;

  /** @param onGone called when a process has ended by itself */
  constructor(options: ProcessOptions, onGone: () => void) {
    this.#options = options;
    this.#onGone = onGone;
    this.max = MAX_FACTOR * options.size;
  }

  get pids(): number[] {
    return [...this.#slots].flatMap(({ child }) => child.pid ?? []);
  }

  get total(): number {
    return this.#slots.size;
  }

  get busy(): number {
    return this.#count(({ state }) => state === "busy");
  }

  get starting(): number {
    return this.#count(({ state }) => state === "starting");
  }

  get long(): number {
    return this.#count(({ long }) => long);
  }

  /** Those that stand ready, or will as soon as they have started or done a quick call. */
  get ready(): number {
    return this.#count(({ long }) => !long);
  }

  /** Those that quick callers can count on. */
  get spare(): number {
    return this.#count(({ state, quick }) => state !== "starting" && quick);
  }

  #count(which: (slot: Slot) => boolean): number {
    let count = 0;
    for (const slot of this.#slots) if (which(slot)) count++;
    return count;
  }

  /** One where the program is loaded, if there is; among equals the one that had the longest time to prepare. */
  free(key: string): Slot | undefined {
    const warmth = (slot: Slot) => (slot.last === key ? 2 : slot.known.has(key) ? 1 : 0);
    let best: Slot | undefined;
    for (const slot of this.#slots) {
      if (slot.state !== "idle") continue;
      if (!best || warmth(slot) > warmth(best) || (warmth(slot) === warmth(best) && slot.idleSince < best.idleSince)) {
        best = slot;
      }
    }
    return best;
  }

  /** @returns a process that takes calls, and is the caller's. Rejects when it ends before. */
  async start(): Promise<Slot> {
    const child = new Child(this.#options.command);
    const slot: Slot = {
      child,
      state: "starting",
      long: false,
      quick: true,
      known: new Set(),
      last: undefined,
      idleSince: 0,
      idle: undefined,
      linger: undefined,
    };
    this.#slots.add(slot);
    const late = setTimeout(() => child.kill(), this.#options.startMs);
    try {
      await child.ready;
    } catch (error) {
      this.end(slot);
      throw error;
    } finally {
      clearTimeout(late);
    }
    void child.exited.then(() => {
      const wasHere = this.#slots.has(slot);
      this.end(slot);
      if (wasHere) this.#onGone();
    });
    return slot;
  }

  /** It has nothing to do any more. Then it is free, or, when there are too many, it ends. */
  release(slot: Slot): void {
    if (slot.state === "dead") return;
    const { idleMs, size } = this.#options;
    slot.state = "idle";
    slot.long = false;
    slot.quick = true;
    slot.idleSince = performance.now();
    if (idleMs > 0) {
      slot.idle ??= setTimeout(() => slot.state === "idle" && this.end(slot), idleMs).unref();
      slot.idle.refresh();
    }
    if (this.ready <= size) {
      this.#tooManySince = undefined;
      return;
    }
    // Those that take turns are never idle for long.
    this.#tooManySince ??= slot.idleSince;
    if (slot.idleSince - this.#tooManySince > LINGER_MS) return this.end(slot);
    slot.linger ??= setTimeout(() => {
      slot.linger = undefined;
      if (slot.state === "idle" && this.ready > size) this.end(slot);
    }, LINGER_MS).unref();
  }

  end(slot: Slot): void {
    slot.state = "dead";
    clearTimeout(slot.idle);
    clearTimeout(slot.linger);
    slot.child.kill();
    this.#slots.delete(slot);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const slots = [...this.#slots];
    for (const slot of slots) this.end(slot);
    await Promise.all(slots.map((slot) => slot.child.exited));
  }
}
