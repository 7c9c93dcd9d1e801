/** The process in which untrusted JavaScript runs. */

import { guard, serve } from "../serve.ts";
import { IsolateEngine } from "./engine.ts";

const watch = guard();
await watch.started;
serve(new IsolateEngine(), watch);
