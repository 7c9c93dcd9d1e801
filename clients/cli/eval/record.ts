/** What is written of an episode? Nothing in it depends on the clock or the machine: the same run writes the same bytes. */

import type { Json } from "trailgym/protocol";

export interface Versions {
  trailgym: string;
  protocol: string;
}

/** Values are tagged as on the wire. */
export interface RecordedTransition {
  action: Json;
  observation: Json;
  reward: number;
  terminated: boolean;
  truncated: boolean;
  info: Json;
}

export interface EpisodeError {
  /** Of the agent: AGENT_CRASHED and so on. Of the server's side: the wire's names, or the client's codes. */
  name: string;
  message: string;
}

/** One line of `trajectories.jsonl`. */
export interface EpisodeRecord {
  key: string;
  env: string;
  task: string | null;
  family: string | null;
  episode: number;
  seed: number;
  agentSeed: number;
  agent: string;
  versions: Versions;
  /** What the agent saw first. */
  observation: Json;
  transitions: RecordedTransition[];
  return: number;
  steps: number;
  terminated: boolean;
  /** By the environment, or by the harness at its `--max-steps`: then the last transition does not say so. */
  truncated: boolean;
  /** The agent's own failure; the episode counts with the return that it had. */
  error: EpisodeError | null;
}

/** An episode without its transitions: all that a summary needs. */
export type Outcome = Omit<EpisodeRecord, "observation" | "transitions" | "versions" | "agent" | "env">;

/** One line of `infrastructure.jsonl`: an attempt that says nothing about the agent. */
export interface InfrastructureFailure {
  key: string;
  attempt: number;
  error: EpisodeError;
  /** Steps that had been played. */
  steps: number;
}
