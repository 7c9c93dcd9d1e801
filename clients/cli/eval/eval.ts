/** The benchmark harness: an agent, a list of tasks, and numbers that can be trusted. */

import { createHash } from "node:crypto";
import { canonicalJson, type EnvEntry, type Json } from "trailgym/protocol";
import { type Endpoint, openEndpoint } from "../compose/endpoint.ts";
import { Failure, UsageError } from "../terminal/failure.ts";
import { Interrupted, type Io, note, print, printJson, width } from "../terminal/io.ts";
import { packageVersion } from "../package.ts";
import { startProgress } from "../terminal/progress.ts";
import type { EndpointOptions } from "../settings.ts";
import type { Agent } from "./agents/agent.ts";
import { ProcessAgent } from "./agents/process.ts";
import { randomAgent } from "./agents/random.ts";
import { referenceAgent } from "./agents/reference.ts";
import { splitWords } from "./agents/words.ts";
import { type Choice, chooseTasks } from "./chosen.ts";
import { plan, type Planned } from "./plan.ts";
import type { InfrastructureFailure } from "./record.ts";
import { report } from "./report.ts";
import { runEpisodes, ServerGone } from "./run.ts";
import { memoryStore, openStore, type Settings, type Store } from "./store.ts";
import { isSolved, summarise, type Summary } from "./summary.ts";

export interface EvalOptions extends EndpointOptions, Choice {
  env: string;
  /** `reference`, `random`, or the words of a command; a single word may be a whole command line. */
  agent: string[];
  episodes: number;
  seed: number;
  concurrency: number;
  options?: Record<string, unknown>;
  maxSteps: number;
  timeoutMs: number;
  stepTimeoutMs?: number;
  retries: number;
  showReward: boolean;
  solvedAt: number;
  out?: string;
  force: boolean;
  json?: boolean;
}

export async function evaluate(io: Io, options: EvalOptions): Promise<void> {
  const words = options.agent.length === 1 ? splitWords(options.agent[0] as string) : options.agent;
  const agentName = words.join(" ");
  if (agentName === "") throw new UsageError("--agent is empty: give reference, random or a command");
  if (agentName === "reference" && options.server !== undefined) {
    throw new UsageError(
      "--agent reference needs the server in this process: answers never cross the wire; leave out --server",
    );
  }
  await using endpoint = await openEndpoint(io, options);
  const { client } = endpoint;
  const env = await findEnv(endpoint, options.env, io.signal);
  const tasks = await chooseTasks(client, env, options, io.signal);
  const planned = plan(tasks, options.episodes, options.seed);
  const settings = await settingsOf(options, agentName, endpoint, planned);

  await using store = options.out === undefined ? memoryStore() : await openStore(options.out, settings, options.force);
  const failures: InfrastructureFailure[] = [];
  const summary = () => summarise({ planned, outcomes: store.outcomes, failures, solvedAt: options.solvedAt });
  let gone: ServerGone | undefined;
  try {
    await play(io, options, { endpoint, env, planned, agentName, words, settings, store, failures });
  } catch (error) {
    if (!(error instanceof ServerGone)) {
      await store.finish({ ...summary(), settings });
      if (error instanceof Interrupted && options.out !== undefined) note(io, "the same command goes on from here");
      throw error;
    }
    gone = error;
  }
  const result = { ...summary(), settings };
  await store.finish(result);
  if (options.json === true) printJson(io, result);
  else print(io, report(result, agentName, env.id, width(io)));
  if (gone !== undefined) explainGone(io, gone, options);
  else if (!result.complete) explain(io, result, options);
  else if (!store.outcomes.values().some(({ error, steps }) => error === null || steps > 0)) {
    io.exitCode = 1;
    note(io, `no episode got as far as its first action${options.out === undefined ? "" : "; see agent.log"}`);
  }
}

interface Parts {
  endpoint: Endpoint;
  env: EnvEntry;
  planned: readonly Planned[];
  agentName: string;
  words: readonly string[];
  settings: Settings;
  store: Store;
  failures: InfrastructureFailure[];
}

async function play(io: Io, options: EvalOptions, parts: Parts): Promise<void> {
  const { endpoint, env, planned, agentName, settings, store, failures } = parts;
  const episodes = planned.filter(({ key }) => !store.outcomes.has(key));
  const before = planned.length - episodes.length;
  if (before > 0) note(io, `${before} of ${planned.length} episodes were played before`);
  let solved = planned.filter(({ key }) => {
    const outcome = store.outcomes.get(key);
    return outcome !== undefined && isSolved(outcome, options.solvedAt);
  }).length;
  const progress = await startProgress(io, agentName, planned.length, { done: before });
  try {
    await runEpisodes({
      episodes,
      concurrency: options.concurrency,
      retries: options.retries,
      agent: () => createAgent(options, parts),
      settings: {
        client: endpoint.client,
        env,
        agentName,
        versions: settings.versions as { trailgym: string; protocol: string },
        options: options.options,
        stepTimeoutMs: options.stepTimeoutMs,
        maxSteps: options.maxSteps,
      },
      signal: io.signal,
      onRecord(record) {
        store.add(record);
        if (isSolved(record, options.solvedAt)) solved++;
        progress.advance(`${solved} solved`);
      },
      onFailure(failure) {
        failures.push(failure);
        store.fail(failure);
      },
      onMissing: () => progress.advance(`${solved} solved`),
    });
  } finally {
    progress.stop();
  }
}

function createAgent(options: EvalOptions, { endpoint, words, agentName, store }: Parts): Agent {
  if (agentName === "random") return randomAgent();
  if (agentName === "reference" && endpoint.embedded) return referenceAgent(endpoint.embedded, options.options);
  const { timeoutMs, showReward } = options;
  return new ProcessAgent({ command: words, timeoutMs, showReward, log: store.agentLog });
}

async function findEnv({ client }: Endpoint, id: string, signal: AbortSignal): Promise<EnvEntry> {
  const entries = await client.list({ signal });
  const entry = entries.find((one) => one.id === id);
  if (entry !== undefined) return entry;
  // The server's own words, with its suggestions.
  await client.call("env/tasks", { env: id, limit: 1 }, { signal });
  throw new Failure(`there is no environment "${id}"`);
}

/** What may not change between a run and the one that goes on from it. Concurrency, retries and the server's address may. */
async function settingsOf(
  options: EvalOptions,
  agent: string,
  { client }: Endpoint,
  planned: readonly Planned[],
): Promise<Settings> {
  const { env, episodes, seed, maxSteps, timeoutMs, stepTimeoutMs = null, showReward, solvedAt } = options;
  const { server, protocolVersion, limits } = client.welcome;
  const tasks = planned.filter(({ episode }) => episode === 0).map(({ task }) => task);
  return {
    env,
    options: options.options ?? {},
    // Their contents too: an edited dataset is another one.
    tasks: { count: tasks.length, sha256: sha256(canonicalJson(tasks as Json)) },
    agent,
    episodes,
    seed,
    maxSteps,
    timeoutMs,
    stepTimeoutMs: stepTimeoutMs ?? limits.stepTimeoutMs,
    showReward,
    solvedAt,
    versions: { trailgym: server.version, protocol: protocolVersion, harness: await packageVersion() },
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function explainGone(io: Io, { message }: ServerGone, { server, out }: EvalOptions): void {
  io.exitCode = 1;
  const again =
    out === undefined ? "with --out DIR a second run would go on from here" : "the same command goes on from here";
  note(io, `the server${server === undefined ? "" : ` at ${server}`} went away; ${again} (${message})`);
}

function explain(io: Io, { infrastructure }: Summary, { out }: EvalOptions): void {
  io.exitCode = 1;
  const again =
    out === undefined ? "with --out DIR a second run would play only those" : "the same command plays only those";
  note(
    io,
    `${infrastructure.missing} episodes are missing (${Object.keys(infrastructure.errors).join(", ")}); ${again}`,
  );
}
