/** One row of the demo: an episode that was played, and what it shows. */

import type { Session, StepResult } from "trailgym/client";
import { median } from "../eval/statistics.ts";

export interface Row {
  env: string;
  task: string | null;
  family: string | null;
  steps: number;
  return: number;
  /** Median. */
  msPerStep: number;
  shown: string;
  /** It went as it should. */
  ok: boolean;
}

/** Plays on a session and keeps the figures. */
export class Take {
  #return: number;
  #steps: number;
  readonly #session: Session;
  readonly #ms: number[] = [];

  /** @param before of an episode that is taken up in the middle. */
  constructor(session: Session, before = { steps: 0, return: 0 }) {
    this.#session = session;
    [this.#steps, this.#return] = [before.steps, before.return];
  }

  async step(action: unknown): Promise<StepResult> {
    const started = performance.now();
    const step = await this.#session.step(action);
    this.#ms.push(performance.now() - started);
    this.#steps++;
    this.#return += step.reward;
    return step;
  }

  /** @returns the last step. */
  async play(actions: readonly unknown[]): Promise<StepResult | undefined> {
    let last: StepResult | undefined;
    for (const action of actions) last = await this.step(action);
    return last;
  }

  get so(): { steps: number; return: number } {
    return { steps: this.#steps, return: this.#return };
  }

  row(of: Pick<Row, "env" | "task" | "family">, shown: string, ok: boolean): Row {
    return { ...of, ...this.so, msPerStep: this.#ms.length > 0 ? median(this.#ms) : 0, shown, ok };
  }
}
