/** How does a table outlive its process? As canonical JSON: without loss, the same text for the same table, checked when read. */

import { canonicalJson, decode, encode, type Json, NdArray, ValueError } from "trailgym/protocol";
import { z } from "zod";
import { PheromoneError } from "./errors.ts";
import { Memory } from "./memory.ts";
import { pheromoneOptions } from "./options.ts";
import type { Deposit } from "./round.ts";
import { levelNames, PheromoneTable } from "./table.ts";
import type { Edge, Trail } from "./trail.ts";

const format = "trailgym-pheromone";

/** Raised when older texts cannot be read any more. */
export const formatVersion = 1;

const array = (dtype: "float64" | "uint32") =>
  z.custom<NdArray>((given) => given instanceof NdArray && given.dtype === dtype, `expected an array of ${dtype}`);
const count = z.int().min(0);

/** Edges row after row, in the table's order, which sums and ties depend on. Ends are numbers of `names`. */
const savedLevel = z.strictObject({
  names: z.array(z.string()),
  from: array("uint32"),
  to: array("uint32"),
  tau: array("float64"),
  round: array("uint32"),
  memorySize: array("uint32"),
  memoryTask: array("uint32"),
  memoryQuality: array("float64"),
});
type SavedLevel = z.output<typeof savedLevel>;

const savedDeposit = z.strictObject({
  tools: z.array(z.string()),
  patterns: z.array(z.string().nullable()).optional(),
  quality: z.number().min(0).max(1),
  deposit: z.boolean(),
  remember: z.boolean(),
  embedding: array("float64").optional(),
});

const savedTable = z.strictObject({
  options: pheromoneOptions,
  rounds: count,
  version: count,
  epoch: z.number(),
  counts: z.strictObject({ offered: count, deposited: count, remembered: count }),
  tools: z.array(z.string()),
  tasks: z.strictObject({ dimension: count, size: count, free: array("uint32"), rows: array("float64") }),
  tool: savedLevel,
  argument: savedLevel,
  offers: count,
  pending: z.array(savedDeposit),
});

/** @returns JSON text. Loading it and saving again gives the same text; going on from it, the same as never having stopped. */
export function save(table: PheromoneTable): string {
  const { options, rounds, version, epoch, counts, tasks, offers, pending } = table;
  const body = encode({
    options,
    rounds,
    version,
    epoch,
    counts,
    tools: [...table.tools],
    tasks: {
      dimension: tasks.dimension,
      size: tasks.size,
      free: uint32(tasks.free),
      rows: float64(concat(liveRows(tasks.size, tasks.free).map((row) => tasks.row(row)))),
    },
    tool: saveLevel(table.tool),
    argument: saveLevel(table.argument),
    offers,
    pending: pending.map((each) =>
      each.embedding ? { ...each, embedding: float64(Float64Array.from(each.embedding)) } : each,
    ),
  });
  return canonicalJson({ body, crc32: crc32(canonicalJson(body)), format, version: formatVersion });
}

/** @throws PheromoneError NOT_A_TRAIL, OTHER_VERSION or CORRUPT */
export function load(text: string): PheromoneTable {
  const body = bodyOf(text);
  try {
    const saved = savedTable.parse(decode(body));
    return restore(saved);
  } catch (error) {
    // Whole, but not what this code writes: somebody has edited it and its checksum, or there is a fault in here.
    const known = error instanceof z.ZodError || error instanceof RangeError || error instanceof ValueError;
    throw known ? corrupt("holds what no table can be", error) : error;
  }
}

function bodyOf(text: string): Json {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const begun = text.trimStart().startsWith('{"body":');
    throw begun ? corrupt("is cut short", error) : notATrail(error);
  }
  const envelope = z
    .object({ format: z.literal(format), version: z.int(), crc32: z.unknown(), body: z.unknown() })
    .safeParse(json);
  if (!envelope.success) throw notATrail(envelope.error);
  const { version, crc32: sum } = envelope.data;
  if (version !== formatVersion) {
    const advice = version > formatVersion ? "update TrailGym to read it" : "read it with the TrailGym that wrote it";
    const reads = `this TrailGym reads version ${formatVersion}`;
    throw new PheromoneError(
      "OTHER_VERSION",
      `the saved trail has format ${version}, ${reads}: ${advice}, or begin anew`,
    );
  }
  const body = envelope.data.body as Json;
  if (body === undefined || crc32(canonicalJson(body)) !== sum) throw corrupt("was altered: its checksum differs");
  return body;
}

function notATrail(cause: unknown): PheromoneError {
  return new PheromoneError("NOT_A_TRAIL", `this is no saved trail: give the text that \`save\` returned`, { cause });
}

function corrupt(what: string, cause?: unknown): PheromoneError {
  return new PheromoneError("CORRUPT", `the saved trail ${what}: take an older copy, or begin anew`, { cause });
}

function saveLevel(trail: Trail): SavedLevel {
  const edges = [...trail.edges()];
  const numbers = new Map<string, number>();
  const numberOf = (name: string) => {
    const known = numbers.get(name) ?? numbers.size;
    numbers.set(name, known);
    return known;
  };
  const from = uint32(edges.map(([name]) => numberOf(name)));
  const to = uint32(edges.map(([, name]) => numberOf(name)));
  const memories = edges.flatMap(([, , { memory }]) => memory ?? []);
  return {
    names: [...numbers.keys()],
    from,
    to,
    tau: float64(Float64Array.from(edges, ([, , { tau }]) => tau)),
    round: uint32(edges.map(([, , { round }]) => round)),
    memorySize: uint32(edges.map(([, , { memory }]) => memory?.size ?? 0)),
    memoryTask: uint32(memories.flatMap(({ tasks, size }) => [...tasks.subarray(0, size)])),
    memoryQuality: float64(concat(memories.map(({ qualities, size }) => qualities.subarray(0, size)))),
  };
}

/** @throws RangeError for parts that contradict each other */
function restore(saved: z.output<typeof savedTable>): PheromoneTable {
  const table = new PheromoneTable(saved.options);
  table.version = saved.version;
  table.epoch = saved.epoch;
  Object.assign(table.counts, saved.counts);
  for (const tool of saved.tools) table.tools.add(tool);

  const { dimension, size, free, rows } = saved.tasks;
  const freed = [...numbersOf(free)];
  demand(new Set(freed).size === freed.length && freed.every((row) => row < size), "free tasks");
  demand(rows.data.length === (size - freed.length) * dimension, "tasks");
  demand(every(rows, Number.isFinite), "embeddings");
  table.tasks.restore(dimension, size, freed, rows.data as Float64Array);
  for (const level of levelNames) restoreLevel(table, table[level], saved[level], saved.rounds);
  demand(
    liveRows(size, freed).every((row) => table.tasks.uses(row) > 0),
    "tasks that nobody remembers",
  );

  const fits = ({ embedding }: (typeof saved.pending)[number]) =>
    !embedding || (embedding.data.length === dimension && every(embedding, Number.isFinite));
  demand(saved.pending.every(fits), "open round's embeddings");
  table.offers = saved.offers;
  table.pending = saved.pending.map(({ embedding, patterns, ...rest }): Deposit => ({
    ...rest,
    ...(patterns && { patterns }),
    ...(embedding && { embedding: (embedding.data as Float64Array).slice() }),
  }));
  return table;
}

function restoreLevel(table: PheromoneTable, trail: Trail, saved: SavedLevel, rounds: number): void {
  const { names, from, to, tau, round, memorySize, memoryTask, memoryQuality } = saved;
  const edges = tau.data.length;
  for (const each of [from, to, round, memorySize]) demand(each.data.length === edges, "edges");
  const [tasks, qualities] = [memoryTask.data as Uint32Array, memoryQuality.data as Float64Array];
  const { min, max } = trail.options;
  demand(every(tau, (x) => x >= min && x <= max) && every(round, (n) => n <= rounds), "trails");
  demand(
    every(memoryQuality, (q) => q >= 0 && q <= 1),
    "qualities",
  );
  demand(
    every(memorySize, (n) => n <= table.options.memory.capacity),
    "memories",
  );
  const freed = new Set(table.tasks.free);
  trail.rounds = rounds;
  let next = 0;
  for (let i = 0; i < edges; i++) {
    const [start, end] = [names[at(from, i)], names[at(to, i)]];
    demand(start !== undefined && end !== undefined && !trail.rows.get(start)?.has(end), "edges");
    const edge: Edge = { tau: at(tau, i), round: at(round, i) };
    const size = at(memorySize, i);
    if (size > 0) {
      edge.memory = new Memory();
      for (const until = next + size; next < until; next++) {
        const task = tasks[next] as number;
        demand(next < tasks.length && task < table.tasks.size && !freed.has(task), "memories");
        edge.memory.write(task, qualities[next] as number, table.options.memory.capacity, table.tasks);
      }
      demand(edge.memory.size === size, "memories");
    }
    trail.put(start as string, end as string, edge);
  }
  demand(next === tasks.length && next === qualities.length, "memories");
}

function demand(condition: boolean, what: string): void {
  if (!condition) throw new RangeError(`the ${what} do not fit together`);
}

function liveRows(size: number, free: readonly number[]): number[] {
  const freed = new Set(free);
  return Array.from({ length: size }, (_, row) => row).filter((row) => !freed.has(row));
}

const numbersOf = ({ data }: NdArray) => data as Uint32Array | Float64Array;
const at = (array: NdArray, i: number) => numbersOf(array)[i] as number;
const every = (array: NdArray, holds: (value: number) => boolean) => numbersOf(array).every((value) => holds(value));

function uint32(values: readonly number[]): NdArray {
  return new NdArray("uint32", [values.length], Uint32Array.from(values));
}

function float64(values: Float64Array<ArrayBuffer>): NdArray {
  return new NdArray("float64", [values.length], values);
}

function concat(parts: readonly Float64Array[]): Float64Array<ArrayBuffer> {
  const all = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  let next = 0;
  for (const part of parts) {
    all.set(part, next);
    next += part.length;
  }
  return all;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** CRC-32 (IEEE 802.3) of a text's UTF-16 code units, low byte first: against accidents, not against intent. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    crc = (crcTable[(crc ^ unit) & 0xff] as number) ^ (crc >>> 8);
    crc = (crcTable[(crc ^ (unit >>> 8)) & 0xff] as number) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
