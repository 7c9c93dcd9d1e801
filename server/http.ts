/** The few things a server says over plain HTTP: health, metrics, its OpenRPC document. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { openrpc } from "trailgym/protocol";

export interface HttpParts {
  /** Prometheus text. */
  metrics: () => Promise<string>;
  /** Why no new sessions are taken, if so. */
  unready: () => string | undefined;
}

export function createHttp({
  metrics,
  unready,
}: HttpParts): (request: IncomingMessage, response: ServerResponse) => void {
  const document = JSON.stringify(openrpc());
  return (request, response) => {
    const reply = (status: number, type: string, body: string) => {
      response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
      response.end(request.method === "HEAD" ? undefined : body);
    };
    if (request.method !== "GET" && request.method !== "HEAD") return reply(405, "text/plain", "GET or HEAD\n");
    const path = (request.url ?? "/").split("?")[0];
    switch (path) {
      case "/healthz":
        return reply(200, "text/plain", "ok\n");
      case "/readyz":
        return reply(unready() === undefined ? 200 : 503, "text/plain", `${unready() ?? "ok"}\n`);
      case "/metrics":
        return void metrics().then((text) => reply(200, "text/plain; version=0.0.4", text));
      case "/openrpc.json":
        return reply(200, "application/json", document);
      case "/rpc":
        return reply(426, "text/plain", "this is a WebSocket endpoint\n");
      default:
        return reply(404, "text/plain", "try /rpc (WebSocket), /openrpc.json, /healthz, /readyz, /metrics\n");
    }
  };
}
