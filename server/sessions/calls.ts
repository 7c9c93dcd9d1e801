/** What reset, step and restore compute, and what they answer. */

import { randomUUID } from "node:crypto";
import { encode, type Json, type ToolSpec, type Value, WireError } from "trailgym/protocol";
import type { Episode, SessionRecord, Snapshot } from "../journal/journal.ts";
import type { HostedEnv } from "../registry.ts";
import type { Call, Session } from "./session.ts";
import { chooseStart, nextStart, parseAction, type Start, stepped, tryReset, tryStep } from "./transaction.ts";
import type { Trial } from "./trial.ts";

interface Counted {
  seq?: number | undefined;
  timeoutMs?: number | undefined;
}

interface ResetParams extends Counted {
  seed?: number | undefined;
  task?: string | undefined;
  split?: string | undefined;
  options?: { readonly [key: string]: Value } | undefined;
}

/** @param drawSeed called when the client gave no seed. */
export function resetCall(session: Session, params: ResetParams, drawSeed: () => number): Call {
  const { env } = session;
  const { seed, task, split, options } = params;
  return {
    seq: params.seq,
    method: "env/reset",
    key: keyOf("env/reset", { seed, task, split, options }),
    timeoutMs: params.timeoutMs,
    async run(begin) {
      const merged = { ...session.settings.options, ...options };
      const start = chooseStart(env, seed ?? drawSeed(), task, split, merged);
      const episode = await opens(env, start, begin(start.seed, 0, start.task));
      return { episode, result: { ...opening(episode), index: 0, stateDigest: episode.stateDigest } };
    },
  };
}

interface StepParams extends Counted {
  action: Value;
  extras?: Value | undefined;
}

export function stepCall(session: Session, params: StepParams): Call {
  const { env } = session;
  return {
    seq: params.seq,
    method: "env/step",
    key: keyOf("env/step", { action: params.action }),
    timeoutMs: params.timeoutMs,
    extras: params.extras === undefined ? undefined : encode(params.extras, "extras"),
    async run(begin) {
      const { episode, settings } = session.record;
      const { autoreset, digest } = settings;
      if (episode === undefined) throw resetNeeded("no episode has begun");
      if (episode.status !== "running") {
        if (autoreset !== "nextStep") throw resetNeeded(`the episode was ${episode.status}`);
        const next = await resetAfter(episode);
        return { episode: next, result: { ...transition(next, 0), nextEpisode: opened(next) } };
      }
      const action = parseAction(env, params.action);
      const trial = begin(episode.seed, episode.index + 1, episode.task);
      const { episode: after, reward } = stepped(env, episode, await tryStep(env, episode, action, trial));
      const ended = after.status !== "running";
      const result = transition(after, reward);
      if (!ended && digest === "end") delete result.stateDigest;
      if (!ended || autoreset !== "sameStep") return { episode: after, result };
      const next = await resetAfter(after);
      const { observation, info, stateDigest } = transition(next, 0);
      const last = { finalObservation: result.observation, finalInfo: result.info };
      return {
        episode: next,
        ended: after,
        result: { ...result, observation, info, stateDigest, ...last, nextEpisode: opened(next) },
      };

      async function resetAfter(ended: Episode): Promise<Episode> {
        const start = nextStart(env, ended);
        return opens(env, start, begin(start.seed, 0, start.task));
      }
    },
  };
}

export function restoreCall(
  session: Session,
  params: { seq?: number | undefined; snapshot: string },
  snapshot: Snapshot,
): Call {
  return {
    seq: params.seq,
    method: "env/restore",
    key: keyOf("env/restore", { snapshot: params.snapshot }),
    timeoutMs: undefined,
    run: () => {
      const episode = branch(snapshot.episode);
      const record = { ...session.record, seq: session.record.seq + 1, episode };
      return Promise.resolve({ episode, result: observed(record) });
    },
  };
}

async function opens(env: HostedEnv, start: Start, trial: Trial): Promise<Episode> {
  return { ...(await tryReset(env, start, trial)), definition: env.fingerprint };
}

/** An episode of its own that goes on from a committed value of another: what follows is no part of that one. */
export function branch(source: Episode): Episode {
  return { ...source, id: `ep-${randomUUID()}`, parent: { episode: source.id, index: source.index } };
}

/** The last committed value as `env/observe`, `env/restore` and `session/attach` give it. */
export function observed({ seq, episode }: SessionRecord) {
  if (episode === undefined) {
    return { status: "new" as const, observation: null, info: {}, index: 0, seq, episodeReturn: 0 };
  }
  const { status, observation, info, index, episodeReturn, stateDigest } = episode;
  return { status, observation, info, index, seq, episodeReturn, stateDigest };
}

function opening(episode: Episode) {
  return { observation: episode.observation, info: episode.info, ...opened(episode) };
}

function opened({ id, task, seed, tools }: Episode) {
  return { episode: id, task, seed, ...(tools === undefined ? {} : { tools: tools as ToolSpec[] }) };
}

interface TransitionResult {
  observation: Json;
  reward: number;
  terminated: boolean;
  truncated: boolean;
  info: { readonly [key: string]: Json };
  index: number;
  stateDigest?: string;
}

function transition(episode: Episode, reward: number): TransitionResult {
  return {
    observation: episode.observation,
    // −0 and 0 are one reward; JSON would need a tag for the first.
    reward: reward === 0 ? 0 : reward,
    terminated: episode.status === "terminated",
    truncated: episode.status === "truncated",
    info: episode.info,
    index: episode.index,
    stateDigest: episode.stateDigest,
  };
}

function resetNeeded(why: string): WireError {
  return WireError.of("RESET_NEEDED", `${why}: call env/reset`, {});
}

/** What a later call is held against to tell a retry; see `sameCall`. */
function keyOf(method: string, params: { [name: string]: unknown }): string {
  return JSON.stringify([method, encode(params)]);
}
