import { expect, test } from "vitest";
import { memoryJournal } from "trailgym/server";
import { journalContract } from "../../contracts/journal.ts";

journalContract("memory", () => Promise.resolve(memoryJournal(3)), { keptReplies: 3 });

test("only the newest replies of a session are kept", async () => {
  await using journal = memoryJournal(2);
  const settings = { options: {}, leaseMs: 1, stepTimeoutMs: 1, autoreset: "disabled", digest: "step" } as const;
  const record = { id: "a", principal: "p", env: "e-v1", settings, seq: 0, episode: undefined };
  await journal.open(record);
  for (let seq = 0; seq < 5; seq++) await journal.append({ ...record, seq: seq + 1 }, { seq, call: "", result: "" });
  const kept = await Promise.all([0, 1, 2, 3, 4].map((seq) => journal.reply("a", seq)));
  expect(kept.map((reply) => reply?.seq)).toEqual([undefined, undefined, undefined, 3, 4]);
});
