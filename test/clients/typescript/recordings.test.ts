/** The recorded sessions are what this client says and hears: the golden transcript that the server is held to as well. */

import { connect } from "trailgym/client";
import { expect, test } from "vitest";
import { type Recording, recordings } from "../../resources/recordings.ts";
import { Player, recordedServer } from "./replay.ts";

/** @returns what was played by a verb of the client. */
async function replay(recording: Recording): Promise<ReadonlySet<string>> {
  await using server = await recordedServer(recording);
  await using client = await connect(server.url);
  const player = new Player(client);
  for (const exchange of recording.exchanges) {
    const recorded = Array.isArray(exchange) ? exchange : [exchange];
    const handed = await player.play(exchange);
    const requests = recorded.map(({ method, params }) => ({ method, params, frame: recorded.length }));
    expect(server.heard()).toEqual(requests);
    expect(handed).toHaveLength(recorded.length);
    for (const [i, { whole, ...got }] of handed.entries()) {
      const { result, error } = recorded[i] ?? {};
      const answer = error === undefined ? { result } : { error };
      if (whole) expect(got).toEqual(answer);
      else expect(answer).toMatchObject(got);
    }
  }
  return player.byVerb;
}

test.each(recordings())("$file: $summary", async (recording) => {
  await replay(recording);
});

test("every verb of a session is in some recording", async () => {
  const played = await Promise.all(recordings().map(replay));
  expect([...new Set(played.flatMap((verbs) => [...verbs]))].toSorted()).toEqual([
    "batch",
    "env/close",
    "env/fork",
    "env/make",
    "env/observe",
    "env/reset",
    "env/restore",
    "env/snapshot",
    "env/step",
    "session/attach",
  ]);
});
