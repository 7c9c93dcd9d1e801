/** Which episodes does an evaluation have, and what is each one's chance? A function of tasks, seed and count alone. */

import { createHash } from "node:crypto";
import type { PublicTask } from "trailgym/env";

export interface Planned {
  /** Unique in a plan, and the same in every plan that has it. */
  readonly key: string;
  /** Null where the environment has no tasks. */
  readonly task: PublicTask | null;
  /** Which of the task's episodes, from 0. */
  readonly episode: number;
  /** Of the environment. */
  readonly seed: number;
  /** Of the agent. Another one: an agent that knew the environment's could compute what it is to find out. */
  readonly agentSeed: number;
}

/** @param tasks undefined where the environment has none. Other tasks, or more of them, change nothing for a task. */
export function plan(tasks: readonly PublicTask[] | undefined, episodes: number, seed: number): Planned[] {
  return (tasks ?? [null]).flatMap((task) =>
    Array.from({ length: episodes }, (_, episode) => {
      const key = task === null ? `#${episode}` : `${task.id}#${episode}`;
      return { key, task, episode, seed: derivedSeed(seed, "env", key), agentSeed: derivedSeed(seed, "agent", key) };
    }),
  );
}

/** 47 bits, as many as the server draws. */
export function derivedSeed(seed: number, ...parts: string[]): number {
  const digest = createHash("sha256")
    .update(JSON.stringify([seed, ...parts]))
    .digest();
  return digest.readUIntBE(0, 6) % 2 ** 47;
}
