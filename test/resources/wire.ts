/** A client that says exactly what a test wants on the wire and keeps exactly what came back. */

import { once } from "node:events";
import {
  type ErrorName,
  type ErrorObject,
  type MethodName,
  type ParamsOf,
  protocolVersions,
  type ResultOf,
  subprotocol,
  WireError,
} from "trailgym/protocol";
import { WebSocket } from "ws";

export type Id = string | number | null;

export interface Reply {
  id: Id;
  result?: unknown;
  error?: ErrorObject;
  /** The whole frame that held it. */
  text: string;
}

export interface WireOptions {
  /** Sent in the upgrade's Authorization header. */
  bearer?: string;
  /** Sent in `initialize`. */
  token?: string;
  /** Sent in `initialize`. */
  traceparent?: string;
  origin?: string;
  /** Default true: `initialize` is called before anything else. */
  initialize?: boolean;
  subprotocols?: string[];
  /** Default true: whether pings are answered. */
  autoPong?: boolean;
}

export interface Notified {
  method: string;
  params: Record<string, unknown>;
}

/** The socket closed while a reply was awaited. */
export class WireClosed extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the socket closed with ${code}`);
    this.code = code;
  }
}

export class Wire implements AsyncDisposable {
  readonly socket: WebSocket;
  /** Every frame that came, in order. */
  readonly frames: string[] = [];
  readonly notifications: Notified[] = [];
  /** Resolves once, with what the server said. */
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #pending = new Map<Id, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  readonly #readers = new Set<() => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer) => this.#receive(data.toString()));
    this.closed = new Promise((resolve) =>
      socket.on("close", (code, reason) => {
        for (const { reject } of this.#pending.values()) reject(new WireClosed(code));
        this.#pending.clear();
        for (const reader of this.#readers) reader();
        resolve({ code, reason: reason.toString() });
      }),
    );
    socket.on("error", () => undefined);
  }

  static async open(url: string, options: WireOptions = {}): Promise<Wire> {
    const {
      bearer,
      token,
      traceparent,
      origin,
      initialize = true,
      subprotocols = [subprotocol],
      autoPong = true,
    } = options;
    const socket = new WebSocket(url, subprotocols, {
      ...(bearer === undefined ? {} : { headers: { authorization: `Bearer ${bearer}` } }),
      ...(origin === undefined ? {} : { origin }),
      autoPong,
      perMessageDeflate: false,
    });
    const wire = new Wire(socket);
    await once(socket, "open");
    if (initialize) await wire.initialize(token, traceparent);
    return wire;
  }

  initialize(token?: string, traceparent?: string): Promise<ResultOf<"initialize">> {
    const client = { name: "test", version: "0" };
    return this.call("initialize", {
      protocolVersions: [...protocolVersions],
      client,
      ...(token === undefined ? {} : { token }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
  }

  /** The result. @throws WireError for an error reply, {@link WireClosed} when the socket closes first. */
  async call<N extends MethodName>(method: N, params: ParamsOf<N>): Promise<ResultOf<N>> {
    const { result, error } = await this.request(method, params);
    if (error !== undefined) throw WireError.fromObject(error);
    return result as ResultOf<N>;
  }

  /** The error of a call that must fail. */
  async fails<N extends MethodName>(method: N, params: ParamsOf<N>): Promise<WireError> {
    const { result, error } = await this.request(method, params);
    if (error === undefined) throw new Error(`${method} was expected to fail, and gave ${JSON.stringify(result)}`);
    return WireError.fromObject(error);
  }

  request(method: string, params: unknown, id: Id = this.nextId()): Promise<Reply> {
    const reply = this.replyTo(id);
    this.send({ jsonrpc: "2.0", id, method, params });
    return reply;
  }

  /** One frame with all of them. The replies are in the server's order. */
  async batch(requests: readonly (readonly [method: string, params: unknown])[]): Promise<Reply[]> {
    const messages = requests.map(([method, params]) => ({ jsonrpc: "2.0", id: this.nextId(), method, params }));
    const replies = messages.map(({ id }) => this.replyTo(id));
    this.send(messages);
    return Promise.all(replies);
  }

  notify(method: string, params: unknown): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** Several frames that reach the server in one read, as far as TCP allows. */
  sendTogether(...frames: readonly unknown[]): void {
    const { _socket: tcp } = this.socket as unknown as { _socket: { cork(): void; uncork(): void } };
    tcp.cork();
    for (const frame of frames) this.send(frame);
    tcp.uncork();
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /** The reply that will come for `id`; ask before sending. */
  replyTo(id: Id): Promise<Reply> {
    const reply = new Promise<Reply>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    // A test may close the socket on purpose and await something else.
    reply.catch(() => undefined);
    return reply;
  }

  /** The n-th frame of this socket's life, from 0. @throws WireClosed when it will never come. */
  async frame(n: number): Promise<string> {
    while (this.frames.length <= n) {
      if (this.socket.readyState === WebSocket.CLOSED) throw new WireClosed((await this.closed).code);
      await this.#arrival();
    }
    return this.frames[n] as string;
  }

  /** Every later frame is unread until {@link Wire.resume}: the peer is slow. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Gone without a close frame, as when the client's machine dies and its kernel tells the server. */
  async drop(): Promise<void> {
    this.socket.terminate();
    await this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.isPaused) this.socket.resume();
    this.socket.close();
    const timer = setTimeout(() => this.socket.terminate(), 1000);
    await this.closed;
    clearTimeout(timer);
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      const reader = () => {
        this.#readers.delete(reader);
        resolve();
      };
      this.#readers.add(reader);
    });
  }

  #receive(text: string): void {
    this.frames.push(text);
    const message = JSON.parse(text) as (Reply & Notified) | (Reply & Notified)[];
    for (const one of Array.isArray(message) ? message : [message]) {
      if (one.method !== undefined) this.notifications.push(one);
      else {
        this.#pending.get(one.id)?.resolve({ ...one, text });
        this.#pending.delete(one.id);
      }
    }
    for (const reader of this.#readers) reader();
  }
}

/** The exact text of a single reply's result. */
export function resultText({ text }: Reply): string {
  return text.slice(text.indexOf('"result":') + '"result":'.length, -1);
}

/** For `expect(error).toMatchObject(named("SEQ_GAP", …))`. */
export function named(name: ErrorName, data: Record<string, unknown> = {}): { name: ErrorName; data: object } {
  return { name, data };
}
