/** The known-good play of a task. For evaluations inside the server's own process; no method of the wire leads here. */

import type { Reference } from "trailgym/env";
import type { Value } from "trailgym/protocol";
import type { HostedEnv } from "../registry.ts";
import { chooseStart, parseOptions } from "./transaction.ts";
import { type Lent, Trial } from "./trial.ts";

export interface ReferenceStart {
  seed: number;
  task?: string | undefined;
  split?: string | undefined;
  options?: { readonly [key: string]: Value };
  timeoutMs: number;
}

export interface ReferencePlay {
  actions: readonly Value[];
  episodeReturn: number;
}

/**
 * The actions that follow the reset with the same arguments; undefined where the environment knows none.
 * @throws WireError as reset does
 */
export async function referencePlay(
  env: HostedEnv,
  start: ReferenceStart,
  lent: Lent,
): Promise<ReferencePlay | undefined> {
  const { definition } = env;
  if (definition.reference === undefined) return undefined;
  const { seed, task } = chooseStart(env, start.seed, start.task, start.split, start.options ?? {});
  const begin = () =>
    new Trial(
      {
        env: env.id,
        seed,
        index: 0,
        task: task === null ? undefined : env.tasks?.get(task),
        needs: definition.needs ?? [],
        timeoutMs: start.timeoutMs,
        onProgress: () => undefined,
      },
      lent,
    );
  const options = parseOptions(env, start.options ?? {});
  const resetTrial = begin();
  const { state } = await resetTrial.run(() => definition.reset(resetTrial, options) as Promise<{ state: unknown }>);
  const trial = begin();
  const reference = await trial.run(() => definition.reference?.(trial, state) as Promise<Reference<Value>>);
  return "actions" in reference ? reference : { actions: reference, episodeReturn: 1 };
}
