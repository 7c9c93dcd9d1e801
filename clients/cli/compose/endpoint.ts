/** Whom does a command talk to: a server elsewhere, or one that lives as long as the command? */

import { randomBytes } from "node:crypto";
import { type Client, connect, type ConnectOptions } from "trailgym/client";
import type { Server, ServerConfig } from "trailgym/server";
import { UsageError } from "../terminal/failure.ts";
import { type Io, note } from "../terminal/io.ts";
import { type EndpointOptions, tokenEntry } from "../settings.ts";

/** A server that takes longer to say a word is none. */
const CONNECT_MS = 5_000;

export interface Endpoint extends AsyncDisposable {
  readonly client: Client;
  /** Undefined where the server is elsewhere. */
  readonly embedded: Server | undefined;
}

/** @param config of the embedded server. @throws what `connect` and `compose` throw */
export async function openEndpoint(
  io: Io,
  options: EndpointOptions,
  config: Partial<ServerConfig> = {},
): Promise<Endpoint> {
  const { server: url, token } = options;
  if (url !== undefined) {
    const client = await elsewhere(io, serverUrl(url), token);
    return { client, embedded: undefined, [Symbol.asyncDispose]: () => client.close() };
  }
  const { compose } = await import("./compose.ts");
  // Loopback is open to every user of the machine, and this server is for one command.
  const own = randomBytes(24).toString("hex");
  const tokens = [await tokenEntry(own)];
  await using stack = new AsyncDisposableStack();
  const composed = stack.use(await compose(options, { ...config, host: "127.0.0.1", port: 0, tokens }));
  const client = stack.use(await connect(composed.server.url, optionsOf(io, own)));
  const owned = stack.move();
  return { client, embedded: composed.server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** One attempt: a server that is not there is a mistake to be told at once. One that is lost later may come back. */
async function elsewhere(io: Io, url: string, token: string | undefined): Promise<Client> {
  // The platform's own does not say why a socket did not open.
  const { WebSocket } = await import("ws");
  let lost = false;
  return connect(url, {
    ...optionsOf(io, token),
    WebSocket,
    connectTimeoutMs: CONNECT_MS,
    onStateChange(change) {
      if (change.state === "lost") note(io, `lost the server at ${url} (${change.code}); trying to reach it again`);
      else if (change.state === "open" && lost) note(io, `reached the server at ${url} again`);
      lost = change.state === "lost" || (lost && change.state === "reconnecting");
    },
  });
}

function optionsOf(io: Io, token: string | undefined): ConnectOptions {
  return { name: "trailgym-cli", signal: io.signal, ...(token ? { token } : {}) };
}

/** `host:port`, `http://host:port` and `ws://host:port` are what people type; the endpoint is `ws://host:port/rpc`. */
export function serverUrl(text: string): string {
  const bare = /^([^/:\s]+|\[[0-9a-f:]+\]):\d+(\/|$)/i.test(text);
  const url = URL.parse(bare ? `ws://${text}` : text.replace(/^http(s?):\/\//i, "ws$1://"));
  if (url === null || !/^wss?:$/.test(url.protocol)) {
    throw new UsageError(`not a server URL: ${text}; try ws://127.0.0.1:7474/rpc`);
  }
  if (url.pathname === "/") url.pathname = "/rpc";
  return url.href;
}
