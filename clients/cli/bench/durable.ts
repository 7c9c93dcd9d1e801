/** What does it cost that nothing is lost, and how soon is a server back after its death? */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "trailgym/client";
import { beside } from "../beside.ts";
import { settled } from "./footprint.ts";
import { openFiles, residentBytes, startChild } from "./process.ts";
import type { Row } from "./report.ts";
import { compare, labelOf, measure, microseconds, type Shape, type Target, targetOf } from "./target.ts";

const section = "durable sessions";
const shapes: Shape[] = [
  { sessions: 64, sockets: 64, batch: 1 },
  { sessions: 1000, sockets: 1000, batch: 1 },
];
const recovered = 10_000;
const attaches = 200;
const connected = 10_000;
/** Of a server's open files, for what is not a socket of an idle session. */
const spareFiles = 400;

/** How often {@link durable} tells that it has measured something. */
export const durableParts = shapes.length + 2;

/** @param serve the command that starts a server and prints its url as JSON */
export async function durable(serve: readonly string[], measured: (what: string) => void): Promise<Row[]> {
  await using folder = await temporaryFolder();
  const keeping = [...serve, "--data", folder.path, "--max-sessions", String(2 * recovered)];
  const rows = await besideMemory(serve, keeping, measured);
  rows.push(...(await recovery(keeping)));
  measured("recovery");
  rows.push(...(await idleSockets(serve)));
  measured("idle sockets");
  return rows;
}

async function besideMemory(serve: readonly string[], keeping: readonly string[], measured: (what: string) => void) {
  await using kept = await startChild(process.execPath, keeping);
  await using memory = await startChild(process.execPath, [...serve, "--memory"]);
  const rows: Row[] = [];
  for (const shape of shapes) {
    const { durable, fleeting } = await compare({
      fleeting: [targetOf("trailgym", memory), shape],
      durable: [targetOf("trailgym", kept), shape],
    });
    const ratio = durable.rate / fleeting.rate;
    rows.push({
      section,
      name: labelOf(shape),
      value: durable.rate,
      unit: "steps/s",
      against: `in memory ${Math.round(fleeting.rate)}/s`,
      ratio,
      aim: 0.6,
      met: ratio >= 0.6,
      detail: `p50 ${durable.p50.toFixed(2)} ms, p99 ${durable.p99.toFixed(2)} ms, ${microseconds(durable.cpuUs)} µs of server CPU a step (in memory ${microseconds(fleeting.cpuUs)})`,
    });
    measured(labelOf(shape));
  }
  return rows;
}

/** A server with ten thousand sessions is killed; how long until one of them goes on in the next server, and then any other? */
async function recovery(keeping: readonly string[]): Promise<Row[]> {
  const ids: string[] = [];
  {
    await using server = await startChild(process.execPath, keeping);
    await using client = await connect(server.firstLine.url as string);
    const open = async () => {
      while (ids.length < recovered) {
        const seed = ids.push("") - 1;
        const session = await client.make("countdown-v1");
        await session.reset({ seed });
        await session.step({ amount: 1 });
        ids[seed] = session.id;
      }
    };
    await Promise.all(Array.from({ length: 64 }, open));
    server.process.kill("SIGKILL");
  }
  const died = performance.now();
  await using server = await startChild(process.execPath, keeping);
  await using client = await connect(server.firstLine.url as string);
  const goOn = async (i: number) => {
    const session = await client.attach(ids[i] as string);
    await session.step({ amount: 1 });
  };
  await goOn(0);
  const back = performance.now() - died;
  const times: number[] = [];
  for (let k = 1; k <= attaches; k++) {
    const started = performance.now();
    await client.attach(ids[k * Math.floor(recovered / (attaches + 1))] as string);
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((q) => times[Math.floor(q * attaches)] as number) as [number, number];
  return [
    {
      section,
      name: `${recovered} sessions after SIGKILL`,
      value: back / 1000,
      unit: "s",
      aim: 3,
      met: back <= 3000,
      detail: "from the next server's start, its cold start included, to a session's next step",
    },
    {
      section,
      name: "attach, the session reloaded",
      value: p50,
      unit: "ms",
      aim: 5,
      met: p50 <= 5,
      detail: `p99 ${p99.toFixed(2)} ms of ${attaches}, each a session's first in this server`,
    },
  ];
}

/** Ten thousand sockets that only answer pings, and one that steps. */
async function idleSockets(serve: readonly string[]): Promise<Row[]> {
  await using server = await startChild(process.execPath, [...serve, "--max-sessions", String(2 * connected)]);
  const target = targetOf("trailgym", server);
  const active: Shape = { sessions: 1, sockets: 1, batch: 1 };
  const few = await beside64(target, active);
  const sessions = Math.min(connected, (openFiles(target.pid) ?? connected + spareFiles) - spareFiles);
  await using _idle = await idlers(target.url, sessions);
  await settled(target.pid);
  const bytes = residentBytes(target.pid);
  const beside = await measure(target, active);
  const limit = sessions < connected ? `; this machine's limit of open files allows no more than ${sessions}` : "";
  const ratio = beside.p99 / few.p99;
  const rows: Row[] = [
    {
      section,
      name: `p99 of one active beside ${sessions} idle sockets`,
      value: beside.p99,
      unit: "ms",
      against: `beside 64 ${few.p99.toFixed(3)} ms`,
      ratio,
      aim: 2,
      met: ratio <= 2,
      detail: `p50 ${beside.p50.toFixed(3)} ms, beside 64 ${few.p50.toFixed(3)} ms${limit}`,
    },
  ];
  if (bytes === undefined) return rows;
  const gb = bytes / 1e9;
  const name = `memory with ${sessions} connected idle sessions`;
  return [{ section, name, value: gb, unit: "GB", aim: 1, met: gb <= 1 }, ...rows];
}

async function beside64(target: Target, active: Shape) {
  await using _few = await idlers(target.url, 64);
  return await measure(target, active);
}

function idlers(url: string, sessions: number) {
  const program = fileURLToPath(beside(import.meta.url, "./idle.ts"));
  return startChild(process.execPath, [program, JSON.stringify({ url, sessions })], "pipe");
}

export async function temporaryFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), "trailgym-bench-"));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
