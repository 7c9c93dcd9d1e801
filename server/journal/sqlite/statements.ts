/** Every change that the journal makes. Those of a step are `commit` and `head`. */

export const statements = {
  openSession: `
    INSERT INTO sessions (id, name, principal, env, settings, opened_at, held, used_at) VALUES (?, ?, ?, ?, ?, ?, 0, ?)`,
  openHead: `
    INSERT INTO heads (session, seq, episode, at, status, episode_return, state) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  commit: `
    INSERT INTO commits (id, session, seq, previous, call, result, extras) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  head: `
    UPDATE heads SET seq = ?, episode = ?, last_commit = ?, at = ?, status = ?, episode_return = ?, state = ?
    WHERE session = ?`,
  openEpisode: `
    INSERT INTO episodes (id, name, session, previous, parent, parent_index, definition, seed, task, split, options, tools,
      opening_index, opening_observation, opening_info, opening_digest, opened_at, opened_by, opened_within)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  endEpisode: `
    UPDATE episodes SET ended_at = ?, last_commit = ?, last_index = ?, last_digest = ?, status = ?, episode_return = ?
    WHERE id = ?`,
  /** The one that the session plays, where it has not ended by itself; before its head is changed or dropped. */
  giveUpEpisode: `
    UPDATE episodes SET ended_at = ?, (last_commit, last_index, status, episode_return) =
      (SELECT last_commit, at, status, episode_return FROM heads WHERE session = ?)
    WHERE id = (SELECT episode FROM heads WHERE session = ?) AND ended_at IS NULL`,
  endSession: `
    UPDATE sessions SET ended_at = ?, reason = ? WHERE id = ? AND ended_at IS NULL`,
  dropHead: `
    DELETE FROM heads WHERE session = ?`,
  lease: `
    UPDATE sessions SET held = ?, used_at = ? WHERE name = ? AND ended_at IS NULL`,
  putSnapshot: `
    INSERT INTO snapshots (name, used, record) VALUES (?, ?, ?)`,
  useSnapshot: `
    UPDATE snapshots SET used = ? WHERE name = ?`,
  dropUnusedSnapshot: `
    DELETE FROM snapshots WHERE used = (SELECT min(used) FROM snapshots)`,
  /** The transitions behind its new last one are gone. */
  cutEpisode: `
    UPDATE episodes SET last_commit = ? WHERE id = ?`,
  dropCommit: `
    DELETE FROM commits WHERE id = ?`,
  dropEpisode: `
    DELETE FROM episodes WHERE id = ?`,
  forgetSession: `
    DELETE FROM sessions WHERE id = ?`,
} as const;

export type StatementName = keyof typeof statements;
