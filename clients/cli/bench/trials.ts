/** What does one trial of a program cost by itself, without a server and a wire? Run as a process of its own. */

import { fileURLToPath } from "node:url";
import { type EnvContext, rng } from "trailgym/env";
import { createInterpreters, createRegistry } from "trailgym/server";
import { findSources } from "../compose/compose.ts";

export interface TrialsPlan {
  task: string;
  trials: number;
}

const { task: id, trials } = JSON.parse(process.argv[2] ?? "{}") as TrialsPlan;
const folder = fileURLToPath(new URL("./dataset", import.meta.url));
const { definitions, files } = await findSources({
  tasks: [folder],
  builtinTasks: false,
  threads: false,
  logLevel: "error",
});
const { definition, tasks } = (await createRegistry(definitions, files)).get("code-gym-v1");
await using interpreters = createInterpreters();

const seed = 1;
const context = (index: number): EnvContext => ({
  rng: rng(seed, index),
  signal: new AbortController().signal,
  task: tasks?.get(id),
  log: () => undefined,
  progress: () => undefined,
  interpreter: (language) => interpreters.interpreter(language),
});
let { state } = (await definition.reset(context(0), definition.options.parse({}))) as { state: unknown };
const times: number[] = [];
// The first tenth warms the compilers up, as any training run does.
for (let i = 1; i <= 1.1 * trials; i++) {
  const action: unknown = definition.action.parse({ tool: "Add", arguments: { place: i % 200 } });
  const started = performance.now();
  ({ state } = (await definition.step(context(i), state, action)) as { state: unknown });
  if (i > 0.1 * trials) times.push(performance.now() - started);
}
times.sort((a, b) => a - b);
const at = (q: number) => times[Math.floor(q * times.length)];
process.stdout.write(`${JSON.stringify({ p50: at(0.5), p99: at(0.99) })}\n`);
