/** `trailgym bench`: is it fast, and is it still as fast as it was? Everything is held against something in the same run. */

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { beside } from "../beside.ts";
import { type Io, note, print } from "../terminal/io.ts";
import { startProgress } from "../terminal/progress.ts";
import { coldStart, idleSession } from "./footprint.ts";
import { startChild } from "./process.ts";
import { reportOf, type Row, tableOf } from "./report.ts";
import { programParts, programSteps } from "./steps.ts";
import { wire, wireParts } from "./wire.ts";

/** With the number of parts that progress is told of. */
const sections = { wire: wireParts, steps: programParts, footprint: 2 } as const;
type Section = keyof typeof sections;
const names = Object.keys(sections) as Section[];

export async function bench(io: Io, args: readonly string[]): Promise<void> {
  const { out, only } = parse(args);
  const report = reportOf(await measure(io, only));
  print(io, tableOf(report));
  await writeFile(out, `${JSON.stringify(report, null, 2)}\n`);
  note(io, `written to ${out}`);
}

async function measure(io: Io, only: readonly Section[]): Promise<Row[]> {
  const wanted = (section: Section) => only.length === 0 || only.includes(section);
  const serve = [
    fileURLToPath(beside(import.meta.url, "../main.ts")),
    ...["serve", "--port", "0", "--json", "--tasks", fileURLToPath(new URL("./dataset", import.meta.url))],
  ];
  const parts = names.filter(wanted).reduce((sum, section) => sum + sections[section], 0);
  const progress = await startProgress(io, "measuring", parts);
  const measured = (what: string) => progress.advance(what);
  const rows: Row[] = [];
  try {
    if (wanted("footprint")) {
      rows.push(await coldStart(serve));
      measured("cold start");
    }
    await using server = await startChild(process.execPath, serve);
    const { url } = server.firstLine as { url: string };
    const target = { name: "trailgym" as const, url, pid: server.process.pid as number };
    if (wanted("footprint")) {
      rows.push(...[await idleSession(target)].filter((row) => row !== undefined));
      measured("idle sessions");
    }
    if (wanted("steps")) rows.push(...(await programSteps(url, measured)));
    if (wanted("wire")) rows.push(...(await wire(target, measured)));
    return rows;
  } finally {
    progress.stop();
  }
}

function parse(args: readonly string[]): { out: string; only: Section[] } {
  const command = new Command("trailgym bench")
    .description("Measures speed and memory on this machine (about two minutes), prints a table and writes JSON.")
    .option("--out <file>", "where the JSON goes", "bench.json")
    .option("--only <section...>", `some of ${names.join(", ")}`)
    .exitOverride()
    .parse(args, { from: "user" });
  const { out, only = [] } = command.opts<{ out: string; only?: Section[] }>();
  const unknown = only.find((section) => !Object.hasOwn(sections, section));
  if (unknown !== undefined) command.error(`error: no section "${unknown}"; there are ${names.join(", ")}`);
  return { out, only };
}
