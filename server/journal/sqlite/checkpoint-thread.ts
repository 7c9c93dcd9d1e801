/** The thread that waits for the disk; see `checkpoint.ts`. */

import { parentPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import type { Sync } from "./open.ts";

export type CheckpointMode = "PASSIVE" | "TRUNCATE";
export interface CheckpointAnswer {
  error?: string;
}

const { file, sync } = workerData as { file: string; sync: Sync };
const port = parentPort as NonNullable<typeof parentPort>;
const db = new Database(file, { fileMustExist: true });
db.pragma(`synchronous = ${sync}`);

port.on("message", (mode: CheckpointMode) => {
  const answer: CheckpointAnswer = {};
  try {
    db.pragma(`wal_checkpoint(${mode})`);
  } catch (error) {
    answer.error = error instanceof Error ? error.message : String(error);
  }
  port.postMessage(answer);
});
