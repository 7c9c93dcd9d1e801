/** The process in which untrusted Python runs. */

import { cannotStart, guard, serve } from "../serve.ts";
import { PyodideEngine } from "./engine.ts";
import { bootPython } from "./host.ts";

const watch = guard();
await watch.started;
const engine = await bootPython()
  .then((python) => new PyodideEngine(python))
  .catch(cannotStart);
serve(engine, watch);
