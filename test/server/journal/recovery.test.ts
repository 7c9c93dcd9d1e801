import { expect, test } from "vitest";
import { createLog, type Journal } from "trailgym/server";
import { sqliteJournal } from "../../../server/journal/sqlite.ts";
import { digestOf } from "../../../server/sessions/digest.ts";
import { countdown } from "../../resources/envs.ts";
import { folders } from "../../resources/folder.ts";
import { serverResource } from "../../resources/server.ts";

const folder = folders("recovery");
const count = 10_000;

/** As many sessions, each at its `steps`-th step. */
async function fill(journal: Journal, steps: number): Promise<void> {
  const settings = {
    ...{ options: { start: 1000 }, leaseMs: 3_600_000, stepTimeoutMs: 1000 },
    ...({ autoreset: "disabled", digest: "step" } as const),
  };
  const each = (work: (record: { id: string; principal: string; env: string; settings: typeof settings }) => unknown) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        work({ id: `s-${i}`, principal: "local", env: "countdown-v1", settings }),
      ),
    );
  await each((record) => journal.open({ ...record, seq: 0, episode: undefined }));
  for (let index = 0; index <= steps; index++) {
    const remaining = 1000 - index;
    const stateDigest = digestOf(JSON.stringify({ remaining }));
    const shown = { observation: { remaining }, info: {}, index, stateDigest };
    await each((record) => {
      const start = { id: `ep-${record.id}`, seed: 1, task: null, split: undefined, options: {}, tools: undefined };
      const episode = { ...start, ...shown, status: "running" as const, state: { remaining }, episodeReturn: 0 };
      const result = JSON.stringify({ ...shown, reward: 0, terminated: false, truncated: false });
      return journal.append({ ...record, seq: index + 1, episode }, { seq: index, call: '["env/step",{}]', result });
    });
  }
}

test("10,000 sessions are there again within 3 s, and each is loaded in a few milliseconds when it is called", async () => {
  const data = folder();
  {
    await using journal = sqliteJournal(data, { log: createLog("silent") });
    await fill(journal, 3);
  }
  const before = process.cpuUsage();
  await using server = await serverResource({ envs: [countdown], config: { data } });
  const { user, system } = process.cpuUsage(before);
  // Of processor time: what else the machine does is not its recovery.
  expect((user + system) / 1e6).toBeLessThan(3);
  expect(server.server.sessions).toBe(count);
  const wire = await server.wire();
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    const attached = await wire.call("session/attach", { session: `s-${(i * 7919) % count}` });
    times.push(performance.now() - began);
    expect(attached).toMatchObject({ seq: 4, index: 3, observation: { remaining: 997 }, lastReply: { index: 3 } });
  }
  expect(times.toSorted((a, b) => a - b)[100]).toBeLessThan(5);
}, 60_000);
