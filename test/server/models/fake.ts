/** An OpenAI-compatible server on a free port that answers as a test says. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: { model: string; messages: { role: string; content: string }[]; temperature: number; max_tokens: number };
}

/** How to answer the n-th request; the last one for all further ones. */
export type Answer = (response: ServerResponse, asked: Asked) => void;

export interface FakeModel extends AsyncDisposable {
  /** Ends with `/v1`. */
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Requests that are being answered. */
  readonly open: number;
}

export const says =
  (content: string | null): Answer =>
  (response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content } }] }));
  };

export const status =
  (code: number, body = "", headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end(body);

export async function fakeModel(...answers: Answer[]): Promise<FakeModel> {
  const asked: Asked[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    let text = "";
    open.add(response);
    response.on("close", () => open.delete(response));
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const one = { path: request.url, headers: request.headers, body: JSON.parse(text) as Asked["body"] };
      const answer = answers[Math.min(asked.length, answers.length - 1)];
      asked.push(one);
      answer?.(response, one);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    get open() {
      return open.size;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
