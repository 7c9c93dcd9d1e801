/**
 * The same countdown in an OpenEnv server, in its default form (a synchronous environment on asyncio) and in its best (an
 * asynchronous one on uvloop), beside this one with a journal: the same load generator, alternating, in one run.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "./durable.ts";
import { startChild } from "./process.ts";
import type { Row } from "./report.ts";
import { compare, labelOf, type Measured, type Shape, targetOf } from "./target.ts";

const section = "beside OpenEnv, durable";
const folder = fileURLToPath(new URL("./openenv", import.meta.url));
const sizes = [1, 64, 256, 1000];
const batched = 64;

/** How often {@link besideOpenEnv} tells that it has measured something. */
export const openEnvParts = sizes.length + 1;

/** @param serve the command that starts a server and prints its url as JSON */
export async function besideOpenEnv(serve: readonly string[], measured: (what: string) => void): Promise<Row[]> {
  const python = await environment();
  await using data = await temporaryFolder();
  await using server = await startChild(process.execPath, [...serve, "--data", data.path, "--sync", "normal"]);
  const rows: Row[] = [];
  for (const size of sizes) {
    const each: Shape = { sessions: size, sockets: size, batch: 1 };
    rows.push(...(await against(each, each, { standard: 5, best: 2 })));
    measured(labelOf(each));
  }
  const batch: Shape = { sessions: batched, sockets: 1, batch: batched };
  rows.push(...(await against(batch, { ...batch, sockets: batched, batch: 1 }, { standard: 15, best: 6 })));
  measured(labelOf(batch));
  return rows;

  /** @param theirs OpenEnv has a session for each socket and no batches. */
  async function against(ours: Shape, theirs: Shape, aims: { standard: number; best: number }): Promise<Row[]> {
    // New processes for each case: a server of theirs keeps threads of the sessions that it had.
    await using standard = await startChild(python, [path.join(folder, "server.py"), "default"]);
    await using best = await startChild(python, [path.join(folder, "server.py"), "async"]);
    const found = await compare({
      standard: [targetOf("openenv", standard), theirs],
      best: [targetOf("openenv", best), theirs],
      ours: [targetOf("trailgym", server), ours],
    });
    const label = labelOf(ours);
    // One session waits for its own reply: what is measured there is the way there and back, and no aim was set for it.
    const aimed = ours.sessions > 1;
    return [
      {
        section,
        name: label,
        value: found.ours.rate,
        unit: "steps/s",
        detail: figures(found.ours),
      },
      rowOf(`${label}: its default form`, found.ours, found.standard, aimed ? aims.standard : undefined),
      rowOf(`${label}: its best form`, found.ours, found.best, aimed ? aims.best : undefined),
    ];
  }
}

/** Steps per second of server CPU, ours over theirs. */
function rowOf(name: string, ours: Measured, theirs: Measured, aim: number | undefined): Row {
  const ratio = (theirs.cpuUs ?? NaN) / (ours.cpuUs ?? NaN);
  return {
    section,
    name,
    value: theirs.rate,
    unit: "steps/s",
    against: `per second of server CPU; p99 × ${(ours.p99 / theirs.p99).toPrecision(2)}`,
    ratio,
    ...(aim === undefined ? {} : { aim, met: ratio >= aim && ours.p99 < theirs.p99 }),
    detail: figures(theirs),
  };
}

function figures({ p50, p99, cpuUs, load }: Measured): string {
  const perCpu = cpuUs === undefined ? "?" : Math.round(1e6 / cpuUs).toLocaleString("en");
  const limit = load > 0.9 ? "; the load generator was the limit" : "";
  return `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${perCpu} steps per second of server CPU${limit}`;
}

/** The Python of a virtual environment with what the server needs, made on its first use. */
async function environment(): Promise<string> {
  const pins = path.join(folder, "requirements.txt");
  const key = createHash("sha256")
    .update(await readFile(pins))
    .digest("hex");
  const cache = process.env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache");
  const home = path.join(cache, "trailgym", `openenv-${key.slice(0, 12)}`);
  const [python, ready] = [path.join(home, "bin", "python"), path.join(home, "ready")];
  if (!existsSync(ready)) {
    const run = promisify(execFile);
    await run("python3", ["-m", "venv", "--clear", home]);
    await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", pins]);
    await writeFile(ready, "");
  }
  return python;
}
