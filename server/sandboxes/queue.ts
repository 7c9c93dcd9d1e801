/** Whose turn is it? Callers take turns, so that whoever asks for much waits behind himself. */

export interface Waiting {
  /** Who asks. */
  owner: string;
  /** Of the program; see programs.ts. */
  key: string;
  /** How often a later call went first because its program was warm. */
  passed: number;
}

const MAX_PASSED = 16;

export class Queue<T extends Waiting> {
  /** In the order of their turns. */
  readonly #owners = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    this.#listOf(item.owner).push(item);
    this.#size++;
  }

  /** Its owner's turn is next, and of that owner's calls it is the first. */
  putBack(item: T): void {
    const list = [item, ...this.#listOf(item.owner)];
    const others = [...this.#owners].filter(([owner]) => owner !== item.owner);
    this.#owners.clear();
    for (const [owner, items] of [[item.owner, list] as const, ...others]) this.#owners.set(owner, items);
    this.#size++;
  }

  /** The call whose turn it is, among those that may go. */
  next(mayGo: (item: T) => boolean): T | undefined {
    for (const [first] of this.#owners.values()) if (mayGo(first!)) return first;
    return undefined;
  }

  /** Takes out the next one, or another one whose program is `warm`; nobody is passed over for ever. */
  take(mayGo: (item: T) => boolean, warm: string | undefined): T | undefined {
    const next = this.next(mayGo);
    if (!next) return undefined;
    let taken = next;
    if (next.key !== warm && next.passed < MAX_PASSED)
      taken = this.next((item) => item.key === warm && mayGo(item)) ?? next;
    if (taken !== next) next.passed++;
    this.remove(taken);
    const rest = this.#owners.get(taken.owner);
    if (rest) {
      this.#owners.delete(taken.owner);
      this.#owners.set(taken.owner, rest);
    }
    return taken;
  }

  /** @returns whether it was there */
  remove(item: T): boolean {
    const list = this.#owners.get(item.owner) ?? [];
    const index = list.indexOf(item);
    if (index < 0) return false;
    list.splice(index, 1);
    if (list.length === 0) this.#owners.delete(item.owner);
    this.#size--;
    return true;
  }

  /** Takes out all. */
  clear(): T[] {
    const all = [...this.#owners.values()].flat();
    this.#owners.clear();
    this.#size = 0;
    return all;
  }

  #listOf(owner: string): T[] {
    let list = this.#owners.get(owner);
    if (!list) this.#owners.set(owner, (list = []));
    return list;
  }
}
