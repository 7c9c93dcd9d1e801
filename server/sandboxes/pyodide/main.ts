/** The process in which untrusted Python runs. Its argument is the file of the snapshot, which need not be there. */

import { cannotStart, guard, serve } from "../serve.ts";
import { PyodideEngine } from "./engine.ts";
import { bootPython, makeSnapshot } from "./host.ts";
import { readSnapshot } from "./snapshot.ts";

const watch = guard();
await watch.started;
const engine = await boot().catch(cannotStart);
serve(engine, watch);

async function boot(): Promise<PyodideEngine> {
  // Made here it is the same: where its memory came from, a program must not be able to tell.
  const snapshot = readSnapshot(process.argv[2]!) ?? (await makeSnapshot());
  return new PyodideEngine(await bootPython(snapshot));
}
