/** An agent that knows nothing but what an action looks like. */

import { rng, type Rng, sampleAction, sampleToolCall } from "trailgym/env";
import type { Value } from "trailgym/protocol";
import { type Agent, AgentError, type Start } from "./agent.ts";

/** Each action is drawn from (the agent's seed, its index): the same seed plays the same, whatever else runs. */
export function randomAgent(): Agent {
  let start: Start;
  let index = 0;
  let draw: Rng;
  const action = (): Value => {
    const { tools, env } = start;
    try {
      return (tools.length > 0 ? sampleToolCall(tools, draw) : sampleAction(env.actionSchema, draw)) as Value;
    } catch (error) {
      throw new AgentError("AGENT_GAVE_UP", `no random action can be made: ${(error as Error).message}`);
    }
  };
  const next = () => {
    draw = rng(start.agentSeed, index);
    return Promise.resolve(action());
  };
  return {
    reset(given) {
      [start, index] = [given, 0];
      return next();
    },
    step(seen) {
      index = seen.index;
      return next();
    },
    // The same generator goes on, so the second try is another one.
    invalid: () => Promise.resolve(action()),
    end: () => undefined,
    abandon: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
