/** Do the examples of the README work as they stand? They are cut out of it, checked, imported and generated from. */

import { readFile } from "node:fs/promises";
import { checkEnv } from "trailgym/env";
import { expect, it } from "vitest";
import { simulatedExecutor } from "../../../envs/mcp-tools/generate/executor.ts";
import { generateTasks } from "../../../envs/mcp-tools/generate/generate.ts";
import { toolbookFile, toolbookOf } from "../../../envs/mcp-tools/generate/toolbook.ts";
import { textFile } from "../../../envs/mcp-tools/import/documents.ts";
import { formatNames } from "../../../envs/mcp-tools/import/formats/formats.ts";
import { importTrajectories } from "../../../envs/mcp-tools/import/import.ts";
import env from "../../../envs/mcp-tools/mcp-tools.env.ts";
import { options } from "../../../envs/mcp-tools/options.ts";
import { status } from "../../../envs/mcp-tools/status.ts";
import { taskLine } from "../../../envs/mcp-tools/task.ts";
import { taskFiles } from "../context.ts";

const text = await readFile(new URL("../../../envs/mcp-tools/README.md", import.meta.url), "utf8");
/** Blocks whose first line is a comment with a file's name. */
const blocks = text.matchAll(/```jsonl?\n\/\/ (\S+)\n([\s\S]*?)```/g);
const files = Object.fromEntries([...blocks].map(([, name, body]) => [name as string, body as string]));
const { "log.jsonl": log = "", "toolbook.json": book = "", ...dataset } = files;

it("holds a whole dataset, a row to import and a toolbook", () => {
  expect(Object.keys(dataset).toSorted()).toEqual(["dataset.json", "tasks.jsonl", "tools.json"]);
  expect([log, book].every((block) => block !== "")).toBe(true);
});

it("has a dataset without a finding", async () => {
  const report = await checkEnv(env, { files: [taskFiles(dataset)] });
  expect(report.findings).toEqual([]);
  expect(report.episodes).toBe(2 * 3 * 2);
});

it("has a row that imports to a task without a finding", async () => {
  const written: Record<string, string> = {};
  const { problems } = await importTrajectories(
    "openai-messages",
    [textFile("log.jsonl", log)],
    { name: "tides" },
    (path, more) => {
      written[path] = (written[path] ?? "") + more;
    },
  );
  expect(problems).toEqual([]);
  expect(written["tasks.jsonl"]).toContain('"id":"log.jsonl/1"');
  expect((await checkEnv(env, { files: [taskFiles(written)], seeds: [0] })).findings).toEqual([]);
});

it("has a toolbook that makes tasks", async () => {
  const shop = toolbookOf(toolbookFile.parse(JSON.parse(book)));
  const lines = await generateTasks(shop, simulatedExecutor(shop), { seed: 1, tasks: 4, steps: { min: 2, max: 5 } });
  expect(lines).toHaveLength(4);
  for (const line of lines) {
    const prices = new Map<string, number>();
    for (const { output } of line.reference) {
      const { teas, ...bought } = JSON.parse(output as string) as {
        teas?: { tea_id: string; price: number }[];
        tea_id: string;
        price: number;
      };
      for (const { tea_id: id, price } of teas ?? [bought]) {
        expect(prices.get(id) ?? price).toBe(price);
        prices.set(id, price);
      }
    }
  }
});

it("names every option, field of a task, format and status that there is", () => {
  const named = [...Object.keys(options.shape), ...Object.keys(taskLine.shape), ...formatNames, ...status.options];
  expect(named.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

it("says the defaults as they are", () => {
  const { intent, exec, outcome, stop, horizon, success } = options.parse({});
  const row = (name: string) => text.split("\n").find((line) => line.startsWith(`| \`${name}\` `)) ?? "";
  const numbers = (list: number[]) => list.join(" ").replaceAll("-", "−");
  expect(row("intent")).toContain(numbers([intent.correct, intent.recovery, intent.category, intent.wrong]));
  expect(row("exec")).toContain(numbers([exec.ok, exec.error]));
  const { levels } = outcome;
  const from = levels.map((level) => String(level.from).replace(/^0/, "")).join(" ");
  expect(row("outcome")).toContain(`${levels.map(({ value }) => value).join(" ")} from ${from}`);
  expect(row("stop")).toContain(numbers([stop.correct, stop.wrong]));
  expect([row("horizon"), row("success")].map((line) => line.split("|")[2]?.trim())).toEqual([
    String(horizon),
    String(success),
  ]);
});
