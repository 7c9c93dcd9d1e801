/** Episodes of a database, as every journal gives them. */

import type { Journal, Page, PageOptions, Range } from "../journal.ts";
import type { JournalReader } from "../operator.ts";
import { transitionsOf } from "../transitions.ts";
import { callError } from "./failure.ts";
import { openForReading } from "./open.ts";
import { Reader } from "./reader.ts";
import { episodeRecordOf, type Row } from "./rows.ts";

export function episodesOf(reader: Reader): Pick<Journal, "episodes" | "latestEpisode" | "episode" | "transitions"> {
  return {
    episodes: (page: PageOptions) =>
      read(() =>
        paged(reader.episodes({ ...page, limit: page.limit + 1 }), page.limit, (row) => row["name"] as string),
      ),
    latestEpisode: (session) => read(() => reader.latestEpisode(session)),
    episode: (id) =>
      read(() => {
        const row = reader.episode(id);
        return row && episodeRecordOf(row);
      }),
    transitions: (episode, range: Range) =>
      read(() => {
        const row = reader.episode(episode);
        return row === undefined
          ? []
          : transitionsOf(reader.calls(row, range), range, (row["last_digest"] ?? "") as string);
      }),
  };
}

/** @throws JournalError */
export function readEpisodes(folder: string): JournalReader {
  const opened = openForReading(folder);
  return { ...episodesOf(new Reader(opened.db)), [Symbol.dispose]: () => opened[Symbol.dispose]() };
}

/** @param rows one more than the page has room for where there are more */
export function paged<T>(rows: readonly Row[], limit: number, map: (row: Row) => T): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items: items.map(map), next: rows.length > limit && last !== undefined ? String(last["id"]) : undefined };
}

/** Reads happen at once; only their errors need a promise. */
export function read<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(callError(error));
  }
}
