/**
 * Who may go in when there is no room for all? Owners (principals) take turns, so that one with a thousand calls delays
 * another by one call and not by a thousand.
 */

import { WireError } from "trailgym/protocol";

export interface AdmissionOptions {
  /** What there is room for, over all owners. */
  size: number;
  /** What one owner may have inside. */
  perOwner: number;
  /** Who may wait, over all owners. */
  maxQueue: number;
}

/** Somebody who waits. */
interface Waiting {
  admit(): void;
  refuse(error: WireError): void;
  /** Told its place in the queue; 1 is next. */
  onPosition: ((position: number) => void) | undefined;
}

/** Places change with every call; those who wait are told theirs this often. */
const tellMs = 100;

export interface Ticket {
  /** Resolves when the holder may go in; rejects with what {@link leave} was given while it waited. */
  readonly admitted: Promise<void>;
  /** Gives up the place: outside, the wait ends with `error`; inside, the next one may go in. Again: no effect. */
  leave(error?: WireError): void;
}

export class Admission {
  readonly #options: AdmissionOptions;
  /** By owner; an owner with nothing inside and nobody waiting has no entry. Iterates in the order of turns. */
  readonly #queues = new Map<string, Set<Waiting>>();
  readonly #inside = new Map<string, number>();
  #total = 0;
  #waiting = 0;
  #telling: NodeJS.Timeout | undefined;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get inside(): number {
    return this.#total;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Goes in at once if there is room and nobody waits for it. Whoever gets true calls {@link leave} once. */
  tryEnter(owner: string): boolean {
    // Those who wait are all behind their own owner's bound, or there would be no room.
    if (!this.#fits(owner)) return false;
    this.#count(owner, 1);
    return true;
  }

  leave(owner: string): void {
    this.#count(owner, -1);
    this.#pump();
  }

  /**
   * @param onPosition called with the place in the queue, at once and then again while it waits
   * @throws WireError CAPACITY when too many wait
   */
  enter(owner: string, onPosition?: (position: number) => void): Ticket {
    if (this.tryEnter(owner)) return this.#ticketInside(owner);
    if (this.#waiting >= this.#options.maxQueue) {
      const message = `${this.#waiting} calls wait already; try again later`;
      throw WireError.of("CAPACITY", message, { retryAfterMs: 1000, position: this.#waiting + 1 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Who gives up need not listen.
    promise.catch(() => undefined);
    let inside = false;
    const waiting: Waiting = {
      onPosition,
      refuse: reject,
      admit: () => {
        inside = true;
        resolve();
      },
    };
    this.#queue(owner, waiting);
    let left = false;
    return {
      admitted: promise,
      leave: (error) => {
        if (left) return;
        left = true;
        if (inside) return this.leave(owner);
        this.#unqueue(owner, waiting);
        waiting.refuse(error ?? WireError.of("CANCELLED", "gave up waiting", {}));
      },
    };
  }

  #ticketInside(owner: string): Ticket {
    let left = false;
    return {
      admitted: Promise.resolve(),
      leave: () => {
        if (left) return;
        left = true;
        this.leave(owner);
      },
    };
  }

  #fits(owner: string): boolean {
    return this.#total < this.#options.size && (this.#inside.get(owner) ?? 0) < this.#options.perOwner;
  }

  #count(owner: string, change: 1 | -1): void {
    this.#total += change;
    const inside = (this.#inside.get(owner) ?? 0) + change;
    if (inside === 0) this.#inside.delete(owner);
    else this.#inside.set(owner, inside);
  }

  #queue(owner: string, waiting: Waiting): void {
    let queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, (queue = new Set()));
    queue.add(waiting);
    this.#waiting++;
    waiting.onPosition?.(this.#positionBehind(queue.size - 1));
    this.#telling ??= setInterval(() => this.#tellPositions(), tellMs).unref();
  }

  #unqueue(owner: string, waiting: Waiting): void {
    const queue = this.#queues.get(owner);
    if (queue?.delete(waiting) !== true) return;
    this.#waiting--;
    if (queue.size === 0) this.#queues.delete(owner);
    if (this.#waiting > 0) return;
    clearInterval(this.#telling);
    this.#telling = undefined;
  }

  /** Lets in who is next: the owner whose turn is longest ago, its oldest first. */
  #pump(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [owner, queue] = next;
      const [waiting] = queue;
      this.#unqueue(owner, waiting as Waiting);
      // To the end of the line of owners.
      if (this.#queues.delete(owner)) this.#queues.set(owner, queue);
      this.#count(owner, 1);
      (waiting as Waiting).admit();
    }
  }

  #next(): [string, Set<Waiting>] | undefined {
    if (this.#total >= this.#options.size) return undefined;
    for (const line of this.#queues) if (this.#fits(line[0])) return line;
    return undefined;
  }

  /** The place of one that has `ahead` of its own owner's before it: each other owner has as many turns before that. */
  #positionBehind(ahead: number): number {
    let position = 1;
    for (const queue of this.#queues.values()) position += Math.min(queue.size, ahead);
    return position;
  }

  /** The place of each in the order in which they would go in if nobody left the queue. */
  #tellPositions(): void {
    const lines = [...this.#queues.values()].map((queue) => [...queue]);
    let position = 0;
    for (let round = 0; lines.some((line) => line.length > round); round++) {
      for (const line of lines) line[round]?.onPosition?.(++position);
    }
  }
}
