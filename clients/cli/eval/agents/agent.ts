/** What is an agent to the harness, and which failures are its own? */

import type { EnvEntry, ToolSpec, Value } from "trailgym/protocol";
import type { PublicTask } from "trailgym/env";

export interface Start {
  readonly key: string;
  readonly env: EnvEntry;
  readonly task: PublicTask | null;
  readonly tools: readonly ToolSpec[];
  readonly observation: Value;
  /** Of the environment: for agents that are part of the harness, and never for others. */
  readonly envSeed: number;
  readonly agentSeed: number;
}

export interface Seen {
  readonly observation: Value;
  /** Steps so far. */
  readonly index: number;
  readonly reward: number;
}

export interface Refusal {
  readonly message: string;
  readonly issues: readonly unknown[];
}

export interface Ending extends Omit<Seen, "index"> {
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** Plays one episode at a time. The verbs that return an action throw {@link AgentError} for the agent's own failures. */
export interface Agent extends AsyncDisposable {
  /** @returns the first action. */
  reset(start: Start): Promise<Value>;
  step(seen: Seen): Promise<Value>;
  /** The last action was not in the action schema, and nothing happened. @returns another one. */
  invalid(refusal: Refusal): Promise<Value>;
  /** The episode is over. Not called after a failure of this agent. */
  end(ending: Ending): void;
  /** The episode was lost through no fault of the agent. */
  abandon(): void;
}

export const agentErrorNames = [
  "AGENT_CRASHED",
  "AGENT_TIMEOUT",
  "AGENT_PROTOCOL",
  "AGENT_INVALID_ACTION",
  "AGENT_GAVE_UP",
] as const;

/** The agent's failure in one episode. */
export class AgentError extends Error {
  override readonly name: (typeof agentErrorNames)[number];
  /** It ended by itself, in order, without an answer. */
  readonly left: boolean;
  constructor(name: (typeof agentErrorNames)[number], message: string, left = false) {
    super(message);
    this.name = name;
    this.left = left;
  }
}
