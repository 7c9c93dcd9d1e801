/** The recorded sessions are what this server says: the golden transcript that both clients are held to as well. */

import { expect, test } from "vitest";
import { countdown } from "../resources/envs.ts";
import { type Bindings, playExchange, recordings } from "../resources/recordings.ts";
import { serverResource } from "../resources/server.ts";

test.each(recordings())("$file: $summary", async ({ exchanges }) => {
  await using server = await serverResource({ envs: [countdown] });
  const wire = await server.wire();
  const bindings: Bindings = new Map();
  for (const exchange of exchanges) {
    const replies = await playExchange(wire, exchange, bindings);
    const recorded = Array.isArray(exchange) ? exchange : [exchange];
    expect(replies).toEqual(recorded.map(({ result, error }) => (error === undefined ? { result } : { error })));
  }
});
