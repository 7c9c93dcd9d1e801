import { readFile, readdir } from "node:fs/promises";
import type { Language, ToolAction } from "trailgym/env";
import { afterAll, describe, expect, it } from "vitest";
import env from "../../../envs/code-gym/code-gym.env.ts";
import { loadTasks } from "../../../envs/code-gym/task.ts";
import { createInterpreters } from "../../../server/sandboxes/interpreters.ts";
import { context, play } from "../context.ts";

const folder = new URL("../../../fixtures/code-gym/", import.meta.url);
const interpreters = createInterpreters({ processes: 1 });
afterAll(() => interpreters[Symbol.asyncDispose]());

const tasks = await loadTasks([
  {
    name: "fixtures/code-gym",
    list: async () => (await readdir(folder, { recursive: true })).map((path) => path.replaceAll("\\", "/")),
    read: (path) => readFile(new URL(path, folder)),
  },
]);
const all = tasks.list(undefined, undefined, 10_000).tasks.map(({ id }) => id);
const interpreter = (language: Language) => interpreters.interpreter(language);
const parts = (id: string) => ({ task: tasks.get(id), interpreter });

// Two of each Python program: the others ask the same of the same code, and take half a minute.
const checked = all.filter((id) => tasks.get(id)?.language === "javascript" || /\/[02]$/.test(id));

describe("a task of the built-in dataset", () => {
  it.each(checked)(
    "%s is sound: its own solution wins as recorded, nothing else does, nothing leaks",
    async (id) => {
      expect(await env.checkTask?.(context(parts(id)) as never)).toEqual([]);
    },
    120_000,
  );

  it("comes with plays that are known to lose", async () => {
    const wrongPlays = JSON.parse(await readFile(new URL("wrong-plays.json", folder), "utf8")) as Record<
      string,
      ToolAction[][]
    >;
    for (const [id, plays] of Object.entries(wrongPlays)) {
      for (const actions of plays) {
        const player = await play(env, parts(id));
        for (const action of actions) await player.step(action);
        expect(player.episodeReturn, id).toBe(0);
      }
    }
  }, 120_000);
});
