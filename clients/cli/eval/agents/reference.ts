/** An agent that plays the environment's own solution, which only the server's own process can ask for. */

import type { Value } from "trailgym/protocol";
import type { Server } from "trailgym/server";
import { Failure } from "../../terminal/failure.ts";
import { type Agent, AgentError, type Refusal } from "./agent.ts";

export function referenceAgent(server: Server, options: Record<string, unknown> | undefined): Agent {
  let actions: readonly Value[] = [];
  const at = (index: number): Promise<Value> => {
    const action = actions[index];
    if (action !== undefined) return Promise.resolve(action);
    const problem = `the reference has ${actions.length} actions, and the episode goes on`;
    return Promise.reject(new AgentError("AGENT_GAVE_UP", problem));
  };
  return {
    async reset({ env, envSeed, task }) {
      const start = { seed: envSeed, options: (options ?? {}) as { readonly [key: string]: Value }, task: task?.id };
      const play = await server.reference(env.id, start);
      if (play === undefined) throw new Failure(`${env.id} has no reference; \`--agent random\` plays everything`);
      ({ actions } = play);
      return at(0);
    },
    step: ({ index }) => at(index),
    invalid: ({ message }: Refusal) => Promise.reject(new AgentError("AGENT_INVALID_ACTION", message)),
    end: () => undefined,
    abandon: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
