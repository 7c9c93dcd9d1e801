/**
 * Who may go in when there is no room for all? Owners (principals) take turns, so that one with a thousand calls delays
 * another by one call and not by a thousand.
 */

import { WireError } from "trailgym/protocol";

export interface AdmissionOptions {
  /** What there is room for, over all owners. */
  size: number;
  /** Who may wait, over all owners. */
  maxQueue: number;
}

/** Who wants in. */
export interface Owner {
  readonly name: string;
  /** What may be inside under this name for another one to go in. Default: as much as there is room for. */
  readonly limit?: number | undefined;
}

/** Somebody who waits. */
interface Waiting {
  limit: number;
  admit(): void;
  giveUp(error: WireError): void;
  /** Told its place in the queue; 1 is next. */
  onPosition: ((position: number) => void) | undefined;
}

/** Places change with every call; those who wait are told theirs this often. */
const tellMs = 100;

export interface Ticket {
  /** Resolves when the holder is inside: it calls {@link Admission.leave} once. Rejects with what {@link giveUp} was given. */
  readonly admitted: Promise<void>;
  /** Gives up the place in the queue. Inside: no effect. */
  giveUp(error: WireError): void;
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

  get size(): number {
    return this.#options.size;
  }

  get inside(): number {
    return this.#total;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** What one owner has inside. */
  insideOf(owner: string): number {
    return this.#inside.get(owner) ?? 0;
  }

  /** Goes in at once if there is room. Whoever gets true calls {@link leave} once. */
  tryEnter({ name, limit = Infinity }: Owner): boolean {
    // Those who wait are all behind their own owner's limit, or there would be no room.
    if (!this.#fits(name, limit)) return false;
    this.#count(name, 1);
    return true;
  }

  /** Goes in, whether there is room or not: it has been inside all along. */
  takeUp(owner: string): void {
    this.#count(owner, 1);
  }

  leave(owner: string): void {
    this.#count(owner, -1);
    this.#pump();
  }

  /**
   * @param onPosition called with the place in the queue, at once and then again while it waits
   * @throws WireError CAPACITY when too many wait
   */
  enter(owner: Owner, onPosition?: (position: number) => void): Ticket {
    const { name, limit = Infinity } = owner;
    if (this.tryEnter(owner)) return { admitted: Promise.resolve(), giveUp: () => undefined };
    if (this.#waiting >= this.#options.maxQueue) {
      const message = `${this.#waiting} wait already; try again later`;
      throw WireError.of("CAPACITY", message, { retryAfterMs: 1000, position: this.#waiting + 1 });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Who gives up need not listen.
    promise.catch(() => undefined);
    const giveUp = (error: WireError) => {
      if (!this.#unqueue(name, waiting)) return;
      reject(error);
      // Behind it may be one with a higher limit.
      this.#pump();
    };
    const waiting: Waiting = { limit, onPosition, admit: resolve, giveUp };
    this.#queue(name, waiting);
    return { admitted: promise, giveUp };
  }

  /** Whoever waits is told `error`. */
  refuseAll(error: WireError): void {
    for (const queue of [...this.#queues.values()]) for (const waiting of [...queue]) waiting.giveUp(error);
  }

  #fits(owner: string, limit: number): boolean {
    return this.#total < this.#options.size && this.insideOf(owner) < limit;
  }

  #count(owner: string, change: 1 | -1): void {
    this.#total += change;
    const inside = this.insideOf(owner) + change;
    if (inside === 0) this.#inside.delete(owner);
    else this.#inside.set(owner, inside);
  }

  #queue(owner: string, waiting: Waiting): void {
    let queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, (queue = new Set()));
    queue.add(waiting);
    this.#waiting++;
    waiting.onPosition?.(this.#positionOf(owner, queue.size - 1));
    this.#telling ??= setInterval(() => this.#tellPositions(), tellMs).unref();
  }

  /** @returns whether it was there */
  #unqueue(owner: string, waiting: Waiting): boolean {
    const queue = this.#queues.get(owner);
    if (queue?.delete(waiting) !== true) return false;
    this.#waiting--;
    if (queue.size === 0) this.#queues.delete(owner);
    if (this.#waiting === 0) {
      clearInterval(this.#telling);
      this.#telling = undefined;
    }
    return true;
  }

  /** Lets in who is next: the owner whose turn is longest ago, its oldest first. */
  #pump(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { owner, waiting } = next;
      const queue = this.#queues.get(owner);
      this.#unqueue(owner, waiting);
      // To the end of the line of owners.
      if (queue !== undefined && this.#queues.delete(owner)) this.#queues.set(owner, queue);
      this.#count(owner, 1);
      waiting.admit();
    }
  }

  #next(): { owner: string; waiting: Waiting } | undefined {
    if (this.#total >= this.#options.size) return undefined;
    for (const [owner, [waiting]] of this.#queues) {
      if (waiting !== undefined && this.#fits(owner, waiting.limit)) return { owner, waiting };
    }
    return undefined;
  }

  /** The place of one of `owner`'s that has `ahead` of them before it: whose turn comes first has one more before it. */
  #positionOf(owner: string, ahead: number): number {
    let position = 1;
    let turns = ahead + 1;
    for (const [name, queue] of this.#queues) {
      if (name === owner) turns = ahead;
      position += Math.min(queue.size, turns);
    }
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
