/** Trajectories as JSON lines: everything there is of each. */

import { open, rm } from "node:fs/promises";
import type { Sink } from "./export.ts";

/** @throws the system's EEXIST unless `force` */
export async function jsonLines(file: string, force: boolean): Promise<Sink> {
  const handle = await open(file, force ? "w" : "wx");
  return {
    async write(record) {
      await handle.write(`${JSON.stringify(record)}\n`);
    },
    close: () => handle.close(),
    async discard() {
      await handle.close();
      await rm(file, { force: true });
    },
  };
}
