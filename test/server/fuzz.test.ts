import fc from "fast-check";
import { expect } from "vitest";
import { verifies } from "../e2e/verifies.ts";
import { countdown, echo, quiz } from "../resources/envs.ts";
import { manualClock, until } from "../resources/events.ts";
import { anyFrame, expectedIds } from "../resources/fuzz.ts";
import { begin, step } from "../resources/play.ts";
import { serverResource } from "../resources/server.ts";
import type { Wire } from "../resources/wire.ts";

const maxBatch = 5;
const runs = 200;
const framesEach = 100;

/** Id → how many replies carried it. */
function tally(ids: readonly unknown[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(JSON.stringify(id), (counts.get(JSON.stringify(id)) ?? 0) + 1);
  return counts;
}

function repliedIds(frames: readonly string[]): unknown[] {
  const messages = frames.flatMap((text) => JSON.parse(text) as { id: unknown; method?: string }[]);
  return messages.filter(({ method }) => method === undefined).map(({ id }) => id);
}

verifies(
  "bad-input/fuzz",
  async () => {
    const clock = manualClock();
    const config = { maxBatch, maxMessageBytes: 2 ** 16, maxSessions: 1e6 };
    await using server = await serverResource({ envs: [countdown, echo, quiz], config, now: clock.now });
    const bystander = await server.wire();
    const theirs = await begin(bystander, "countdown-v1", { options: { start: 1000 } });
    const snapshotOf = await bystander.call("env/snapshot", { session: theirs });
    let sent = 0;
    let steps = 0;

    const storm = async (frames: readonly string[]) => {
      const wire: Wire = await server.wire();
      const session = await begin(wire, "countdown-v1", { options: { start: 5 }, autoreset: "sameStep" });
      const before = wire.frames.length;
      const texts = frames.map((frame) =>
        // What the server will read: the socket carries no unpaired surrogate.
        Buffer.from(frame.replaceAll("$session", session).replaceAll("$snapshot", snapshotOf.snapshot)).toString(),
      );
      const expected = texts.flatMap((text) => expectedIds(text, maxBatch));
      for (const text of texts) wire.send(text);
      sent += texts.length;
      await until(() => repliedIds(wire.frames.slice(before)).length >= expected.length);
      // Whatever comes too much comes before this.
      const { text } = await wire.request("env/observe", { session }, "the last call of all");
      const replies = wire.frames.slice(before).filter((frame) => frame !== text);
      expect(tally(repliedIds(replies))).toEqual(tally(expected));
      expect(await step(bystander, theirs, { amount: 1 })).toMatchObject({ index: ++steps });
      await wire.drop();
    };
    const batchesOfFrames = fc.array(anyFrame, { minLength: framesEach, maxLength: framesEach });
    await fc.assert(fc.asyncProperty(batchesOfFrames, storm), { numRuns: runs, endOnFailure: true });

    expect(sent).toBeGreaterThanOrEqual(20_000);
    // Sessions that the storm opened, its notifications too, are held by nobody now.
    await until(() => server.server.sockets === 1);
    expect(server.server.sessions).toBeGreaterThan(runs);
    clock.advance(8 * 86_400_000);
    await until(() => server.server.sessions === 1);
    expect(await step(bystander, theirs, { amount: 1 })).toMatchObject({ index: ++steps });
  },
  60_000,
);
