/** How is one episode played, and whose fault is it when it fails? */

import type { Client, Session, StepResult } from "trailgym/client";
import { RequestTooLarge, WireError } from "trailgym/client";
import { encode, type EnvEntry, type Value, ValueError } from "trailgym/protocol";
import { type Agent, AgentError, type Refusal } from "./agents/agent.ts";
import type { Planned } from "./plan.ts";
import type { EpisodeRecord, Versions } from "./record.ts";

export interface EpisodeSettings {
  readonly client: Client;
  readonly env: EnvEntry;
  readonly agentName: string;
  readonly versions: Versions;
  readonly options: Record<string, unknown> | undefined;
  readonly stepTimeoutMs: number | undefined;
  readonly maxSteps: number;
  readonly signal: AbortSignal;
  /** Told of each step, for the report of an episode that is lost. */
  readonly onStep: (steps: number) => void;
}

/** Actions in a row that do not fit the action schema, before the episode is the agent's failure. */
const MAX_REFUSALS = 10;

/**
 * Plays an episode to its end, or to the agent's own failure, which is part of the record.
 * @throws everything that is not the agent's: nothing may be concluded from such an episode.
 */
export async function playEpisode(planned: Planned, agent: Agent, settings: EpisodeSettings): Promise<EpisodeRecord> {
  const { client, env, options, stepTimeoutMs, maxSteps, signal, onStep } = settings;
  await using session = await client.make(env.id, { options, stepTimeoutMs, signal });
  const { task, key, episode, seed, agentSeed } = planned;
  const reset = await session.reset({ seed, task: task?.id, signal });
  const record: EpisodeRecord = {
    key,
    env: env.id,
    task: task?.id ?? null,
    family: typeof task?.family === "string" ? task.family : null,
    episode,
    seed,
    agentSeed,
    agent: settings.agentName,
    versions: settings.versions,
    observation: encode(reset.observation),
    transitions: [],
    return: 0,
    steps: 0,
    terminated: false,
    truncated: false,
    error: null,
  };
  let inPlay = true;
  try {
    const { tools = env.tools ?? [], observation } = reset;
    const start = { key, env, task, tools, observation: observation as Value, envSeed: seed, agentSeed };
    let action = await agent.reset(start);
    while (inPlay) {
      const [played, step] = await stepOnce(session, agent, action, signal);
      add(record, played, step);
      onStep(record.steps);
      if (record.steps >= maxSteps && !record.terminated) record.truncated = true;
      const seen = { observation: step.observation as Value, reward: step.reward };
      inPlay = !record.terminated && !record.truncated;
      if (inPlay) action = await agent.step({ ...seen, index: record.steps });
      else agent.end({ ...seen, terminated: record.terminated, truncated: record.truncated });
    }
  } catch (error) {
    if (inPlay) agent.abandon();
    if (!(error instanceof AgentError)) throw error;
    record.error = { name: error.name, message: error.message };
  }
  return record;
}

/** @returns the action that fitted, and what came of it. */
async function stepOnce(
  session: Session,
  agent: Agent,
  first: Value,
  signal: AbortSignal,
): Promise<[Value, StepResult]> {
  let action = first;
  for (let refusals = 1; ; refusals++) {
    try {
      return [action, await session.step(action, { signal })];
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      if (refusals >= MAX_REFUSALS) {
        throw new AgentError("AGENT_INVALID_ACTION", `${refusals} in a row, the last: ${refusal.message}`);
      }
      action = await agent.invalid(refusal);
    }
  }
}

/** What is wrong with the action itself; undefined when it is something else that failed. */
function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof WireError && error.name === "INVALID_ACTION") {
    const { issues } = error.data;
    return { message: error.message, issues: Array.isArray(issues) ? issues : [] };
  }
  if (error instanceof ValueError || error instanceof RequestTooLarge) return { message: error.message, issues: [] };
  return undefined;
}

function add(record: EpisodeRecord, action: Value, step: StepResult): void {
  const { observation, reward, terminated, truncated, info } = step;
  const transition = { action: encode(action), observation: encode(observation), reward, terminated, truncated };
  record.transitions.push({ ...transition, info: encode(info) });
  record.steps++;
  record.return += reward;
  record.terminated = terminated;
  record.truncated = truncated;
}
