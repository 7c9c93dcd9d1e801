/**
 * Trajectories as a table for pandas, DuckDB and the like: a row for each value of an episode. Row 0 is its opening, without an
 * action and a reward; row n is its n-th transition. Values are tagged JSON, as on the wire.
 */

import { open, rm } from "node:fs/promises";
import { type BasicType, type ColumnSource, fileWriter, ParquetWriter, schemaFromColumnData } from "hyparquet-writer";
import type { Sink } from "./export.ts";
import type { TrajectoryRecord } from "./records.ts";

type Cell = string | number | boolean | bigint | undefined;

const columns = {
  episode: "STRING",
  session: "STRING",
  env: "STRING",
  definition: "STRING",
  task: "STRING",
  split: "STRING",
  seed: "INT64",
  options: "STRING",
  /** The tools of the task; in row 0 only. */
  tools: "STRING",
  parent: "STRING",
  parentIndex: "INT32",
  previous: "STRING",
  status: "STRING",
  ended: "BOOLEAN",
  steps: "INT32",
  episodeReturn: "DOUBLE",
  openedAt: "INT64",
  endedAt: "INT64",
  index: "INT32",
  action: "STRING",
  observation: "STRING",
  reward: "DOUBLE",
  terminated: "BOOLEAN",
  truncated: "BOOLEAN",
  info: "STRING",
  stateDigest: "STRING",
  /** `extras.logProb`, where that is a number. */
  logProb: "DOUBLE",
  extras: "STRING",
  trailgym: "STRING",
} as const satisfies Record<string, BasicType>;
type Row = Record<keyof typeof columns, Cell>;
const names = Object.keys(columns) as (keyof typeof columns)[];

/** Rows that are held back to be written together. */
const groupSize = 10_000;

/** @throws the system's EEXIST unless `force` */
export async function parquet(file: string, force: boolean): Promise<Sink> {
  await (await open(file, force ? "w" : "wx")).close();
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    schema: schemaFromColumnData({ columnData: columnsOf([]) }),
    createdBy: "trailgym",
  });
  let rows: Row[] = [];
  const flush = async () => {
    if (rows.length > 0) await writer.write({ columnData: columnsOf(rows), rowGroupSize: groupSize });
    rows = [];
  };
  return {
    async write(record) {
      rows.push(...rowsOf(record));
      if (rows.length >= groupSize) await flush();
    },
    async close() {
      await flush();
      await writer.finish();
    },
    discard: () => rm(file, { force: true }),
  };
}

function columnsOf(rows: readonly Row[]): ColumnSource[] {
  return names.map((name) => ({ name, type: columns[name], nullable: true, data: rows.map((row) => row[name]) }));
}

function* rowsOf(record: TrajectoryRecord): Generator<Row> {
  const { opening, transitions, parent, tools, options, versions } = record;
  const { episode, session, env, definition, task, split, status, ended, steps, episodeReturn, endedAt } = record;
  const about = {
    ...{ episode, session, env, definition, task: task ?? undefined, split, seed: BigInt(record.seed) },
    ...{
      options: JSON.stringify(options),
      parent: parent?.episode,
      parentIndex: parent?.index,
      previous: record.previous,
    },
    ...{ status, ended, steps, episodeReturn, openedAt: BigInt(record.openedAt) },
    ...{ endedAt: endedAt === undefined ? undefined : BigInt(endedAt), trailgym: versions.trailgym },
  };
  const none = { action: undefined, reward: undefined, terminated: undefined, truncated: undefined };
  yield {
    ...about,
    ...none,
    ...shown(opening),
    tools: tools === undefined ? undefined : JSON.stringify(tools),
    logProb: undefined,
    extras: undefined,
  };
  for (const transition of transitions) {
    const { action, reward, terminated, truncated, extras } = transition;
    const logProb = extras?.["logProb"];
    yield {
      ...about,
      ...shown(transition),
      ...{ tools: undefined, action: JSON.stringify(action), reward, terminated, truncated },
      logProb: typeof logProb === "number" ? logProb : undefined,
      extras: extras === undefined ? undefined : JSON.stringify(extras),
    };
  }
}

function shown(value: TrajectoryRecord["opening"]) {
  const { index, observation, info, stateDigest } = value;
  return { index, observation: JSON.stringify(observation), info: JSON.stringify(info), stateDigest };
}
