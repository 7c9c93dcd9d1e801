/** Which options do the commands share, with their environment variables, and what do they mean? */

import { type Command, Option } from "commander";
import type { ServerConfig, TokenEntry } from "trailgym/server";
import { type ModelOptions, modelOptions } from "./compose/model.ts";
import { UsageError } from "./terminal/failure.ts";
import { integer } from "./terminal/values.ts";

/** Where definitions and tasks come from. */
export interface SourceOptions extends ModelOptions {
  envs?: string[];
  tasks?: string[];
  /** Commander's name for the absence of `--no-builtin-tasks`. */
  builtinTasks: boolean;
  /** Of `--no-threads`. */
  threads: boolean;
  logLevel: string;
}

/** A server elsewhere, instead of one in this process. */
export interface EndpointOptions extends SourceOptions {
  server?: string;
  token?: string;
}

export interface ServeOptions extends SourceOptions {
  host?: string;
  port?: number;
  token?: string;
  tokens?: string;
  insecure?: boolean;
  tlsCert?: string;
  tlsKey?: string;
  origin?: string[];
  maxSessions?: number;
  maxTrials?: number;
  maxQueue?: number;
  queueMs?: number;
  maxInFlightBytes?: number;
  maxMessageBytes?: number;
  maxBufferedBytes?: number;
  maxBatch?: number;
  maxSnapshots?: number;
  stepTimeoutMs?: number;
  leaseMs?: number;
  heartbeatMs?: number;
  idleMs?: number;
  keepEpisodesMs?: number;
  maxJournalBytes?: number;
  graceMs?: number;
  data?: string;
  memory?: boolean;
  sync?: ServerConfig["sync"];
  interpreters?: number;
  openTelemetry?: boolean;
  attest?: boolean;
  json?: boolean;
}

/** Bounds of the server that are whole numbers: their flags and variables are made of their names. */
const caps = [
  ["maxSessions", "n", "sessions open at once"],
  ["maxTrials", "n", "resets and steps that run at once; others wait for their turn"],
  ["maxQueue", "n", "calls that may wait"],
  ["queueMs", "ms", "how long a new session waits for room"],
  ["maxInFlightBytes", "n", "bytes of requests under way at once"],
  ["maxMessageBytes", "n", "largest request and reply"],
  [
    "maxBufferedBytes",
    "n",
    "bytes that wait for a slow reader before it is not read; at four times as many it is closed",
  ],
  ["maxBatch", "n", "requests in one batch"],
  ["maxSnapshots", "n", "snapshots kept; the one longest unused goes first"],
  ["stepTimeoutMs", "ms", "deadline of a reset or step"],
  ["leaseMs", "ms", "life of a session that nobody holds"],
  ["heartbeatMs", "ms", "a peer that answers no ping for so long is dropped"],
  ["idleMs", "ms", "a session that was not called for so long leaves memory for the data folder until it is"],
  ["keepEpisodesMs", "ms", "how long ended episodes stay in the data folder"],
  [
    "maxJournalBytes",
    "n",
    "of the data folder's file: near it the oldest ended episodes go first, at it steps are refused",
  ],
  ["graceMs", "ms", "how long a shutdown waits for running steps"],
] as const;
type Knob = (typeof caps)[number][0] | "host" | "port";

const logLevels = ["silent", "fatal", "error", "warn", "info", "debug", "trace"];

export function sourceOptions(command: Command, { tasksFlag = "--tasks <dir...>" } = {}): Command {
  return command
    .option("--envs <path...>", "more environments: *.env.ts files, folders of them, or installed packages")
    .addOption(
      new Option(tasksFlag, "more tasks: dataset folders (or folders of them), each with a dataset.json").env(
        "TRAILGYM_TASKS",
      ),
    )
    .option("--no-builtin-tasks", "leave out the tasks that come with trailgym")
    .option(
      "--no-threads",
      "run --envs on the server's own thread: faster, and a step that never returns stops everything",
    )
    .addOption(
      new Option("--log-level <level>", "the server's log, on stderr")
        .choices(logLevels)
        .default("warn")
        .env("TRAILGYM_LOG_LEVEL"),
    );
}

export function endpointOptions(command: Command): Command {
  command
    .addOption(
      new Option("--server <url>", "use a running server instead of one in this process").env("TRAILGYM_SERVER"),
    )
    .addOption(new Option("--token <token>", "the token of that server").env("TRAILGYM_TOKEN"));
  return modelOptions(sourceOptions(command)).hook("preAction", (_, action) => refuseBoth(action));
}

/** What a variable of the environment says is not asked for here and now, and simply has no effect. */
function refuseBoth(command: Command): void {
  if (command.opts<EndpointOptions>().server === undefined) return;
  const given = ["envs", "tasks"].filter((name) => command.getOptionValueSource(name) === "cli");
  if (given.length === 0) return;
  const flags = given.map((name) => `--${name}`).join(" and ");
  throw new UsageError(
    `${flags} cannot be given to a server that runs already: leave out --server, or give them to it`,
  );
}

/** @param unasked what the server does where an option is absent; undefined where nobody will see it. */
export function serverOptions(command: Command, unasked?: ServerConfig): Command {
  const otherwise = (knob: Knob) => (unasked === undefined ? "" : ` (default ${unasked[knob]})`);
  command
    .addOption(new Option("--host <address>", `address to bind${otherwise("host")}`).env("TRAILGYM_HOST"))
    .addOption(
      new Option("--port <n>", `0 picks a free one${otherwise("port")}`)
        .argParser(integer(0, 65_535))
        .env("TRAILGYM_PORT"),
    )
    .addOption(
      new Option("--token <token>", "what clients must send; prefer the variable, a flag shows in `ps`").env(
        "TRAILGYM_TOKEN",
      ),
    )
    .addOption(
      new Option(
        "--tokens <file>",
        "JSON list of {sha256, principal, role, discloses?, maxSessions?, maxTrials?, maxInFlightBytes?}, for more than one token",
      ).env("TRAILGYM_TOKENS"),
    )
    .option("--insecure", "serve beyond this machine without a token; only where the network itself is trusted")
    .addOption(
      new Option("--tls-cert <file>", "a certificate and its chain, PEM: serve wss and https").env("TRAILGYM_TLS_CERT"),
    )
    .addOption(new Option("--tls-key <file>", "the certificate's private key, PEM").env("TRAILGYM_TLS_KEY"))
    .option("--origin <url...>", "web pages, beside those of this machine, that may connect");
  for (const [knob, unit, what] of caps) {
    const words = knob.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
    const flag = `--${words.toLowerCase().replaceAll("_", "-")} <${unit}>`;
    command.addOption(new Option(flag, `${what}${otherwise(knob)}`).argParser(integer(1)).env(`TRAILGYM_${words}`));
  }
  command
    .addOption(
      new Option(
        "--data <dir>",
        "where sessions and episodes are kept (default: a folder of yours for each port; with --port 0 none)",
      ).env("TRAILGYM_DATA"),
    )
    .addOption(new Option("--memory", "keep nothing: sessions end with the server").conflicts("data"))
    .addOption(
      new Option("--sync <mode>", "what a committed step outlives: off, normal (default) the server; full the machine")
        .choices(["off", "normal", "full"])
        .env("TRAILGYM_SYNC"),
    );
  command.addOption(
    new Option(
      "--interpreters <n>",
      "processes for untrusted code, per language, started when first needed (default 2)",
    )
      .argParser(integer(1, 256))
      .env("TRAILGYM_INTERPRETERS"),
  );
  return modelOptions(sourceOptions(command));
}

/** Only what was asked for: the rest is the server's to decide. @throws UsageError for a bad tokens file, certificate or key */
export async function serverConfig(options: ServeOptions): Promise<Partial<ServerConfig>> {
  const { host, port, sync, insecure = false, origin = [] } = options;
  const data = options.memory === true ? undefined : (options.data ?? (await dataFolder(port)));
  const knobs = { host, port, data, sync, ...Object.fromEntries(caps.map(([knob]) => [knob, options[knob]])) };
  const given = Object.fromEntries(Object.entries(knobs).filter(([, value]) => value !== undefined));
  const [tokens, tls] = [await tokensOf(options), await tlsOf(options)];
  return { insecure, origins: origin, ...(given as Partial<ServerConfig>), tokens, tls };
}

async function tlsOf({ tlsCert, tlsKey }: ServeOptions): Promise<ServerConfig["tls"]> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new UsageError("--tls-cert and --tls-key go together");
  const { readFile } = await import("node:fs/promises");
  const { createSecureContext } = await import("node:tls");
  const read = (flag: string, file: string) =>
    readFile(file, "utf8").catch((error: Error) => {
      throw new UsageError(`${flag} ${file}: ${error.message}`, { cause: error });
    });
  const tls = { cert: await read("--tls-cert", tlsCert), key: await read("--tls-key", tlsKey) };
  try {
    createSecureContext(tls);
  } catch (error) {
    const problem = `${tlsCert} and ${tlsKey} are no certificate and its key, both PEM: ${(error as Error).message}`;
    throw new UsageError(problem, { cause: error });
  }
  return tls;
}

/** Nobody finds a server on any free port again, nor the sessions that it would keep. */
async function dataFolder(port: number | undefined): Promise<string | undefined> {
  if (port === 0) return undefined;
  const { defaults } = await import("trailgym/server");
  return (await import("./journal/folder.ts")).defaultFolder(port ?? defaults.port);
}

async function tokensOf({ token, tokens }: ServeOptions): Promise<TokenEntry[]> {
  const own: TokenEntry[] = token === undefined || token === "" ? [] : [await tokenEntry(token)];
  return tokens === undefined ? own : [...own, ...(await readTokens(tokens))];
}

/** The token itself is not held by the server. */
export async function tokenEntry(token: string): Promise<TokenEntry> {
  const { createHash } = await import("node:crypto");
  return { sha256: createHash("sha256").update(token).digest("hex"), principal: "local", role: "trainer" };
}

async function readTokens(file: string): Promise<TokenEntry[]> {
  const { readFile } = await import("node:fs/promises");
  const { z } = await import("zod");
  const { disclosures, roles } = await import("trailgym/protocol");
  const entry = z.strictObject({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, "the token's SHA-256 in lower-case hex"),
    principal: z.string().min(1),
    role: z.enum(roles),
    discloses: z.array(z.enum(disclosures)).exactOptional(),
    maxSessions: z.int().min(1).exactOptional(),
    maxTrials: z.int().min(1).exactOptional(),
    maxInFlightBytes: z.int().min(1).exactOptional(),
  });
  try {
    return z.array(entry).parse(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const reason = issue ? `${issue.path.join(".") || "the file"}: ${issue.message}` : (error as Error).message;
    throw new UsageError(`--tokens ${file}: ${reason}`, { cause: error });
  }
}
