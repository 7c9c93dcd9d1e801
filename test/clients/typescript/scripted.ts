/** A small server on a real socket, with exactly-once sessions, whose every reply a test can hold back, change or lose. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { canonicalJson, WireError, type ErrorFields, type ErrorName, type Json } from "trailgym/protocol";
import { WebSocketServer, type WebSocket } from "ws";

export interface Incoming {
  /** 1 for the first socket that connected. */
  readonly socket: number;
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly id: unknown;
  /** Requests in the frame that this one came in. */
  readonly frame: number;
  /** Sends text that is nobody's reply, or a reply of the test's own. */
  raw(text: string): void;
  /** The socket is gone without a close frame. */
  drop(): void;
  /** Closes the socket with a close frame. */
  close(code: number): void;
}

type Result = Record<string, unknown>;
/** Throw a WireError to answer with it; `noReply` to say nothing. `next` does what the server would do. */
export type Script = (request: Incoming, next: () => Promise<Result>) => Promise<Result> | Result;
export const noReply: Result = {};

interface Held {
  seq: number;
  total: number;
  index: number;
  status: string;
  replies: { key: string; result: Result }[];
}

export function wireError<N extends ErrorName>(name: N, fields: ErrorFields<N>): WireError {
  return WireError.of(name, `scripted ${name}`, fields);
}

export interface Scripted extends AsyncDisposable {
  readonly url: string;
  /** Every request and notification, in order. */
  readonly received: Incoming[];
  readonly sessions: Map<string, Held>;
  /** Calls that were executed, retries not counted. */
  executed: number;
  limits: Record<string, number>;
  /** Sockets that were ever open. */
  readonly sockets: number;
  /** @param method `*`: every method that has no script of its own. */
  on(method: string, script: Script): void;
  /** Resolves once `count` messages of `method` have come in all. */
  got(method: string, count?: number): Promise<Incoming>;
  of(method: string): Incoming[];
  dropAll(): void;
  /** Refuses connections until {@link listen}. */
  shut(): Promise<void>;
  listen(): Promise<void>;
}

export async function scripted(): Promise<Scripted> {
  const received: Incoming[] = [];
  const scripts = new Map<string, Script>();
  const sessions = new Map<string, Held>();
  const waiting = new Set<() => void>();
  const open = new Set<WebSocket>();
  let listener: WebSocketServer | undefined;
  let port = 0;
  let sockets = 0;
  let made = 0;

  const server: Scripted = {
    get url() {
      return `ws://127.0.0.1:${port}/rpc`;
    },
    received,
    sessions,
    executed: 0,
    limits: { maxMessageBytes: 100_000, maxBatch: 8, maxSessions: 100, stepTimeoutMs: 30_000, leaseMs: 60_000 },
    get sockets() {
      return sockets;
    },
    on: (method, script) => void scripts.set(method, script),
    of: (method) => received.filter((request) => request.method === method),
    async got(method, count = 1) {
      for (;;) {
        const found = server.of(method)[count - 1];
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    dropAll() {
      for (const socket of open) socket.terminate();
    },
    async shut() {
      const closing = listener;
      listener = undefined;
      server.dropAll();
      await new Promise<void>((resolve) => (closing === undefined ? resolve() : closing.close(() => resolve())));
    },
    async listen() {
      listener = new WebSocketServer({ host: "127.0.0.1", port });
      listener.on("connection", accept);
      await once(listener, "listening");
      port = (listener.address() as AddressInfo).port;
    },
    [Symbol.asyncDispose]: () => server.shut(),
  };
  await server.listen();
  return server;

  function accept(socket: WebSocket): void {
    const number = ++sockets;
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("message", (data) => {
      const message = JSON.parse((data as Buffer).toString()) as unknown;
      const entries = Array.isArray(message) ? (message as Result[]) : [message as Result];
      const requests = entries.map((entry): Incoming => ({
        socket: number,
        method: entry["method"] as string,
        params: (entry["params"] ?? {}) as Record<string, unknown>,
        id: entry["id"],
        frame: entries.length,
        raw: (text) => socket.send(text),
        drop: () => socket.terminate(),
        close: (code) => socket.close(code),
      }));
      received.push(...requests);
      for (const wake of waiting) wake();
      waiting.clear();
      void Promise.all(requests.map(answer)).then((replies) => {
        const said = replies.filter((reply) => reply !== undefined);
        if (said.length === 0 || socket.readyState !== socket.OPEN) return;
        socket.send(JSON.stringify(Array.isArray(message) ? said : said[0]));
      });
    });
  }

  async function answer(request: Incoming): Promise<object | undefined> {
    const script = scripts.get(request.method) ?? scripts.get("*") ?? ((_request, next) => next());
    try {
      const result = await script(request, async () => standard(request));
      if (result === noReply || request.id === undefined) return undefined;
      return { jsonrpc: "2.0", id: request.id, result };
    } catch (error) {
      const object = error instanceof WireError ? error.toObject() : { code: -32603, message: String(error) };
      return { jsonrpc: "2.0", id: request.id, error: object };
    }
  }

  function standard({ method, params }: Incoming): Promise<Result> {
    return Promise.resolve().then(() => {
      switch (method) {
        case "initialize":
          return {
            protocolVersion: "1",
            server: { name: "scripted", version: "0", instance: "i1" },
            role: "trainer",
            capabilities: {},
            limits: server.limits,
          };
        case "env/make":
          return { session: make(), seq: 0, env: params["env"], leaseMs: 60_000, stepTimeoutMs: 30_000 };
        case "env/fork":
          return { sessions: Array.from({ length: params["count"] as number }, make) };
        case "env/list":
          return { envs: [] };
        case "env/tasks":
          return { tasks: [], total: 0 };
        case "env/close":
          sessions.delete(params["session"] as string);
          return { closed: true };
        case "ping":
        case "$/cancel":
          return {};
        default:
          return play(method, params, find(params["session"] as string));
      }
    });
  }

  function make(): string {
    const id = `s${++made}`;
    sessions.set(id, { seq: 0, total: 0, index: 0, status: "new", replies: [] });
    return id;
  }

  function find(id: string): Held {
    const held = sessions.get(id);
    if (held === undefined) throw wireError("UNKNOWN_SESSION", { reason: "unknown" });
    return held;
  }

  function play(method: string, { seq, ...params }: Record<string, unknown>, held: Held): Result {
    const lastReply = held.replies.at(-1)?.result;
    const now = {
      status: held.status,
      observation: held.total,
      info: {},
      index: held.index,
      seq: held.seq,
      episodeReturn: 0,
    };
    if (method === "env/observe") return now;
    if (method === "session/attach")
      return { ...now, leaseMs: 60_000, ...(lastReply === undefined ? {} : { lastReply }) };
    if (method === "env/snapshot")
      return { snapshot: `snap${held.seq}`, index: held.index, digest: "0".repeat(32), bytes: 1 };
    const key = method + canonicalJson(params as Json);
    const expected = held.seq;
    if (typeof seq === "number" && seq < expected) {
      const reply = held.replies[seq];
      if (reply?.key !== key) throw wireError("SEQ_CONFLICT", { expected });
      return reply.result;
    }
    if (typeof seq === "number" && seq > expected) throw wireError("SEQ_GAP", { expected });
    server.executed++;
    const result = execute(method, params, held);
    held.replies.push({ key, result });
    held.seq++;
    return result;
  }

  /** Observations are the sum of the actions so far, so that a step lost or played twice shows. */
  function execute(method: string, params: Record<string, unknown>, held: Held): Result {
    const stateDigest = "0".repeat(32);
    if (method === "env/restore") {
      return {
        status: "running",
        observation: held.total,
        info: {},
        index: held.index,
        seq: held.seq + 1,
        episodeReturn: 0,
      };
    }
    held.status = "running";
    if (method === "env/reset") {
      held.total = held.index = 0;
      const seed = params["seed"] ?? 7;
      return { observation: 0, info: {}, episode: "e1", task: params["task"] ?? null, seed, index: 0, stateDigest };
    }
    held.total += params["action"] as number;
    held.index++;
    const reward = params["action"] as number;
    return {
      observation: held.total,
      reward,
      terminated: false,
      truncated: false,
      info: {},
      index: held.index,
      stateDigest,
    };
  }
}

/** A point in time that a test decides. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
