/** A TCP proxy in front of a server, for what real networks do to a socket. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Proxy extends AsyncDisposable {
  /** `url` with the proxy's address. */
  readonly url: string;
  /** Ends every connection with a TCP reset. */
  cut(): void;
  /** Passes nothing on to the client until {@link cut}; the server is still heard. */
  deafen(): void;
}

export async function proxy(url: string): Promise<Proxy> {
  const { hostname, port, pathname } = new URL(url);
  const pairs = new Set<readonly [Socket, Socket]>();
  let deaf = false;
  const listener = createServer((client) => {
    const server = connect(Number(port), hostname);
    const pair = [client, server] as const;
    pairs.add(pair);
    const end = () => {
      client.resetAndDestroy();
      server.destroy();
      pairs.delete(pair);
    };
    for (const socket of pair) socket.on("close", end).on("error", end);
    client.on("data", (data) => server.write(data));
    server.on("data", (data) => deaf || client.write(data));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cut = () => {
    deaf = false;
    for (const [client, server] of [...pairs]) {
      client.resetAndDestroy();
      server.destroy();
    }
  };
  return {
    url: `ws://127.0.0.1:${(listener.address() as AddressInfo).port}${pathname}`,
    cut,
    deafen: () => void (deaf = true),
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
