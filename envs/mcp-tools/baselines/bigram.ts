/** How far does one get by only looking at the last tool? */

import { STOP, toolsOf, type Trajectory } from "../trajectory.ts";

type Steps = Pick<Trajectory, "reference">;

const START = "\0start";

/** The most frequent successor of each tool, START and STOP among them. */
export class Bigram {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #likeliest = new Map<string, string>();

  constructor(train: readonly Steps[]) {
    for (const { reference } of train) {
      let before = START;
      for (const next of [...reference.map(({ tool }) => tool), STOP]) {
        const counts = this.#counts.get(before) ?? new Map<string, number>();
        counts.set(next, (counts.get(next) ?? 0) + 1);
        this.#counts.set(before, counts);
        before = next;
      }
    }
    for (const [tool, counts] of this.#counts) {
      // Of equally frequent ones the first that was seen.
      const [likeliest] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
      this.#likeliest.set(tool, likeliest);
    }
  }

  /** @param before undefined: at the beginning. @returns STOP, or undefined after a tool that was never seen. */
  next(before: string | undefined): string | undefined {
    return this.#likeliest.get(before ?? START);
  }

  hasSeen(before: string | undefined, next: string): boolean {
    return this.#counts.get(before ?? START)?.has(next) ?? false;
  }

  /** Follows the likeliest successor until STOP, at most `horizon` steps. */
  play(horizon: number): string[] {
    const tools: string[] = [];
    let next = this.next(undefined);
    while (next !== undefined && next !== STOP && tools.length < horizon) {
      tools.push(next);
      next = this.next(next);
    }
    return tools;
  }
}

export interface BigramScore {
  /** Share of the references' steps whose tool is predicted from the tool before it (the true one). */
  toolAccuracy: number;
  /** Share of these steps whose edge, from START or a tool, occurs in training at all. */
  edgeCoverage: number;
}

/** Over all steps of all references, their first ones included; STOP competes as a prediction and is not itself a step. */
export function scoreBigram(bigram: Bigram, test: readonly Steps[]): BigramScore {
  let [steps, right, known] = [0, 0, 0];
  for (const one of test) {
    const tools = toolsOf(one);
    for (const [t, tool] of tools.entries()) {
      steps++;
      if (bigram.next(tools[t - 1]) === tool) right++;
      if (bigram.hasSeen(tools[t - 1], tool)) known++;
    }
  }
  return { toolAccuracy: steps === 0 ? 0 : right / steps, edgeCoverage: steps === 0 ? 0 : known / steps };
}
