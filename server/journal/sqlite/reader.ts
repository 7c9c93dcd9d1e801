/** Everything that is asked of the database, as rows. */

import type { Database, Statement } from "better-sqlite3";
import type { PageOptions, Range, Reply } from "../journal.ts";
import { type KeptCall } from "../transitions.ts";
import type { Row } from "./rows.ts";

const episodeColumns = `e.parent, e.parent_index, e.definition, e.seed, e.task, e.split, e.options, e.tools,
  e.opening_index, e.opening_observation, e.opening_info, e.opening_digest`;

const summaries = (where: string) => `
  SELECT s.id, s.name, s.principal, s.env, s.settings, s.opened_at, s.held, s.used_at, h.seq, h.at, h.status,
    e.name AS episode_name
  FROM sessions s JOIN heads h ON h.session = s.id LEFT JOIN episodes e ON e.id = h.episode
  WHERE s.ended_at IS NULL AND s.id > @after ${where} ORDER BY s.id LIMIT @limit`;

const queries = {
  session: `
    SELECT s.id, s.name, s.principal, s.env, s.settings, h.seq, h.last_commit, h.at, h.status, h.episode_return, h.state,
      h.episode, e.name AS episode_name, e.ended_at, ${episodeColumns}, c.result
    FROM sessions s JOIN heads h ON h.session = s.id LEFT JOIN episodes e ON e.id = h.episode
      LEFT JOIN commits c ON c.id = h.last_commit
    WHERE s.name = ? AND s.ended_at IS NULL`,
  openId: `SELECT id FROM sessions WHERE name = ? AND ended_at IS NULL`,
  position: `
    SELECT h.seq, h.last_commit FROM sessions s JOIN heads h ON h.session = s.id WHERE s.name = ? AND s.ended_at IS NULL`,
  fate: `SELECT principal, reason FROM sessions WHERE name = ? AND ended_at IS NOT NULL`,
  all: summaries(""),
  own: summaries("AND s.principal = @principal"),
  snapshot: `SELECT record FROM snapshots WHERE name = ?`,
  previous: `SELECT previous FROM commits WHERE id = ?`,
  commit: `SELECT seq, call, result, extras FROM commits WHERE id = ?`,
  latestEpisode: `
    SELECT e.name FROM sessions s JOIN episodes e ON e.session = s.id WHERE s.name = ? ORDER BY e.id DESC LIMIT 1`,
  episodes: `SELECT id, name FROM episodes WHERE id > ? ORDER BY id LIMIT ?`,
  episode: `
    SELECT e.id, e.name, s.name AS session_name, s.principal, s.env, p.name AS previous_name, ${episodeColumns},
      e.opened_at, e.opened_by, e.opened_within, e.ended_at, e.last_digest, c.result,
      iif(e.ended_at IS NULL, h.last_commit, e.last_commit) AS last_commit, ifnull(e.last_index, h.at) AS last_index,
      ifnull(e.status, h.status) AS status, ifnull(e.episode_return, h.episode_return) AS episode_return
    FROM episodes e JOIN sessions s ON s.id = e.session LEFT JOIN episodes p ON p.id = e.previous
      LEFT JOIN heads h ON h.session = e.session AND e.ended_at IS NULL
      LEFT JOIN commits c ON c.id = iif(e.ended_at IS NULL, h.last_commit, e.last_commit)
    WHERE e.name = ?`,
} as const;

type Queries = { readonly [Name in keyof typeof queries]: Statement<unknown[], Row> };

export class Reader {
  readonly #queries: Queries;
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
    this.#queries = Object.fromEntries(
      Object.entries(queries).map(([name, sql]) => [name, db.prepare(sql)]),
    ) as Queries;
  }

  session(name: string): Row | undefined {
    return this.#queries.session.get(name);
  }

  openId(name: string): number | undefined {
    return this.#queries.openId.get(name)?.["id"] as number | undefined;
  }

  fate(name: string): Row | undefined {
    return this.#queries.fate.get(name);
  }

  /** The cursor of a page is the last row's `id`. */
  summaries(principal: string | undefined, { after, limit }: PageOptions): Row[] {
    const page = { after: Number(after ?? 0) || 0, limit };
    return principal === undefined ? this.#queries.all.all(page) : this.#queries.own.all({ ...page, principal });
  }

  /** @param kept how far back from the last one. */
  reply(session: string, seq: number, kept: number): Reply | undefined {
    const position = this.#queries.position.get(session);
    if (position === undefined) return undefined;
    let back = (position["seq"] as number) - 1 - seq;
    if (back < 0 || back >= kept) return undefined;
    let id = position["last_commit"] as number | null;
    for (; back > 0 && id !== null; back--) id = this.#previous(id);
    const row = id === null ? undefined : this.#queries.commit.get(id);
    return row && { seq: row["seq"] as number, call: row["call"] as string, result: row["result"] as string };
  }

  snapshot(name: string): string | undefined {
    return this.#queries.snapshot.get(name)?.["record"] as string | undefined;
  }

  episode(name: string): Row | undefined {
    return this.#queries.episode.get(name);
  }

  latestEpisode(session: string): string | undefined {
    return this.#queries.latestEpisode.get(session)?.["name"] as string | undefined;
  }

  episodes({ after, limit }: PageOptions): Row[] {
    return this.#queries.episodes.all(Number(after ?? 0) || 0, limit);
  }

  /** Calls of an episode's own transitions from index `from` to `to`, in order; as many as there are without a gap at the end. */
  *calls(episode: Row, { from, to, limit }: Range): Generator<KeptCall> {
    const opening = episode["opening_index"] as number;
    const ids: number[] = [];
    let id = episode["last_commit"] as number | null;
    const first = Math.max(from, opening + 1);
    for (let index = episode["last_index"] as number; index >= first && id !== null; index--) {
      if (index <= to) ids.push(id);
      id = this.#previous(id);
    }
    for (const found of ids.reverse().slice(0, limit)) {
      const row = this.#queries.commit.get(found);
      if (row === undefined) return;
      const extras = row["extras"] as string | null;
      yield {
        call: row["call"] as string,
        result: row["result"] as string,
        extras: extras === null ? undefined : (JSON.parse(extras) as KeptCall["extras"]),
      };
    }
  }

  countSnapshots(): number {
    return this.#db.prepare("SELECT count(*) FROM snapshots").pluck().get() as number;
  }

  /** 0 where there are no rows. */
  max(table: "sessions" | "commits" | "episodes" | "snapshots", column: "id" | "used" = "id"): number {
    return (this.#db.prepare(`SELECT max(${column}) AS n FROM ${table}`).get() as { n: number | null }).n ?? 0;
  }

  #previous(id: number): number | null {
    return (this.#queries.previous.get(id)?.["previous"] ?? null) as number | null;
  }
}
