/** One WebSocket: is it open, what does it say, and when exactly is it gone? Knows nothing of JSON-RPC. */

import { subprotocol } from "trailgym/protocol";
import { ConnectionLost } from "../errors.ts";

/** The part of the WebSocket interface that this client uses; the platform's own and `ws` both have it. */
export interface WebSocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each implementation types its events in its own way
  addEventListener(type: string, listener: (event: any) => void): void;
  /** Only `ws` has it: close without waiting for the other side. */
  terminate?(): void;
}
export type WebSocketConstructor = new (url: string, protocols?: string) => WebSocketLike;

export interface LinkEnd {
  /** Close code; 1006 when the peer sent none. */
  readonly code: number;
  readonly reason: string;
}

export interface LinkListener {
  onFrame(data: unknown): void;
  /** Once, whoever ended it; no frame comes after it. */
  onEnd(end: LinkEnd): void;
}

const OPEN = 1;
const CLOSED = 3;

export class Link {
  readonly #socket: WebSocketLike;
  readonly #listener: LinkListener;
  #ended = false;

  private constructor(socket: WebSocketLike, listener: LinkListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket.addEventListener("message", ({ data }: { data: unknown }) => {
      if (!this.#ended) listener.onFrame(data);
    });
    socket.addEventListener("close", ({ code, reason }: LinkEnd) => this.#end({ code, reason }));
  }

  /** @throws ConnectionLost when it does not open; the signal's reason when that comes first. */
  static open(
    url: string,
    WebSocket: WebSocketConstructor,
    listener: LinkListener,
    signal: AbortSignal,
  ): Promise<Link> {
    signal.throwIfAborted();
    const socket = new WebSocket(url, subprotocol);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        end(socket);
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the reason is the caller's
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const settled = () => signal.removeEventListener("abort", onAbort);
      let problem = "";
      socket.addEventListener("open", () => {
        settled();
        resolve(new Link(socket, listener));
      });
      // Stays for the socket's whole life: `ws` throws an error event that nobody listens to.
      socket.addEventListener("error", ({ message }: { message?: string }) => (problem ||= message ?? ""));
      socket.addEventListener("close", ({ code }: LinkEnd) => {
        settled();
        reject(new ConnectionLost(`cannot connect to ${url}: ${problem || `closed with ${code}`}`));
      });
    });
  }

  /** False from the moment the other side starts to close: what is sent then is surely not delivered. */
  get writable(): boolean {
    return !this.#ended && this.#socket.readyState === OPEN;
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  /** Ends the link now, without waiting for the other side, which may be dead. */
  drop(reason: string): void {
    this.#end({ code: 1006, reason });
    end(this.#socket);
  }

  /** Ends the link and resolves once the socket is gone, after `timeoutMs` at the latest. */
  async close(timeoutMs: number): Promise<void> {
    this.#end({ code: 1000, reason: "closed by this client" });
    if (this.#socket.readyState === CLOSED) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#socket.terminate?.();
        resolve();
      }, timeoutMs);
      this.#socket.addEventListener("close", () => {
        clearTimeout(timer);
        resolve();
      });
      this.#socket.close(1000);
    });
  }

  #end(end: LinkEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener.onEnd(end);
  }
}

function end(socket: WebSocketLike): void {
  if (socket.terminate !== undefined) socket.terminate();
  else socket.close(4000);
}
