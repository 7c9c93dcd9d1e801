/** Which transition did a committed call make? The call and its reply say it all. */

import type { Json, Transition } from "trailgym/protocol";
import type { Range } from "./journal.ts";

/** A call as it is kept for trajectories. */
export interface KeptCall {
  readonly call: string;
  readonly result: string;
  readonly extras: Json | undefined;
}

interface StepReply {
  observation: Json;
  reward: number;
  terminated: boolean;
  truncated: boolean;
  info: { [key: string]: Json };
  index: number;
  stateDigest?: string;
  finalObservation?: Json;
  finalInfo?: { [key: string]: Json };
}

/**
 * @param call a step, and none whose action went unused because autoreset only opened the next episode with it
 * @param finalDigest of the episode's last value: where autoreset went on at once, the reply has the next one's instead.
 */
function transitionOf({ call, result, extras }: KeptCall, finalDigest: string): Transition {
  const [, params] = JSON.parse(call) as [string, { action: Json }];
  const reply = JSON.parse(result) as StepReply;
  const sameStep = reply.finalObservation !== undefined;
  const stateDigest = sameStep ? finalDigest : reply.stateDigest;
  return {
    index: reply.index,
    action: params.action,
    observation: sameStep ? reply.finalObservation : reply.observation,
    reward: reply.reward,
    terminated: reply.terminated,
    truncated: reply.truncated,
    info: (sameStep ? reply.finalInfo : reply.info) ?? {},
    ...(stateDigest === undefined ? {} : { stateDigest }),
    ...(extras === undefined ? {} : { extras: extras as { [key: string]: Json } }),
  };
}

/** As many of `calls`, one a transition and in order, as the range has room for. */
export function transitionsOf(calls: Iterable<KeptCall>, range: Range, finalDigest: string): Transition[] {
  const found: Transition[] = [];
  let bytes = 0;
  for (const call of calls) {
    bytes += call.call.length + call.result.length;
    if (found.length === range.limit || (bytes > range.maxBytes && found.length > 0)) break;
    found.push(transitionOf(call, finalDigest));
  }
  return found;
}
