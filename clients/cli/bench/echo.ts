/** The floor of the wire benchmark: a bare `ws` server that sends each frame back. Run as a process of its own. */

import { WebSocketServer } from "ws";

const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
server.on("connection", (socket) => {
  socket.on("message", (data) => socket.send((data as Buffer).toString()));
});
server.on("listening", () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ url: `ws://127.0.0.1:${port}/rpc` })}\n`);
});
