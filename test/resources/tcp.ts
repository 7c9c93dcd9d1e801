/** A peer that speaks TCP by hand: for handshakes that stop half-way and peers that go silent. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export async function tcp(port: number): Promise<Socket & AsyncDisposable> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return Object.assign(socket, {
    [Symbol.asyncDispose]: () => {
      socket.destroy();
      return Promise.resolve();
    },
  });
}

/** The text of a WebSocket handshake. */
export function handshake(path = "/rpc", headers: Readonly<Record<string, string>> = {}): string {
  const fields = {
    Host: "127.0.0.1",
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

/** Everything that the peer sends until it ends the connection. */
export async function drained(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  if (!socket.readableEnded) await Promise.race([once(socket, "end"), once(socket, "close")]);
  return Buffer.concat(chunks).toString("latin1");
}
