/** Which options do the commands share, with their environment variables, and what do they mean? */

import { type Command, InvalidArgumentError, Option } from "commander";
import type { ServerConfig, TokenEntry } from "trailgym/server";
import { UsageError } from "./failure.ts";

/** Where definitions and tasks come from. */
export interface SourceOptions {
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
  host: string;
  port: number;
  token?: string;
  tokens?: string;
  insecure?: boolean;
  origin?: string[];
  maxSessions?: number;
  maxMessageBytes?: number;
  maxBatch?: number;
  stepTimeoutMs?: number;
  leaseMs?: number;
  graceMs?: number;
  interpreters: number;
  json?: boolean;
}

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
  return sourceOptions(command).hook("preAction", (_, action) => refuseBoth(action));
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

export function serverOptions(command: Command): Command {
  command
    .addOption(new Option("--host <address>", "address to bind").default("127.0.0.1").env("TRAILGYM_HOST"))
    .addOption(
      new Option("--port <n>", "0 picks a free one").default(7474).argParser(integer(0, 65_535)).env("TRAILGYM_PORT"),
    )
    .addOption(
      new Option("--token <token>", "what clients must send; prefer the variable, a flag shows in `ps`").env(
        "TRAILGYM_TOKEN",
      ),
    )
    .addOption(
      new Option("--tokens <file>", "JSON list of {sha256, principal, role}, for more than one token").env(
        "TRAILGYM_TOKENS",
      ),
    )
    .option("--insecure", "serve beyond this machine without a token; only where the network itself is trusted")
    .option("--origin <url...>", "web pages, beside those of this machine, that may connect");
  const cap = (flag: string, what: string, variable: string) =>
    command.addOption(new Option(flag, what).argParser(integer(1)).env(variable));
  cap("--max-sessions <n>", "sessions open at once (default 10000)", "TRAILGYM_MAX_SESSIONS");
  cap("--max-message-bytes <n>", "largest request and reply (default 16777216)", "TRAILGYM_MAX_MESSAGE_BYTES");
  cap("--max-batch <n>", "requests in one batch (default 1024)", "TRAILGYM_MAX_BATCH");
  cap("--step-timeout-ms <ms>", "deadline of a reset or step (default 30000)", "TRAILGYM_STEP_TIMEOUT_MS");
  cap("--lease-ms <ms>", "life of a session that nobody holds (default 600000)", "TRAILGYM_LEASE_MS");
  cap("--grace-ms <ms>", "how long a shutdown waits for running steps (default 5000)", "TRAILGYM_GRACE_MS");
  command.addOption(
    new Option("--interpreters <n>", "processes for untrusted code, per language, started when first needed")
      .default(2)
      .argParser(integer(1, 256))
      .env("TRAILGYM_INTERPRETERS"),
  );
  return sourceOptions(command);
}

/** @throws UsageError for a bad tokens file */
export async function serverConfig(options: ServeOptions): Promise<Partial<ServerConfig>> {
  const { host, port, insecure = false, origin = [] } = options;
  const { maxSessions, maxMessageBytes, maxBatch, stepTimeoutMs, leaseMs, graceMs } = options;
  const caps = { maxSessions, maxMessageBytes, maxBatch, stepTimeoutMs, leaseMs, graceMs };
  const given = Object.fromEntries(Object.entries(caps).filter(([, value]) => value !== undefined));
  return {
    host,
    port,
    insecure,
    origins: origin,
    ...(given as Partial<ServerConfig>),
    tokens: await tokensOf(options),
  };
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
  const { roles } = await import("trailgym/protocol");
  const entry = z.strictObject({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, "the token's SHA-256 in lower-case hex"),
    principal: z.string().min(1),
    role: z.enum(roles),
  });
  try {
    return z.array(entry).parse(JSON.parse(await readFile(file, "utf8")));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const reason = issue ? `${issue.path.join(".") || "the file"}: ${issue.message}` : (error as Error).message;
    throw new UsageError(`--tokens ${file}: ${reason}`, { cause: error });
  }
}

/** For commander: a whole number within bounds. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const bound = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`give a whole number ${bound}.`);
  };
}

export function decimal(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("give a number.");
}

export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError("give a JSON object, such as '{\"start\": 9}'.");
}
