/** `trailgym bench`: is it fast, and is it still as fast as it was? Everything is held against something in the same run. */

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { coldStart, idleSession } from "./bench/footprint.ts";
import { startChild } from "./bench/process.ts";
import { reportOf, type Row, tableOf } from "./bench/report.ts";
import { programSteps } from "./bench/steps.ts";
import { wire } from "./bench/wire.ts";
import { type Io, note, print } from "./io.ts";

const sections = ["wire", "steps", "footprint"] as const;
type Section = (typeof sections)[number];

export async function bench(io: Io, args: readonly string[]): Promise<void> {
  const { out, only } = parse(args);
  const wanted = (section: Section) => only.length === 0 || only.includes(section);
  const serve = [
    fileURLToPath(new URL("./main.ts", import.meta.url)),
    ...["serve", "--port", "0", "--json", "--tasks", fileURLToPath(new URL("./bench/dataset", import.meta.url))],
  ];
  const rows: Row[] = [];
  if (wanted("footprint")) {
    note(io, "bench: cold start");
    rows.push(await coldStart(serve));
  }
  await using server = await startChild(process.execPath, serve);
  const target = { name: "trailgym" as const, url: server.firstLine.url as string, pid: server.process.pid as number };
  if (wanted("footprint")) {
    note(io, "bench: memory of idle sessions");
    rows.push(...[await idleSession(target)].filter((row) => row !== undefined));
  }
  if (wanted("steps")) {
    note(io, "bench: steps of programs");
    rows.push(...(await programSteps(target.url)));
  }
  if (wanted("wire")) {
    rows.push(...(await wire(target, (done, of) => note(io, `bench: the wire, case ${done + 1} of ${of}`))));
  }
  const report = reportOf(rows);
  print(io, tableOf(report));
  await writeFile(out, `${JSON.stringify(report, null, 2)}\n`);
  note(io, `written to ${out}`);
}

function parse(args: readonly string[]): { out: string; only: Section[] } {
  const command = new Command("trailgym bench")
    .description("Measures speed and memory on this machine (about two minutes), prints a table and writes JSON.")
    .option("--out <file>", "where the JSON goes", "bench.json")
    .option("--only <section...>", `some of ${sections.join(", ")}`)
    .exitOverride()
    .parse(args, { from: "user" });
  const { out, only = [] } = command.opts<{ out: string; only?: Section[] }>();
  const unknown = only.find((section) => !sections.includes(section));
  if (unknown !== undefined) command.error(`error: no section "${unknown}"; there are ${sections.join(", ")}`);
  return { out, only };
}
