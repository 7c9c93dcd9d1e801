/** Which callers are quick, which take long, and are there others who would have to wait for them? */

/** Callers remembered. */
const MAX = 10_000;
/** Quick calls in the last so many milliseconds are a sign that there will be more. */
const LATELY_MS = 5_000;

export class Callers {
  readonly #paces = new Map<string, "quick" | "slow">();
  /** Whose was the last quick call, and whose the last one that was not by the same. */
  #latest: { owner: string; at: number }[] = [];

  /** Of its last call; undefined before its first has ended. */
  pace(owner: string): "quick" | "slow" | undefined {
    return this.#paces.get(owner);
  }

  hasQuickOthers(owner: string): boolean {
    const other = this.#latest.find((each) => each.owner !== owner);
    return other !== undefined && performance.now() - other.at < LATELY_MS;
  }

  /** A call has ended. */
  note(owner: string, tookLong: boolean): void {
    this.#paces.delete(owner);
    this.#paces.set(owner, tookLong ? "slow" : "quick");
    if (this.#paces.size > MAX) this.#paces.delete(this.#paces.keys().next().value!);
    if (tookLong) return;
    const other = this.#latest.find((each) => each.owner !== owner);
    this.#latest = [{ owner, at: performance.now() }, ...(other ? [other] : [])];
  }
}
