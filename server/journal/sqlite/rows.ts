/** Rows and the values they stand for. States and options are the tagged JSON of the wire, keys in their own order. */

import { canonicalJson, decode, encode, type Json, type Status, type ToolSpec, type Value } from "trailgym/protocol";
import { digestOf } from "../../sessions/digest.ts";
import type { Episode, EpisodeRecord, SessionRecord, SessionSettings, SessionSummary, Snapshot } from "../journal.ts";

export type Row = { readonly [column: string]: string | number | null };

export function settingsText({ options, ...rest }: SessionSettings): string {
  return JSON.stringify({ ...rest, options: encode(options) });
}

function settingsOf(text: unknown): SessionSettings {
  const { options, ...rest } = JSON.parse(text as string) as SessionSettings;
  return { ...rest, options: recordOf(options as Json) };
}

export function stateText(episode: Episode | undefined): string | null {
  return episode === undefined ? null : JSON.stringify(encode(episode.state));
}

/** Columns of `openEpisode` between `name` and `opened_at`. */
export function episodeParams(
  episode: Episode,
  session: number,
  previous: number | null,
): readonly (string | number | null)[] {
  const { id, parent, definition, seed, task, split, options, tools } = episode;
  const { index, observation, info, stateDigest } = episode;
  const origin = [parent?.episode ?? null, parent?.index ?? null, definition ?? null];
  const start = [seed, task, split ?? null, JSON.stringify(encode(options)), tools ? JSON.stringify(tools) : null];
  const opening = [index, JSON.stringify(observation), JSON.stringify(info), stateDigest];
  return [id, session, previous, ...origin, ...start, ...opening];
}

export function sessionOf(row: Row): SessionRecord {
  const { name, principal, env, settings, seq } = row;
  return {
    id: name as string,
    principal: principal as string,
    env: env as string,
    settings: settingsOf(settings),
    seq: seq as number,
    episode: row["episode_name"] === null ? undefined : episodeOf(row),
  };
}

export function summaryOf(row: Row): SessionSummary {
  const id = row["name"] as string;
  return {
    id,
    principal: row["principal"] as string,
    env: row["env"] as string,
    settings: settingsOf(row["settings"]),
    seq: row["seq"] as number,
    episode: row["episode_name"] as string | null,
    status: row["status"] as Status,
    index: row["at"] as number,
    openedAt: row["opened_at"] as number,
    lease: { session: id, held: row["held"] === 1, usedAt: row["used_at"] as number },
  };
}

/** @throws Error when the state is not the one that was committed: its digest tells. */
function episodeOf(row: Row): Episode {
  const state = JSON.parse(row["state"] as string) as Json;
  const stateDigest = digestOf(canonicalJson(state));
  const { observation, info, stateDigest: committed } = lastValue(row);
  if (committed !== undefined && committed !== stateDigest) {
    throw new Error(`the journal's value of session ${row["name"]} is damaged: its digest is not the committed one`);
  }
  return {
    ...startOf(row, row["episode_name"] as string),
    index: row["at"] as number,
    status: row["status"] as Episode["status"],
    state: decode(state),
    stateDigest,
    observation,
    info,
    episodeReturn: row["episode_return"] as number,
  };
}

function startOf(row: Row, id: string) {
  const { parent, parent_index: index, definition, seed, task, split, options, tools } = row;
  return {
    id,
    ...(parent === null ? {} : { parent: { episode: parent as string, index: index as number } }),
    ...(definition === null ? {} : { definition: definition as string }),
    seed: seed as number,
    task: task as string | null,
    split: (split ?? undefined) as string | undefined,
    options: recordOf(JSON.parse(options as string) as Json),
    tools: tools === null ? undefined : (JSON.parse(tools as string) as ToolSpec[]),
  };
}

type Shown = Pick<Episode, "observation" | "info"> & { stateDigest?: string };

/** What the session's last reply showed; of a fork that was not called yet, what it began with. */
function lastValue(row: Row): Shown {
  return row["result"] === null ? openingOf(row) : (JSON.parse(row["result"] as string) as Shown);
}

function openingOf(row: Row) {
  return {
    index: row["opening_index"] as number,
    observation: JSON.parse(row["opening_observation"] as string) as Json,
    info: JSON.parse(row["opening_info"] as string) as { [key: string]: Json },
    stateDigest: row["opening_digest"] as string,
  };
}

/** @param row of an episode, its `last_…` columns those of its session's head while it runs. */
export function episodeRecordOf(row: Row): EpisodeRecord {
  const opening = openingOf(row);
  const index = (row["last_index"] ?? opening.index) as number;
  const shown = index > opening.index ? lastValue(row).stateDigest : opening.stateDigest;
  return {
    ...startOf(row, row["name"] as string),
    session: row["session_name"] as string,
    principal: row["principal"] as string,
    env: row["env"] as string,
    previous: (row["previous_name"] ?? undefined) as string | undefined,
    opening,
    last: {
      index,
      status: row["status"] as Episode["status"],
      stateDigest: (row["last_digest"] ?? shown ?? undefined) as string | undefined,
      episodeReturn: row["episode_return"] as number,
    },
    openedAt: row["opened_at"] as number,
    endedAt: (row["ended_at"] ?? undefined) as number | undefined,
  };
}

export function snapshotText({ episode, settings, ...rest }: Snapshot): string {
  const encoded = { ...episode, state: encode(episode.state), options: encode(episode.options) };
  return JSON.stringify({ ...rest, settings: settingsText(settings), episode: encoded });
}

export function snapshotOf(text: string): Snapshot {
  const { settings, episode, label, ...rest } = JSON.parse(text) as Omit<Snapshot, "settings"> & { settings: string };
  const { state, options, split, tools, ...values } = episode;
  return {
    ...rest,
    settings: settingsOf(settings),
    label,
    episode: {
      ...values,
      split,
      tools,
      state: decode(state as Json),
      options: recordOf(options as Json),
    },
  };
}

function recordOf(json: Json): { readonly [key: string]: Value } {
  return decode(json) as { readonly [key: string]: Value };
}
