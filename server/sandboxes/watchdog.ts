/** When has a call had its time? Told twice: when it takes long, and when it is over. */

export interface Times {
  /** After this the call takes long. */
  longMs: number;
  /** After this it is over. At least `longMs`. */
  limitMs: number;
  /** Or when this is aborted. */
  signal: AbortSignal;
}

export interface Watched {
  onLong(): void;
  onOver(): void;
  /** Resolves when everything that the process has said so far has been heard. */
  heard(): Promise<void>;
}

export class Watchdog implements Disposable {
  readonly #times: Times;
  readonly #watched: Watched;
  #timer: NodeJS.Timeout | undefined;
  #disposed = false;

  constructor(times: Times, watched: Watched) {
    this.#times = times;
    this.#watched = watched;
    times.signal.addEventListener("abort", this.#over, { once: true });
    this.restart();
  }

  /** The call begins anew, with all of its time. */
  restart(): void {
    const { longMs, limitMs } = this.#times;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#watched.onLong();
      this.#timer = setTimeout(this.#over, limitMs - longMs);
    }, longMs);
  }

  readonly #over = (): void => {
    // When this process itself stood still, the answer may have come in time and wait to be read.
    void this.#watched.heard().then(() => this.#disposed || this.#watched.onOver());
  };

  [Symbol.dispose](): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
    this.#times.signal.removeEventListener("abort", this.#over);
  }
}
