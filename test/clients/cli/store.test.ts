import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { EpisodeRecord } from "../../../clients/cli/eval/record.ts";
import { openStore } from "../../../clients/cli/eval/store.ts";
import { tempFolder } from "./command.ts";

const record = (key: string): EpisodeRecord => ({
  key,
  env: "e-v1",
  task: null,
  family: null,
  episode: 0,
  seed: 1,
  agentSeed: 2,
  agent: "random",
  versions: { trailgym: "0", protocol: "1" },
  observation: "é",
  transitions: [],
  return: 1,
  steps: 0,
  terminated: true,
  truncated: false,
  error: null,
});

describe("the folder of an evaluation", () => {
  test("drops a last line that was torn, even within a character, and goes on behind the one before", async () => {
    await using folder = await tempFolder();
    {
      await using store = await openStore(folder.path, { seed: 1 }, false);
      store.add(record("a"));
      store.add(record("b"));
    }
    const file = folder.join("trajectories.jsonl");
    const whole = await readFile(file);
    await appendFile(file, whole.subarray(0, whole.indexOf("é") + 1));
    await using store = await openStore(folder.path, { seed: 1 }, false);
    expect([...store.outcomes.keys()]).toEqual(["a", "b"]);
    store.add(record("c"));
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as EpisodeRecord).key)).toEqual(["a", "b", "c"]);
  });

  test("starts with nothing when the only line was torn", async () => {
    await using folder = await tempFolder();
    await (await openStore(folder.path, {}, false))[Symbol.asyncDispose]();
    await writeFile(folder.join("trajectories.jsonl"), '{"key": "a", "tra');
    await using store = await openStore(folder.path, {}, false);
    expect(store.outcomes.size).toBe(0);
    expect(await readFile(folder.join("trajectories.jsonl"), "utf8")).toBe("");
  });

  test("names the settings that changed, and moves the old ones aside only when forced", async () => {
    await using folder = await tempFolder();
    {
      await using store = await openStore(folder.path, { seed: 1, agent: "random" }, false);
      store.add(record("a"));
    }
    await expect(openStore(folder.path, { seed: 2, agent: "random" }, false)).rejects.toThrow(/\(seed\).*--force/);
    await using store = await openStore(folder.path, { seed: 2, agent: "random" }, true);
    expect(store.outcomes.size).toBe(0);
    expect((await readdir(folder.join("old-1"))).sort()).toEqual(["settings.json", "trajectories.jsonl"]);
  });

  test("is written by one run at a time; a run that was killed does not hold it", async () => {
    await using folder = await tempFolder();
    const first = await openStore(folder.path, {}, false);
    await expect(openStore(folder.path, {}, false)).rejects.toThrow(/in use by process/);
    await first[Symbol.asyncDispose]();
    // Above the largest process id that Linux gives.
    await writeFile(folder.join("lock"), "99999999");
    await using _second = await openStore(folder.path, {}, false);
  });

  test("is not taken over when something else wrote it", async () => {
    await using folder = await tempFolder();
    await writeFile(folder.join("trajectories.jsonl"), "{}\n");
    await expect(openStore(folder.path, {}, false)).rejects.toThrow(/no settings\.json/);
  });
});
