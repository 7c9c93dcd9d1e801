/** What was played, as long as memory is lent for it: the oldest episodes go first. */

import type { Transition } from "trailgym/protocol";
import type { Commit, Episode, EpisodeRecord, Page, PageOptions, Range, Reply, SessionRecord } from "./journal.ts";
import { type KeptCall, transitionsOf } from "./transitions.ts";

/** A commit without the values that it led to. */
export type Kept = Reply & KeptCall;

interface Entry {
  readonly record: Omit<EpisodeRecord, "last" | "endedAt">;
  last: EpisodeRecord["last"];
  endedAt: number | undefined;
  /** One a transition, in order; the last one has index `last.index`. */
  calls: Kept[];
  bytes: number;
}

/** An episode that has lost its transitions still says that it was played, so many times. */
const keptRecords = 10_000;

export class MemoryEpisodes {
  readonly #maxBytes: number;
  #bytes = 0;
  /** Oldest first; one that runs and was cut goes to the end. */
  readonly #entries = new Map<string, Entry>();
  readonly #latest = new Map<string, string>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** `before` and `after` are the session's record before and after the call; `ended` as in {@link Commit}. */
  commit(before: SessionRecord, after: SessionRecord, kept: Kept, ended: Commit["ended"]): void {
    const { episode } = after;
    if (episode === undefined) return;
    if (before.episode?.id === episode.id) this.#add(episode, kept);
    else {
      if (ended !== undefined) this.#add(ended, kept);
      else if (before.episode !== undefined) this.end(before.episode);
      this.begin(after, episode);
    }
  }

  begin({ id: session, principal, env }: SessionRecord, episode: Episode): void {
    const { id, parent, definition, seed, task, split, options, tools } = episode;
    const { index, observation, info, stateDigest } = episode;
    const previous = this.#latest.get(session);
    const record = {
      ...{ id, session, principal, env, seed, task, split, options, tools, previous },
      ...(parent === undefined ? {} : { parent }),
      ...(definition === undefined ? {} : { definition }),
      opening: { index, observation, info, stateDigest },
      openedAt: Date.now(),
    };
    this.#entries.set(id, { record, last: episode, endedAt: undefined, calls: [], bytes: 0 });
    this.#latest.set(session, id);
    this.#makeRoom();
  }

  end({ id }: Episode): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.endedAt ??= Date.now();
    entry.last = lastOf(entry.last);
  }

  get(id: string): EpisodeRecord | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    return { ...entry.record, last: lastOf(entry.last), endedAt: entry.endedAt };
  }

  latestOf(session: string): string | undefined {
    return this.#latest.get(session);
  }

  ids({ after, limit }: PageOptions): Page<string> {
    const all = [...this.#entries.keys()];
    const from = after === undefined ? 0 : all.indexOf(after) + 1;
    const items = all.slice(from, from + limit);
    return { items, next: from + limit < all.length ? items.at(-1) : undefined };
  }

  transitions(id: string, range: Range): Transition[] {
    const entry = this.#entries.get(id);
    if (entry === undefined) return [];
    const { calls, last } = entry;
    const first = last.index - calls.length + 1;
    const wanted = calls.slice(Math.max(0, range.from - first), Math.max(0, range.to - first + 1));
    return transitionsOf(wanted, range, last.stateDigest ?? "");
  }

  clear(): void {
    this.#entries.clear();
    this.#latest.clear();
    this.#bytes = 0;
  }

  #add(episode: Episode, kept: Kept): void {
    const entry = this.#entries.get(episode.id);
    if (entry === undefined) return;
    const bytes = kept.call.length + kept.result.length;
    entry.calls.push(kept);
    entry.last = episode;
    entry.bytes += bytes;
    this.#bytes += bytes;
    if (episode.status !== "running") this.end(episode);
    if (this.#bytes > this.#maxBytes) this.#makeRoom();
  }

  #makeRoom(): void {
    let left = this.#entries.size;
    for (const [id, entry] of this.#entries) {
      const fits = this.#bytes <= this.#maxBytes && this.#entries.size <= keptRecords;
      // Once around: those that run come up again behind the others.
      if (fits || left-- === 0) return;
      this.#bytes -= entry.bytes;
      this.#entries.delete(id);
      if (entry.endedAt === undefined) this.#entries.set(id, Object.assign(entry, { calls: [], bytes: 0 }));
      else if (this.#latest.get(entry.record.session) === id) this.#latest.delete(entry.record.session);
    }
  }
}

/** Without the state: an episode that has ended needs none. */
function lastOf({ index, status, stateDigest, episodeReturn }: EpisodeRecord["last"]): EpisodeRecord["last"] {
  return { index, status, stateDigest, episodeReturn };
}
