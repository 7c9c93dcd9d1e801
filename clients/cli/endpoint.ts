/** Whom does a command talk to: a server elsewhere, or one that lives as long as the command? */

import { randomBytes } from "node:crypto";
import { type Client, connect, type ConnectOptions } from "trailgym/client";
import type { Server, ServerConfig } from "trailgym/server";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { type EndpointOptions, tokenEntry } from "./settings.ts";

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
    const client = await join(io, url, token);
    return { client, embedded: undefined, [Symbol.asyncDispose]: () => client.close() };
  }
  const { compose } = await import("./compose.ts");
  // Loopback is open to every user of the machine, and this server is for one command.
  const own = randomBytes(24).toString("hex");
  const tokens = [await tokenEntry(own)];
  await using stack = new AsyncDisposableStack();
  const composed = stack.use(await compose(options, { ...config, host: "127.0.0.1", port: 0, tokens }));
  const client = stack.use(await join(io, composed.server.url, own));
  const owned = stack.move();
  return { client, embedded: composed.server, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function join(io: Io, url: string, token: string | undefined): Promise<Client> {
  const options: ConnectOptions = { name: "trailgym-cli", signal: io.signal, ...(token ? { token } : {}) };
  return connect(serverUrl(url), options);
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
