/** What may an agent do, and what is it told? The same client, typed for a token of the role agent. */

import type { ResultOf } from "trailgym/protocol";
import type { Client } from "./client.ts";
import type { CallOptions } from "./connection/connection.ts";
import type { Session, StepOptions } from "./session.ts";

/** `reward`, `info` and `stateDigest` only where the token discloses them. */
export type AgentStepResult<Observation = unknown> = ResultOf<"env/step"> & {
  observation: Observation;
  finalObservation?: Observation;
};
/** `episodeReturn`, `info` and `stateDigest` only where the token discloses them. */
export type AgentObserveResult<Observation = unknown> = ResultOf<"env/observe"> & { observation: Observation };

/** Plays the episodes that a trainer of the same principal begins with `reset`. */
export interface AgentSession<Observation = unknown, Action = unknown>
  extends Pick<Session<Observation, Action>, "id" | "env" | "seq" | "resync" | "detach">, AsyncDisposable {
  step(action: Action, options?: StepOptions): Promise<AgentStepResult<Observation>>;
  observe(options?: CallOptions): Promise<AgentObserveResult<Observation>>;
}

/** What `connect` gives with `role: "agent"`. */
export interface AgentClient extends Pick<Client, "welcome" | "list" | "tasks" | "call" | "close">, AsyncDisposable {
  attach<Observation = unknown, Action = unknown>(
    session: string,
    options?: CallOptions,
  ): Promise<AgentSession<Observation, Action>>;
}
