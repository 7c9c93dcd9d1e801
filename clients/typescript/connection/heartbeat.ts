/** Is the other side still there? A socket whose peer vanished without a word says nothing, for hours. */

export class Heartbeat {
  readonly #periodMs: number;
  readonly #probe: () => void;
  readonly #dead: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #heard = true;
  #silentTicks = 0;

  /** @param periodMs 0: never beats. @param probe asks for an answer, whatever it is. @param dead none came. */
  constructor(periodMs: number, probe: () => void, dead: () => void) {
    this.#periodMs = periodMs;
    this.#probe = probe;
    this.#dead = dead;
    if (periodMs > 0) this.#schedule(periodMs);
  }

  /** Any frame counts. */
  heard(): void {
    this.#heard = true;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => this.#tick(), ms);
  }

  #tick(): void {
    this.#silentTicks = this.#heard ? 0 : this.#silentTicks + 1;
    this.#heard = false;
    if (this.#silentTicks === 1) this.#probe();
    // After a long computation timers run before the frames that came meanwhile are read: give those one more moment.
    if (this.#silentTicks === 2) return this.#schedule(Math.min(this.#periodMs, 1000));
    if (this.#silentTicks === 3) return this.#dead();
    this.#schedule(this.#periodMs);
  }
}
