/**
 * Many sessions of a real server that is killed again and again, through sockets that break: is anything lost, doubled or
 * swapped? Every episode is a function of its plan, so the same plan played in peace says what must come out.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { createInterface } from "node:readline";
import { type Client, ClientError, connect, type Session } from "trailgym/client";
import { type Rng, rng, sampleToolCall } from "trailgym/env";
import type { ToolSpec } from "trailgym/protocol";
import { type Proxy, proxy } from "../clients/typescript/proxy.ts";
import { until } from "./events.ts";
import { closedPort } from "./port.ts";

export interface ChaosPlan {
  sessions: number;
  episodes: number;
  /** Of an episode, at most; at least 3. */
  steps: number;
  /** Kills of the server, spread over the run at random. */
  kills: number;
  /** Connections that the sessions share; each is cut now and then. */
  sockets: number;
  seed: number;
  /** Folder for the journal; made if it is not there. */
  data: string;
  /** Told how far it is. */
  note?: (text: string) => void;
}

export interface ChaosReport {
  episodes: number;
  steps: number;
  kills: number;
  cuts: number;
  /** Replies or kept transitions that differ from those of the undisturbed run; what and where. */
  differences: string[];
  /** Errors that a caller saw of a reset or step: there must be none. */
  errors: string[];
  /** Processes that a server left behind. */
  left: string[];
  /** Milliseconds from the start of a process to its first accepted connection, after a kill. */
  restarts: number[];
}

const main = new URL("../../clients/cli/main.ts", import.meta.url).pathname;

interface Episode {
  env: string;
  seed: number;
  task: string | undefined;
  steps: number;
}

/** All that a policy or a trainer could see of a step. */
interface Seen {
  action: unknown;
  observation: unknown;
  reward: number;
  terminated: boolean;
  truncated: boolean;
  stateDigest: string | undefined;
}

type Played = readonly [opening: unknown, ...steps: Seen[]];

export async function chaos(plan: ChaosPlan): Promise<ChaosReport> {
  const { note = () => undefined } = plan;
  const chance = rng(plan.seed, 0);
  const peaceful = await undisturbed(plan, chance);
  const total = peaceful.played.reduce((sum, [, ...steps]) => sum + steps.length, 0);
  note(`the undisturbed run has ${total} steps`);
  const report: ChaosReport = {
    ...{ episodes: 0, steps: 0, kills: 0, cuts: 0, differences: [], errors: [], left: [], restarts: [] },
  };
  const thresholds = Array.from({ length: plan.kills }, () => Math.floor(chance.float() * total * 0.95)).toSorted(
    (a, b) => a - b,
  );

  const port = await closedPort();
  const server = new Victim(plan.data, port);
  await server.start("normal");
  const proxies: Proxy[] = [];
  const clients: Client[] = [];
  try {
    for (let i = 0; i < plan.sockets; i++) {
      const network = await proxy(server.url);
      proxies.push(network);
      const patience = { maxAttempts: 100_000, minDelayMs: 10, maxDelayMs: 200 };
      clients.push(await connect(network.url, { reconnect: patience, connectAttempts: 100 }));
    }
    const playing = play(plan, peaceful, clients, report);
    const finished = playing.then(() => true);
    const cutting = cutSockets(proxies, chance, finished, report);
    for (const threshold of thresholds) {
      const ended = await Promise.race([finished, until(() => report.steps >= threshold, 600_000).then(() => false)]);
      if (ended) break;
      // Somewhere between two steps, within one, or within a commit.
      await new Promise((resolve) => setTimeout(resolve, chance.float() * 20));
      await server.kill();
      report.kills++;
      note(`kill ${report.kills} after ${report.steps} of ${total} steps`);
      // With `full` a commit takes as long as the disk does: the next kill probably hits one.
      report.restarts.push(await server.start(report.kills % 2 === 0 ? "normal" : "full"));
    }
    const episodes = await playing;
    await cutting;
    await compareKept(clients[0] as Client, episodes, peaceful.played, report);
    return report;
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await Promise.all(proxies.map((each) => each[Symbol.asyncDispose]()));
    report.left.push(...(await server.stop()));
  }
}

async function cutSockets(
  proxies: readonly Proxy[],
  chance: Rng,
  finished: Promise<unknown>,
  report: ChaosReport,
): Promise<void> {
  let over = false;
  void finished.then(() => (over = true));
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, 30 + chance.float() * 250));
    chance.choice(proxies).cut();
    report.cuts++;
  }
}

/** What each episode is, and what comes out of it when nothing happens. */
async function undisturbed(plan: ChaosPlan, chance: Rng): Promise<{ episodes: Episode[]; played: Played[] }> {
  const server = new Victim(undefined, 0);
  await server.start("normal");
  try {
    await using client = await connect(server.url);
    const tasks: string[] = [];
    for await (const { id } of client.tasks("code-gym-v1")) if (id.includes("-js/")) tasks.push(id);
    const episodes = Array.from({ length: plan.episodes }, (_, i): Episode => {
      const seed = chance.int(0, 2 ** 40);
      if (i % 2 === 0) return { env: "countdown-v1", seed, task: undefined, steps: plan.steps };
      return { env: "code-gym-v1", seed, task: chance.choice(tasks), steps: chance.int(2, plan.steps) };
    });
    const played: Played[] = Array<Played>(episodes.length);
    await inParallel(16, episodes.keys(), async (i) => {
      const episode = episodes[i] as Episode;
      await using session = await client.make(episode.env, { options: optionsOf(episode) });
      played[i] = await playEpisode(session, episode, () => undefined);
    });
    return { episodes, played };
  } finally {
    await server.stop();
  }
}

/** A countdown takes 1 or 2 a step: it ends by itself. */
function optionsOf({ env, steps }: Episode): Record<string, unknown> {
  return env === "countdown-v1" ? { start: steps } : {};
}

/** @returns the id under which each episode is kept, by its number. */
async function play(
  plan: ChaosPlan,
  { episodes, played }: { episodes: readonly Episode[]; played: readonly Played[] },
  clients: readonly Client[],
  report: ChaosReport,
): Promise<string[]> {
  const ids: string[] = [];
  const waiting = new Map(["countdown-v1", "code-gym-v1"].map((env) => [env, numbersOf(episodes, env)]));
  const players = Array.from({ length: plan.sessions }, async (_, k) => {
    const queue = waiting.get(k % 2 === 0 ? "countdown-v1" : "code-gym-v1") as number[];
    const client = clients[k % clients.length] as Client;
    let session: Session | undefined;
    for (let i = queue.shift(); i !== undefined; i = queue.shift()) {
      const [episode, expected] = [episodes[i] as Episode, played[i] as Played];
      // One session plays several episodes, one after the other.
      session ??= await made(client, episode);
      try {
        const got = await playEpisode(session, episode, (id, at, seen) => {
          if (id !== undefined) ids[i] = id;
          if (at > 0) report.steps++;
          if (!same(seen, expected[at]))
            report.differences.push(`episode ${i}, reply ${at}: ${show(seen)} for ${show(expected[at])}`);
        });
        if (got.length !== expected.length) report.differences.push(`episode ${i} has ${got.length - 1} steps`);
        report.episodes++;
      } catch (error) {
        report.errors.push(`episode ${i}: ${String(error)}`);
        session = undefined;
      }
    }
  });
  await Promise.all(players);
  return ids;
}

/** `env/make` has no seq: who lost its answer makes another session, and the lease closes the one nobody knows of. */
async function made(client: Client, episode: Episode): Promise<Session> {
  for (;;) {
    try {
      return await client.make(episode.env, { options: optionsOf(episode) });
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== "CONNECTION_LOST") throw error;
    }
  }
}

async function playEpisode(
  session: Session,
  { env, seed, task, steps }: Episode,
  tell: (id: string | undefined, at: number, seen: unknown) => void,
): Promise<Played> {
  const opening = await session.reset({ seed, ...(task === undefined ? {} : { task }) });
  const { episode, observation, stateDigest, tools = [] } = opening;
  const first = { observation, stateDigest };
  tell(episode, 0, first);
  const played: [unknown, ...Seen[]] = [first];
  for (let at = 1; ; at++) {
    const action = env === "countdown-v1" ? { amount: rng(seed, at).int(1, 2) } : toolCall(tools, seed, at, steps);
    const { observation, reward, terminated, truncated, stateDigest } = await session.step(action);
    const seen: Seen = { action, observation, reward, terminated, truncated, stateDigest };
    played.push(seen);
    tell(undefined, at, seen);
    if (terminated || truncated) return played;
  }
}

function toolCall(tools: readonly ToolSpec[], seed: number, at: number, steps: number) {
  const done = ({ name }: ToolSpec) => name === "Done";
  return sampleToolCall(
    tools.filter((tool) => done(tool) === at >= steps),
    rng(seed, at),
  );
}

/** What the journal has of each episode is what was played: no transition more, none less, each in its place. */
async function compareKept(
  client: Client,
  ids: readonly string[],
  played: readonly Played[],
  report: ChaosReport,
): Promise<void> {
  await inParallel(16, played.keys(), async (i) => {
    const { opening, transitions, ended } = await client.call("trajectory/get", { episode: ids[i] });
    const kept: Played = [
      { observation: opening.observation, stateDigest: opening.stateDigest },
      ...transitions.map(({ action, observation, reward, terminated, truncated, stateDigest }): Seen => {
        return { action, observation, reward, terminated, truncated, stateDigest };
      }),
    ];
    if (!ended || !same(kept, played[i])) report.differences.push(`episode ${i} is kept as ${show(kept)}`);
  });
}

function numbersOf(episodes: readonly Episode[], env: string): number[] {
  return [...episodes.keys()].filter((i) => episodes[i]?.env === env);
}

async function inParallel<T>(width: number, items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 300) ?? "nothing";
}

type Child = ChildProcessByStdio<null, Readable, null>;

/** The command line's server, as a process that can be killed. */
class Victim {
  url = "";
  readonly #data: string | undefined;
  readonly #port: number;
  readonly #instances: string[] = [];
  #child: Child | undefined;

  constructor(data: string | undefined, port: number) {
    this.#data = data;
    this.#port = port;
  }

  /** @returns how many milliseconds it took until it said that it serves */
  async start(sync: string): Promise<number> {
    const began = performance.now();
    const kept = this.#data === undefined ? ["--memory"] : ["--data", this.#data, "--sync", sync];
    const args = ["serve", "--port", String(this.#port), "--json", "--interpreters", "1", ...kept];
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    const lines = createInterface({ input: child.stdout });
    const [line] = (await Promise.race([
      once(lines, "line"),
      once(child, "exit").then(([code]) => {
        throw new Error(`the server ended with ${code} before it served`);
      }),
    ])) as [string];
    const { url, instance } = JSON.parse(line) as { url: string; instance: string };
    this.url = url;
    this.#instances.push(instance);
    return performance.now() - began;
  }

  async kill(): Promise<void> {
    const child = this.#child as Child;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  /** @returns command lines of processes that it, or one of its lives before, has left behind */
  async stop(): Promise<string[]> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    const left = () => commandLines().filter((line) => this.#instances.some((instance) => line.includes(instance)));
    await until(() => left().length === 0, 5000).catch(() => undefined);
    return left();
  }
}

function commandLines(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")];
      } catch {
        return [];
      }
    });
}
