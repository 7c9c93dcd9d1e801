/** The composition root: parts in, a listening server out. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { isIP, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Model } from "trailgym/env";
import { subprotocol, WireError } from "trailgym/protocol";
import type { Logger } from "pino";
import { WebSocketServer } from "ws";
import { type ServerConfig, defaults } from "./config.ts";
import { createDispatch } from "./dispatch.ts";
import { createHandlers } from "./handlers.ts";
import { createHttp } from "./http.ts";
import { InFlight } from "./in-flight.ts";
import type { Journal } from "./journal/journal.ts";
import { memoryJournal } from "./journal/memory.ts";
import { createLog } from "./log.ts";
import { Metrics } from "./metrics.ts";
import type { Registry } from "./registry.ts";
import { Admission } from "./sessions/admission.ts";
import { type ReferencePlay, referencePlay, type ReferenceStart } from "./sessions/reference.ts";
import type { Interpreters } from "./sandboxes/interpreters.ts";
import type { PoolUse } from "./sandboxes/pool.ts";
import { startReaper } from "./sessions/reaper.ts";
import { SessionTable } from "./sessions/table.ts";
import type { Lent } from "./sessions/trial.ts";
import { serveSocket } from "./socket.ts";
import type { Tracer } from "./tracing.ts";

export interface ServerParts {
  registry: Registry;
  config?: Partial<ServerConfig>;
  /** Owned by the server from here on. Default: what the config says. */
  journal?: Journal;
  /** What environments may be lent; owned by the server from here on. */
  interpreters: Pick<Lent, "interpreter"> & Partial<Pick<Interpreters, "use">> & AsyncDisposable;
  /** A model to lend; owned by the server from here on. */
  model?: (Model & AsyncDisposable) | undefined;
  log?: Logger;
  /** Told of each reset, step and restore. */
  tracer?: Tracer | undefined;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
  /** Milliseconds since 1970: leases of sessions that outlive the server go by it. */
  wallNow?: () => number;
  version?: string;
  instance?: string;
}

export interface Server extends AsyncDisposable {
  /** `ws://host:port/rpc`; `wss:` with a certificate. */
  readonly url: string;
  /** Differs after every start. */
  readonly instance: string;
  readonly sessions: number;
  readonly sockets: number;
  /** See `referencePlay`; not reachable from the wire. @throws WireError UNKNOWN_ENV and what a reset throws */
  reference(env: string, start: Omit<ReferenceStart, "timeoutMs">): Promise<ReferencePlay | undefined>;
  /** Takes no new work, gives running trials `graceMs`, then ends them; leaves no timer, socket or process. Again: waits for the first. */
  close(): Promise<void>;
}

/** @throws Error when the address is taken, or open to others with no token configured, or a certificate is none; JournalError. */
export async function createServer(parts: ServerParts): Promise<Server> {
  const config = { ...defaults, ...parts.config };
  assertGuarded(config);
  await using stack = new AsyncDisposableStack();
  const { registry, now = () => performance.now(), wallNow = Date.now, instance = randomUUID() } = parts;
  const log = parts.log ?? createLog();
  const interpreters = stack.use(parts.interpreters);
  stack.use(parts.model);
  const journal = stack.use(parts.journal ?? (await openJournal(config, log)));
  const lent: Lent = { interpreter: (language) => interpreters.interpreter(language), model: parts.model, log };
  const { maxMessageBytes, maxBatch, maxQueue, idleMs, queueMs } = config;
  const metrics = new Metrics();
  const admission = new Admission({ size: config.maxSessions, maxQueue });
  const trials = new Admission({ size: config.maxTrials, maxQueue });
  const inFlight = new InFlight(config.maxInFlightBytes);
  const parties = { registry, journal, lent, metrics, admission, trials, tracer: parts.tracer };
  const table = new SessionTable({ ...parties, queueMs, maxMessageBytes, now, wallNow });
  let draining = false;

  const version = parts.version ?? "0.0.0";
  const handlers = createHandlers({ config, instance, version, registry, table, journal });
  const dispatch = createDispatch({
    handlers,
    maxMessageBytes,
    maxBatch,
    inFlight,
    metrics,
    log,
    draining: () => draining,
  });
  await table.recover();
  const reaper = stack.use(startReaper(table, { idleMs, log, now }));

  // A request over `maxMessageBytes` gets an error by name; one that nobody could mean is cut off by ws with 1009.
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: 2 * maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols,
  });
  sockets.on("connection", (socket, request) => serveSocket(socket, request, { config, dispatch, now }));
  metrics.gauge("sessions", "Open sessions.", () => table.size);
  metrics.gauge("sessions_waiting", "Calls of env/make that wait for room.", () => admission.waiting);
  metrics.gauge("trials", "Resets and steps that run.", () => trials.inside);
  metrics.gauge("trials_waiting", "Resets and steps that wait for their turn.", () => trials.waiting);
  metrics.gauge("in_flight_bytes", "Requests under way.", () => inFlight.bytes);
  watchInterpreters(metrics, interpreters);
  metrics.gauge("sockets", "Connected sockets.", () => sockets.clients.size);
  const answer = createHttp({
    metrics: () => metrics.text(),
    unready: () => (draining ? "draining" : journal.failing ? "the journal takes no commits" : undefined),
  });
  const http = config.tls === undefined ? createHttpServer(answer) : createHttpsServer(config.tls, answer);
  http.on("upgrade", (request, socket, head) => {
    const refusal = refuse(request, config);
    if (refusal !== undefined) return reject(socket, refusal);
    sockets.handleUpgrade(request, socket, head, (webSocket) => sockets.emit("connection", webSocket, request));
  });
  http.listen(config.port, config.host);
  await once(http, "listening");

  const owned = stack.move();
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= shutDown());
  return {
    url: `${config.tls === undefined ? "ws" : "wss"}://${authority(http.address() as AddressInfo)}/rpc`,
    instance,
    get sessions() {
      return table.size;
    },
    get sockets() {
      return sockets.clients.size;
    },
    reference: async (env, start) =>
      referencePlay(registry.get(env), { ...start, timeoutMs: config.stepTimeoutMs }, lent),
    close,
    [Symbol.asyncDispose]: close,
  };

  async function shutDown(): Promise<void> {
    draining = true;
    table.refuseWaiting(WireError.of("SHUTTING_DOWN", "the server is shutting down", { retryAfterMs: 1000 }));
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    await settle(() => [...table.values()].every((session) => !session.busy), config.graceMs);
    for (const session of table.values()) session.close("shutdown");
    // Whoever waits for a call is told before its socket closes.
    await settle(() => inFlight.bytes === 0, 1000);
    // While their sockets hold them: whoever is there to the end is waited for after the next start.
    await reaper[Symbol.asyncDispose]();
    await table.save().catch((error: unknown) => log.error({ err: error }, "leases could not be journaled"));
    for (const socket of sockets.clients) socket.close(1001, "the server is shutting down");
    await settle(() => sockets.clients.size === 0, 1000);
    for (const socket of sockets.clients) socket.terminate();
    http.closeAllConnections();
    await closed;
    // What does not end by itself ends with the process.
    await within(owned.disposeAsync(), config.disposeMs, () => log.error("the server's parts did not end in time"));
  }
}

async function within(work: Promise<void>, timeoutMs: number, late: () => void): Promise<void> {
  using timers = new DisposableStack();
  const over = new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      late();
      resolve();
    }, timeoutMs);
    timers.defer(() => clearTimeout(timer));
  });
  await Promise.race([work, over]);
}

function watchInterpreters(metrics: Metrics, { use }: ServerParts["interpreters"]): void {
  if (use === undefined) return;
  const each = (what: keyof PoolUse) => () =>
    Object.fromEntries(Object.entries(use()).map(([language, pool]) => [language, pool[what]]));
  metrics.gauges("interpreter_processes", "Processes for untrusted code.", "language", each("processes"));
  metrics.gauges("interpreter_busy", "Those of them that run a call.", "language", each("busy"));
  metrics.gauges("interpreter_waiting", "Calls that wait for such a process.", "language", each("waiting"));
}

async function openJournal(config: ServerConfig, log: Logger): Promise<Journal> {
  const { data, keptReplies, maxSnapshots } = config;
  if (data === undefined) return memoryJournal({ keptReplies, maxSnapshots });
  // A native module that throw-away runs do without.
  const { sqliteJournal } = await import("./journal/sqlite.ts");
  return sqliteJournal(data, { ...config, log });
}

/** Waits until `done`, at most `timeoutMs`. */
async function settle(done: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!done() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
}

function assertGuarded({ host, tokens, insecure }: ServerConfig): void {
  if (isLoopback(host) || tokens.length > 0 || insecure) return;
  throw new Error(`${host} is open to others: configure tokens, or say --insecure if the network itself is trusted`);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function handleProtocols(offered: Set<string>): string | false {
  return offered.has(subprotocol) ? subprotocol : false;
}

/** A web page may not drive a server that trusts its network: only pages of this machine, or of configured origins. */
function refuse(request: IncomingMessage, { origins }: ServerConfig): string | undefined {
  if ((request.url ?? "").split("?")[0] !== "/rpc") return "404 Not Found";
  const { origin } = request.headers;
  if (origin === undefined || origins.includes(origin)) return undefined;
  const host = URL.canParse(origin) ? new URL(origin).hostname.replace(/^\[(.*)\]$/, "$1") : "";
  return isLoopback(host) ? undefined : "403 Forbidden";
}

function reject(socket: Duplex, status: string): void {
  // Nobody else listens on a refused socket any more: an unheard error would end the process, and a peer that keeps its
  // own end open would outlive the server.
  socket.on("error", () => undefined);
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

function authority({ address, port, family }: AddressInfo): string {
  return family === "IPv6" ? `[${address}]:${port}` : `${address}:${port}`;
}
