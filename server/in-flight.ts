/** How many bytes of requests are under way, over all and for each principal, and is there room for more? */

import { WireError } from "trailgym/protocol";
import type { Principal } from "./principals.ts";

const retryAfterMs = 200;

export class InFlight {
  readonly #maxBytes: number;
  /** Without entry none. */
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * What was told is taken back with {@link leave}. Whoever has nothing under way may send one message of any size.
   * @throws WireError CAPACITY, QUOTA
   */
  enter({ name, maxInFlightBytes: limit = Infinity }: Principal, bytes: number): void {
    const own = this.#bytesOf.get(name) ?? 0;
    if (own > 0) {
      if (own + bytes > limit) throw WireError.of("QUOTA", `yours: ${told(own, limit)}`, { retryAfterMs, limit });
      if (this.#bytes + bytes > this.#maxBytes) {
        throw WireError.of("CAPACITY", told(this.#bytes, this.#maxBytes), { retryAfterMs });
      }
    }
    this.#bytes += bytes;
    this.#bytesOf.set(name, own + bytes);
  }

  leave({ name }: Principal, bytes: number): void {
    this.#bytes -= bytes;
    const left = (this.#bytesOf.get(name) ?? 0) - bytes;
    if (left > 0) this.#bytesOf.set(name, left);
    else this.#bytesOf.delete(name);
  }
}

function told(bytes: number, most: number): string {
  return `requests of ${bytes} of ${most} bytes are under way; send this one again when some are answered`;
}
