/** Which tasks went over an edge with success? M_ij: pairs of a task (its row in the task matrix) and a quality. */

import type { TaskMatrix } from "./tasks.ts";

export class Memory {
  /** Rows of the matrix, no two alike; beside them the qualities. Only the first `size` count. */
  tasks = new Uint32Array(4);
  qualities = new Float64Array(4);
  size = 0;

  /**
   * One entry a task, with the highest quality it ever had. In a full memory the lowest quality makes room, the older of
   * equals; when the new one is the lowest, it stays out.
   */
  write(task: number, quality: number, capacity: number, matrix: TaskMatrix): void {
    const known = this.tasks.subarray(0, this.size).indexOf(task);
    if (known >= 0) {
      this.qualities[known] = Math.max(this.qualities[known] as number, quality);
      return;
    }
    if (this.size < capacity) {
      this.#grow(capacity);
      this.#set(this.size++, task, quality);
      matrix.hold(task);
      return;
    }
    const weakest = this.#weakest();
    if (quality < (this.qualities[weakest] as number)) return;
    // Out of the middle and in at the end: the order stays that of arrival, which decides between equals.
    matrix.release(this.tasks[weakest] as number);
    this.tasks.copyWithin(weakest, weakest + 1, this.size);
    this.qualities.copyWithin(weakest, weakest + 1, this.size);
    this.#set(this.size - 1, task, quality);
    matrix.hold(task);
  }

  /** A round passes: all qualities shrink by `factor`, and those under `forget` go. */
  decay(factor: number, forget: number, matrix: TaskMatrix): void {
    let kept = 0;
    for (let i = 0; i < this.size; i++) {
      const quality = (this.qualities[i] as number) * factor;
      if (quality < forget) matrix.release(this.tasks[i] as number);
      else this.#set(kept++, this.tasks[i] as number, quality);
    }
    this.size = kept;
  }

  #set(at: number, task: number, quality: number): void {
    this.tasks[at] = task;
    this.qualities[at] = quality;
  }

  #weakest(): number {
    let weakest = 0;
    for (let i = 1; i < this.size; i++) {
      if ((this.qualities[i] as number) < (this.qualities[weakest] as number)) weakest = i;
    }
    return weakest;
  }

  #grow(capacity: number): void {
    if (this.size < this.tasks.length) return;
    const length = Math.min(capacity, 2 * this.tasks.length);
    const [tasks, qualities] = [new Uint32Array(length), new Float64Array(length)];
    tasks.set(this.tasks);
    qualities.set(this.qualities);
    [this.tasks, this.qualities] = [tasks, qualities];
  }
}
