/** Do the examples of CodeGym's README work as they stand? They are cut out of it, checked and imported. */

import { readFile } from "node:fs/promises";
import { checkEnv, type TaskFiles } from "trailgym/env";
import { afterAll, beforeAll, expect, it } from "vitest";
import env from "../../../envs/code-gym/code-gym.env.ts";
import { bytesFile, importCodeGym } from "../../../envs/code-gym/import.ts";
import { createInterpreters } from "../../../server/sandboxes/interpreters.ts";
import { taskFiles } from "../context.ts";

const interpreters = createInterpreters({ processes: 1 });
afterAll(() => interpreters[Symbol.asyncDispose]());

/** Starting a Python takes seconds, and the check's time is for the programs. */
beforeAll(async () => {
  const call = { program: ["def f(state): return [None, None]"], entry: "f", limits: { timeMs: 60_000 } };
  await interpreters.interpreter("python").call(call, new AbortController().signal);
}, 120_000);

/** Blocks whose first line is a comment with a file's name. */
const text = await readFile(new URL("../../../envs/code-gym/README.md", import.meta.url), "utf8");
const blocks = text.matchAll(/```(?:js|jsonl?|python)\n(?:\/\/|#) (\S+)\n([\s\S]*?)```/g);
const { "instances.jsonl": instances = "", ...files } = Object.fromEntries(
  [...blocks].map(([, name, body]) => [name as string, body as string]),
);

const check = (folder: TaskFiles) => checkEnv(env, { files: [folder], tasks: 9, seeds: [0], lend: () => interpreters });

it("holds a whole dataset, a program in each language, and a training instance", () => {
  const names = ["dataset.json", "programs/tree_count.js", "programs/tree_count.py", "tasks.jsonl"];
  expect(Object.keys(files).toSorted()).toEqual(names);
  expect(instances).not.toBe("");
});

it("has a dataset without a finding", async () => {
  const report = await check(taskFiles(files));
  expect(report.findings).toEqual([]);
  expect(report.episodes).toBe(4);
}, 120_000);

it("has a training instance that imports to a task without a finding", async () => {
  const written: Record<string, string> = {};
  const file = (name: string, body = "") => bytesFile(name, new TextEncoder().encode(body));
  const { problems } = await importCodeGym(
    [file("instances.jsonl", instances), file("Grove_1__TreeCountEnv.py", files["programs/tree_count.py"])],
    { name: "grove" },
    (path, more) => void (written[path] = (written[path] ?? "") + more),
  );
  expect(problems).toEqual([]);
  expect(written["tasks.jsonl"]).toContain('"id":"Grove_1__TreeCountEnv/7"');
  const report = await check(taskFiles(written));
  expect(report.findings).toEqual([]);
  expect(report.episodes).toBe(2);
}, 120_000);
