/** The built-in dataset: is there as much of it as is promised, and does each task play as it was recorded? */

import { readFile, readdir } from "node:fs/promises";
import type { Language, ToolAction } from "trailgym/env";
import { afterAll, describe, expect, it } from "vitest";
import env from "../../../envs/code-gym/code-gym.env.ts";
import { loadTasks, type CodeGymTask } from "../../../envs/code-gym/task.ts";
import { createInterpreters } from "../../../server/sandboxes/interpreters.ts";
import { context, play } from "../context.ts";

const folder = new URL("../../../fixtures/code-gym/", import.meta.url);
const interpreters = createInterpreters({ processes: 2 });
afterAll(() => interpreters[Symbol.asyncDispose]());

const tasks = await loadTasks([
  {
    name: "fixtures/code-gym",
    list: async () => (await readdir(folder, { recursive: true })).map((path) => path.replaceAll("\\", "/")),
    read: (path) => readFile(new URL(path, folder)),
  },
]);
const all = tasks.list(undefined, undefined, 10_000).tasks.map(({ id }) => tasks.get(id) as CodeGymTask);
const wrongPlays = new Map(
  Object.entries(
    JSON.parse(await readFile(new URL("wrong-plays.json", folder), "utf8")) as Record<string, ToolAction[][]>,
  ),
);
const parts = (task: CodeGymTask) => ({
  task,
  interpreter: (language: Language) => interpreters.interpreter(language),
});

const programs = [...Map.groupBy(all, ({ program }) => program.path)].map(([path, instances]) => ({ path, instances }));

describe("the built-in dataset", () => {
  it("has 24 programs, 12 in each language", () => {
    const languages = programs.map(({ instances }) => instances[0]?.language);
    expect(languages.filter((language) => language === "python")).toHaveLength(12);
    expect(languages.filter((language) => language === "javascript")).toHaveLength(12);
  });

  it.each(programs)(
    "$path: 5 tasks or more, 4 tools or more, and 2 wrong plays or more",
    { timeout: 120_000 },
    async ({ instances }) => {
      expect(instances.length).toBeGreaterThanOrEqual(5);
      expect(instances.flatMap(({ id }) => wrongPlays.get(id) ?? []).length).toBeGreaterThanOrEqual(2);
      const { tools } = await play(env, parts(instances[0] as CodeGymTask));
      const own = tools.filter(({ name }) => name !== "Observe" && name !== "Done");
      expect(own.length).toBeGreaterThanOrEqual(4);
      expect(tools.length).toBe(own.length + 2);
    },
  );

  it("has a recorded number of calls for each task, within its budget", () => {
    for (const { id, referenceCalls, maxCalls = 256 } of all) {
      expect(referenceCalls, id).toBeGreaterThan(1);
      expect(referenceCalls, id).toBeLessThanOrEqual(maxCalls);
    }
  });

  it.concurrent.each(all)(
    "$id: its own solution, played step by step, returns 1 after the recorded calls",
    async (task) => {
      const player = await play(env, parts(task));
      const reference = await env.reference?.(context(parts(task)), player.state as never);
      const { actions, episodeReturn } = reference as { actions: readonly ToolAction[]; episodeReturn: number };
      expect(episodeReturn).toBe(1);
      expect(actions).toHaveLength(task.referenceCalls as number);
      const ends: (boolean | undefined)[] = [];
      for (const action of actions) ends.push((await player.step(action)).terminated);
      expect(ends.indexOf(true)).toBe(actions.length - 1);
      expect(player.episodeReturn).toBe(1);
    },
    120_000,
  );

  const lost = [...wrongPlays].flatMap(([id, plays]) => plays.map((actions, n) => ({ id, n: n + 1, actions })));
  it.concurrent.each(lost)(
    "$id: wrong play $n returns 0",
    async ({ id, actions }) => {
      const player = await play(env, parts(tasks.get(id) as CodeGymTask));
      for (const action of actions) await player.step(action);
      expect(player.episodeReturn).toBe(0);
    },
    120_000,
  );
});

// Two of each Python program: the others ask the same of the same code, and take half a minute.
const checked = all.filter(({ id, language }) => language === "javascript" || /\/[02]$/.test(id));

describe("a task of the built-in dataset", () => {
  it.concurrent.each(checked)(
    "$id is sound: nothing but its own solution wins, and nothing leaks",
    async (task) => {
      expect(await env.checkTask?.(context(parts(task)))).toEqual([]);
    },
    120_000,
  );
});
