import { expect, test } from "vitest";
import { memoryJournal } from "trailgym/server";
import { episode, journalContract, played, reset, sessionRecord, step, transitions } from "../../contracts/journal.ts";

const options = { keptReplies: 3, maxSnapshots: 2 };
journalContract("memory", () => Promise.resolve(memoryJournal(options)), options);

const size = (steps: number) => {
  const { call, result } = step(1, episode("e", 1));
  return steps * (call.length + result.length + 5);
};

test("beyond its bound the oldest episodes lose their transitions first, whole if they have ended", async () => {
  await using journal = memoryJournal({ maxBytes: size(10) });
  await played(journal, "a", "e", 4);
  await played(journal, "b", "f", 4);
  await journal.end("a", "closed");
  await played(journal, "c", "g", 4);
  expect(await journal.episode("e")).toBeUndefined();
  expect(await journal.latestEpisode("a")).toBeUndefined();
  expect((await transitions(journal, "f")).length).toBe(4);
  await played(journal, "d", "h", 4);
  expect(await journal.episode("f")).toMatchObject({ last: { index: 4 } });
  expect(await transitions(journal, "f")).toEqual([]);
  await journal.append(sessionRecord("b", 6, episode("f", 5)), step(5, episode("f", 5)));
  expect((await transitions(journal, "f")).map(({ index }) => index)).toEqual([5]);
});

test("one long episode stays within the bound by itself", async () => {
  await using journal = memoryJournal({ maxBytes: size(10) });
  await played(journal, "a", "e", 100);
  const kept = await transitions(journal, "e");
  expect(kept.length).toBeLessThanOrEqual(10);
  expect(kept.at(-1)?.index).toBe(100);
});

test("more running episodes than are remembered do no harm", async () => {
  await using journal = memoryJournal();
  for (let i = 0; i < 10_050; i++) await journal.open(sessionRecord(`s${i}`, 0, episode(`e${i}`, 0)));
  await journal.append(sessionRecord("s7", 1, episode("f", 0)), reset(0, episode("f", 0)));
  expect((await journal.load("s7"))?.episode?.id).toBe("f");
});
