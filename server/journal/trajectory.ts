/** A whole trajectory, its source's part first: what the journal keeps of an episode as the wire shows it. */

import { encode, type Json, type Trajectory, type Transition } from "trailgym/protocol";
import type { EpisodeRecord, Journal } from "./journal.ts";

export interface PageRequest {
  /** `nextCursor` of the page before. */
  from: string | undefined;
  limit: number;
  /** Of the transitions' texts; the first one comes however long it is. */
  maxBytes: number;
}

export interface FoundTrajectory {
  readonly principal: string;
  readonly page: Trajectory & { nextCursor?: string };
}

type Reads = Pick<Journal, "episode" | "transitions">;

/** @returns undefined for an episode that is not kept. */
export async function readTrajectory(
  journal: Reads,
  id: string,
  { from, limit, maxBytes }: PageRequest,
): Promise<FoundTrajectory | undefined> {
  const record = await journal.episode(id);
  if (record === undefined) return undefined;
  const segments = await lineage(journal, record);
  let opening: Trajectory["opening"] = (segments[0]?.record ?? record).opening;
  let transitions: Transition[] = [];
  let next = Math.max(opening.index + 1, Number(from ?? 0) || 0);
  let room = maxBytes;
  let full = false;
  for (const { record: segment, to } of segments) {
    if (next > to || full) continue;
    if (next <= segment.opening.index) {
      // Its source has lost what led here.
      opening = segment.opening;
      transitions = [];
      next = opening.index + 1;
    }
    const range = { from: next, to, limit: limit - transitions.length, maxBytes: room };
    const found = await journal.transitions(segment.id, range);
    if (found.length === 0) continue;
    if ((found[0] as Transition).index > next) {
      // What came before is no longer kept: the first one that is left only says where the rest begins.
      const { index, observation, info, stateDigest } = found.shift() as Transition;
      opening = { index, observation, info, ...(stateDigest === undefined ? {} : { stateDigest }) };
      transitions = [];
    }
    transitions.push(...found);
    next = (found.at(-1)?.index ?? opening.index) + 1;
    room -= found.reduce((sum, transition) => sum + JSON.stringify(transition).length, 0);
    full = next <= to || transitions.length === limit || room <= 0;
  }
  const more = full && next <= record.last.index ? { nextCursor: String(next) } : {};
  return { principal: record.principal, page: { ...described(record), opening, transitions, ...more } };
}

interface Segment {
  record: EpisodeRecord;
  /** Index of the last of its transitions that belongs to the trajectory. */
  to: number;
}

/** The episode and those it branched off from, as far as they are kept; the first one first. */
async function lineage(journal: Reads, record: EpisodeRecord): Promise<Segment[]> {
  const segments: Segment[] = [{ record, to: record.last.index }];
  for (let { parent } = record; parent !== undefined;) {
    const source = await journal.episode(parent.episode);
    if (source === undefined) break;
    segments.unshift({ record: source, to: parent.index });
    parent = source.parent;
  }
  return segments;
}

function described(record: EpisodeRecord) {
  const { id, session, env, definition, task, seed, split, tools, parent, previous, last, openedAt, endedAt } = record;
  return {
    episode: id,
    session,
    env,
    ...(definition === undefined ? {} : { definition }),
    task,
    seed,
    ...(split === undefined ? {} : { split }),
    options: encode(record.options) as { [key: string]: Json },
    ...(tools === undefined ? {} : { tools: [...tools] }),
    ...(parent === undefined ? {} : { parent: { ...parent } }),
    ...(previous === undefined ? {} : { previous }),
    status: last.status,
    ended: endedAt !== undefined,
    steps: last.index,
    episodeReturn: last.episodeReturn,
    ...(last.stateDigest === undefined ? {} : { stateDigest: last.stateDigest }),
    openedAt,
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}
