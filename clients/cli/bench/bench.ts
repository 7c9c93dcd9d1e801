/** `trailgym bench`: is it fast, and is it still as fast as it was? Everything is held against something in the same run. */

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import { beside } from "../beside.ts";
import { type Io, note, print } from "../terminal/io.ts";
import { startProgress } from "../terminal/progress.ts";
import { durable, durableParts } from "./durable.ts";
import { coldStart, idleSession } from "./footprint.ts";
import { startChild } from "./process.ts";
import { reportOf, type Row, tableOf } from "./report.ts";
import { besideOpenEnv, openEnvParts } from "./openenv.ts";
import { programParts, programSteps } from "./steps.ts";
import { targetOf } from "./target.ts";
import { wire, wireParts } from "./wire.ts";

/** With the number of parts that progress is told of. */
const sections = { wire: wireParts, steps: programParts, footprint: 2, durable: durableParts } as const;
type Section = keyof typeof sections;
/** They measure one server, in this order. */
const sharing: readonly Section[] = ["footprint", "steps", "wire"];

/** What needs more than this package: only asked for by name, and then nothing else is measured. */
const rivals = { openenv: openEnvParts } as const;
type Rival = keyof typeof rivals;
const names = Object.keys(sections) as Section[];

export async function bench(io: Io, args: readonly string[]): Promise<void> {
  const { out, only, against } = parse(args);
  const report = reportOf(await (against === undefined ? measure(io, only) : measureAgainst(io, against)));
  print(io, tableOf(report));
  await writeFile(out, `${JSON.stringify(report, null, 2)}\n`);
  note(io, `written to ${out}`);
}

const serve = [
  fileURLToPath(beside(import.meta.url, "../main.ts")),
  ...["serve", "--port", "0", "--json", "--tasks", fileURLToPath(new URL("./dataset", import.meta.url))],
];

async function measureAgainst(io: Io, rival: Rival): Promise<Row[]> {
  const progress = await startProgress(io, "measuring", rivals[rival]);
  try {
    return await besideOpenEnv(serve, (what) => progress.advance(what));
  } finally {
    progress.stop();
  }
}

async function measure(io: Io, only: readonly Section[]): Promise<Row[]> {
  const wanted = (section: Section) => only.length === 0 || only.includes(section);
  const parts = names.filter(wanted).reduce((sum, section) => sum + sections[section], 0);
  const progress = await startProgress(io, "measuring", parts);
  const measured = (what: string) => progress.advance(what);
  const rows: Row[] = [];
  try {
    if (wanted("footprint")) {
      rows.push(await coldStart(serve));
      measured("cold start");
    }
    if (wanted("durable")) rows.push(...(await durable(serve, measured)));
    if (!sharing.some(wanted)) return rows;
    await using server = await startChild(process.execPath, serve);
    const target = targetOf("trailgym", server);
    if (wanted("footprint")) {
      rows.push(...[await idleSession(target)].filter((row) => row !== undefined));
      measured("idle sessions");
    }
    if (wanted("steps")) rows.push(...(await programSteps(target.url, measured)));
    if (wanted("wire")) rows.push(...(await wire(target, measured)));
    return rows;
  } finally {
    progress.stop();
  }
}

function parse(args: readonly string[]): { out: string; only: Section[]; against?: Rival } {
  const command = new Command("trailgym bench")
    .description("Measures speed and memory on this machine (about four minutes), prints a table and writes JSON.")
    .option("--out <file>", "where the JSON goes", "bench.json")
    .option("--only <section...>", `some of ${names.join(", ")}`)
    .addOption(
      new Option("--against <server>", "only beside another server; its Python packages are installed on the first use")
        .choices(Object.keys(rivals))
        .conflicts("only"),
    )
    .exitOverride()
    .parse(args, { from: "user" });
  const { only = [], ...rest } = command.opts<{ out: string; only?: Section[]; against?: Rival }>();
  const unknown = only.find((section) => !Object.hasOwn(sections, section));
  if (unknown !== undefined) command.error(`error: no section "${unknown}"; there are ${names.join(", ")}`);
  return { ...rest, only };
}
