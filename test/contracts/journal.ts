/** What every journal must hold to. Call it from the journal's own test file. */

import { describe, expect, test } from "vitest";
import type { Episode, Journal, Reply, SessionRecord, Snapshot } from "../../server/journal/journal.ts";

export interface JournalOptions {
  /** How many replies of a session it keeps; at least 3. */
  keptReplies: number;
}

export function journalContract(name: string, make: () => Promise<Journal>, { keptReplies }: JournalOptions): void {
  describe(`the ${name} journal`, () => {
    test("a session that was opened is loaded as it was, and an unknown one is undefined", async () => {
      await using journal = await make();
      const record = sessionRecord("a");
      await journal.open(record);
      expect(await journal.load("a")).toEqual(record);
      expect(await journal.load("b")).toBeUndefined();
      expect(await journal.reply("a", 0)).toBeUndefined();
      expect(await journal.reply("b", 0)).toBeUndefined();
    });

    test("an append puts the reply and the record in place together", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      const after = sessionRecord("a", 1, episode(0));
      await journal.append(after, reply(0));
      expect(await journal.load("a")).toEqual(after);
      expect(await journal.reply("a", 0)).toEqual(reply(0));
    });

    test("values come back as they were: bytes, big integers, floats, keys of every name", async () => {
      await using journal = await make();
      const state = {
        bytes: Uint8Array.of(0, 255),
        big: 2n ** 62n,
        floats: [NaN, -0, Infinity],
        $type: "x",
        nested: [{ ["constructor"]: null }],
      };
      const after = sessionRecord("a", 1, { ...episode(0), state });
      await journal.open(sessionRecord("a"));
      await journal.append(after, reply(0));
      expect(await journal.load("a")).toEqual(after);
    });

    test("a reply is found by its seq as long as it is kept, byte for byte", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      const count = keptReplies + 2;
      for (let seq = 0; seq < count; seq++) await journal.append(sessionRecord("a", seq + 1, episode(seq)), reply(seq));
      for (let seq = count - keptReplies; seq < count; seq++) expect(await journal.reply("a", seq)).toEqual(reply(seq));
      expect(await journal.reply("a", count)).toBeUndefined();
      expect((await journal.load("a"))?.seq).toBe(count);
    });

    test("sessions are apart", async () => {
      await using journal = await make();
      await Promise.all([journal.open(sessionRecord("a")), journal.open(sessionRecord("b"))]);
      await Promise.all([
        journal.append(sessionRecord("a", 1, episode(1)), reply(0, "for a")),
        journal.append(sessionRecord("b", 1, episode(2)), reply(0, "for b")),
      ]);
      expect((await journal.reply("a", 0))?.result).toContain("for a");
      expect((await journal.reply("b", 0))?.result).toContain("for b");
      await journal.close("a");
      expect(await journal.load("b")).toEqual(sessionRecord("b", 1, episode(2)));
    });

    test("closing forgets the session and its replies; again it has no effect", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      await journal.append(sessionRecord("a", 1, episode(0)), reply(0));
      for (let i = 0; i < 2; i++) {
        await journal.close("a");
        expect(await journal.load("a")).toBeUndefined();
        expect(await journal.reply("a", 0)).toBeUndefined();
      }
      await journal.close("never opened");
    });

    test("an append that is refused has changed nothing", async () => {
      await using journal = await make();
      const never = journal.append(sessionRecord("a", 1, episode(0)), reply(0));
      await expect(never).rejects.toThrow();
      expect(await journal.load("a")).toBeUndefined();
      await journal.open(sessionRecord("a"));
      expect(await journal.reply("a", 0)).toBeUndefined();
      await journal.close("a");
      await expect(journal.append(sessionRecord("a", 1, episode(0)), reply(0))).rejects.toThrow();
      expect(await journal.load("a")).toBeUndefined();
    });

    test("a snapshot outlives its session, and an unknown one is undefined", async () => {
      await using journal = await make();
      await journal.open(sessionRecord("a"));
      await journal.putSnapshot(snapshot("s", "label"));
      await journal.putSnapshot(snapshot("t", undefined));
      await journal.close("a");
      expect(await journal.snapshot("s")).toEqual(snapshot("s", "label"));
      expect(await journal.snapshot("t")).toEqual(snapshot("t", undefined));
      expect(await journal.snapshot("u")).toBeUndefined();
    });

    test("disposing it twice is disposing it once", async () => {
      const journal = await make();
      await journal.open(sessionRecord("a"));
      await journal[Symbol.asyncDispose]();
      await journal[Symbol.asyncDispose]();
    });
  });
}

const settings = {
  options: { start: 3 },
  leaseMs: 1000,
  stepTimeoutMs: 50,
  autoreset: "sameStep",
  digest: "end",
} as const;

function sessionRecord(id: string, seq = 0, episode?: Episode): SessionRecord {
  return { id, principal: "alice", env: "env-v1", settings, seq, episode };
}

function reply(seq: number, text = "é"): Reply {
  return { seq, call: `env/step{"action":${seq}}`, result: `{ "observation" : "${text} ${seq}" }` };
}

function episode(index: number): Episode {
  return {
    id: `ep-${index}`,
    seed: 2 ** 47 - 1,
    task: null,
    split: undefined,
    options: {},
    index,
    status: "running",
    state: { at: index },
    stateDigest: "0".repeat(32),
    observation: { at: index },
    info: { note: "x" },
    tools: undefined,
    episodeReturn: 0.5,
  };
}

function snapshot(id: string, label: string | undefined): Snapshot {
  return { id, principal: "alice", env: "env-v1", settings, episode: episode(3), label };
}
