/** Preloaded into a server: on SIGUSR2 it writes what it holds to the file that LEAKS_REPORT names, after its collector ran. */

import { renameSync, writeFileSync } from "node:fs";

export interface Resources {
  /** Of timers, sockets and other handles, by their kind. */
  handles: Record<string, number>;
  heapBytes: number;
  /** Buffers and the like. */
  externalBytes: number;
}

process.on("SIGUSR2", () => {
  globalThis.gc?.();
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  const { heapUsed, external } = process.memoryUsage();
  const report: Resources = {
    handles: Object.fromEntries([...kinds].map(([kind, list]) => [kind, list.length])),
    heapBytes: heapUsed,
    externalBytes: external,
  };
  const file = process.env.LEAKS_REPORT as string;
  writeFileSync(`${file}.new`, JSON.stringify(report));
  renameSync(`${file}.new`, file);
});
