/** How are many episodes played side by side, when some of them fail for reasons that are nobody's? */

import { ClientError, WireError } from "trailgym/client";
import type { Agent } from "./agents/agent.ts";
import { type EpisodeSettings, playEpisode } from "./episode.ts";
import type { Planned } from "./plan.ts";
import type { EpisodeRecord, InfrastructureFailure } from "./record.ts";

export interface RunParts {
  readonly episodes: readonly Planned[];
  readonly concurrency: number;
  /** New attempts for each episode. */
  readonly retries: number;
  readonly agent: () => Agent;
  readonly settings: Omit<EpisodeSettings, "onStep" | "signal">;
  readonly signal: AbortSignal;
  readonly onRecord: (record: EpisodeRecord) => void;
  readonly onFailure: (failure: InfrastructureFailure) => void;
  /** The episode's last attempt failed: it does not count. */
  readonly onMissing: (episode: Planned) => void;
}

/** Names that every episode would meet: no reason to play on. */
const hopeless = new Set(["UNAUTHENTICATED", "FORBIDDEN", "UNKNOWN_ENV", "UNKNOWN_TASK", "INVALID_PARAMS"]);
/** Episodes lost in a row, for each worker, after which the server is not coming back. */
const LOST_IN_A_ROW = 5;

/** The client has given up on its server: whatever is left would meet a closed client. The cause is what it met first. */
export class ServerGone extends Error {
  override readonly name = "ServerGone";
}

/** @throws {@link ServerGone}; what is hopeless for every episode, and the signal's reason. What was played until then has been told. */
export async function runEpisodes(parts: RunParts): Promise<void> {
  const { episodes, concurrency, agent } = parts;
  const failed = new AbortController();
  const signal = AbortSignal.any([parts.signal, failed.signal]);
  const queue = episodes.values();
  const lost: Lost = { inARow: 0 };
  const work = async () => {
    await using player = agent();
    for (const episode of queue) {
      signal.throwIfAborted();
      await unlessAborted(playOne(episode, player, { ...parts, signal }, lost), signal);
    }
  };
  const workers = Array.from({ length: Math.min(concurrency, episodes.length) }, async () => {
    try {
      await work();
    } catch (error) {
      // The others stop too; theirs is then the same reason.
      failed.abort(error);
    }
  });
  await Promise.all(workers);
  signal.throwIfAborted();
}

interface Lost {
  inARow: number;
  /** The last time that the socket was. */
  connection?: unknown;
}

async function playOne(episode: Planned, player: Agent, parts: RunParts, lost: Lost): Promise<void> {
  const { retries, settings, signal, onRecord, onFailure, onMissing, concurrency } = parts;
  for (let attempt = 1; ; attempt++) {
    let steps = 0;
    try {
      const onStep = (count: number) => (steps = count);
      const record = await playEpisode(episode, player, { ...settings, signal, onStep });
      if (signal.aborted) return;
      lost.inARow = 0;
      return onRecord(record);
    } catch (error) {
      if (signal.aborted) return;
      const failure = failureOf(error);
      // Says only that this side knows already.
      if (isClosed(error)) throw gone(lost.connection ?? error);
      if (failure?.name === "CONNECTION_LOST") lost.connection = error;
      // Not the wire's and not the client's: a bug, or an agent that does not start.
      if (failure === undefined || hopeless.has(failure.name)) throw error;
      onFailure({ key: episode.key, attempt, error: failure, steps });
      if (attempt > retries || !isRetryable(error)) {
        onMissing(episode);
        if (++lost.inARow < LOST_IN_A_ROW * concurrency) return;
        throw failure.name === "CONNECTION_LOST" ? gone(error) : error;
      }
      await pause(waitMs(error, attempt), signal);
    }
  }
}

function gone(cause: unknown): ServerGone {
  return new ServerGone((cause as Error).message, { cause });
}

function isClosed(error: unknown): boolean {
  return error instanceof ClientError && error.code === "CLOSED";
}

function failureOf(error: unknown): { name: string; message: string } | undefined {
  if (error instanceof WireError) return { name: error.name, message: error.message };
  if (error instanceof ClientError) return { name: error.code, message: error.message };
  return undefined;
}

function isRetryable(error: unknown): boolean {
  // A session that is gone, such as with its server, is gone for its calls; an attempt makes another.
  return error instanceof WireError ? error.retryable || error.name === "UNKNOWN_SESSION" : true;
}

function waitMs(error: unknown, attempt: number): number {
  const asked = error instanceof WireError ? error.data.retryAfterMs : undefined;
  return typeof asked === "number" ? Math.min(asked, 30_000) : 100 * 2 ** Math.min(attempt, 8);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** An agent that thinks for minutes does not keep the run from stopping. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
