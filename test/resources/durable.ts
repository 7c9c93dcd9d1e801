/** A server with a data folder, which can go down, in order or not, and come up again. */

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServerOptions, serverResource, type TestServer } from "./server.ts";
import type { Wire, WireOptions } from "./wire.ts";

/** `close`: as a signal ends it. `crash`: only what is in its files is left, as after SIGKILL. */
export type Down = "close" | "crash";

export interface DurableServer extends AsyncDisposable {
  /** The one that is up. */
  readonly current: TestServer;
  wire(options?: WireOptions): Promise<Wire>;
  /** @param change what is different after it */
  restart(how: Down, change?: Partial<ServerOptions>): Promise<void>;
  readonly data: string;
}

export async function durableServer(options: ServerOptions): Promise<DurableServer> {
  const root = mkdtempSync(join(tmpdir(), "trailgym-durable-"));
  let folders = 0;
  let data = join(root, "0");
  let given = options;
  const start = () => serverResource({ ...given, config: { ...given.config, data } });
  let current = await start();
  return {
    get current() {
      return current;
    },
    get data() {
      return data;
    },
    wire: (wireOptions) => current.wire(wireOptions),
    async restart(how, change = {}) {
      const before = current;
      given = { ...given, ...change };
      if (how === "crash") {
        // What a killed server leaves behind. The one that lives on writes to the other copy, and nobody reads that.
        const left = join(root, String(++folders));
        cpSync(data, left, { recursive: true });
        data = left;
      }
      await before[Symbol.asyncDispose]();
      current = await start();
    },
    async [Symbol.asyncDispose]() {
      await current[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
